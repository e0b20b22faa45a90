"""The range that the nodes of a simulated week share."""

from dcka.inject.quantise import Grid, bits_for
from dcka.inject.whole_grid import WholeGrid, widths
from dcka.streams.window import Range
from dcka.week.feed import Feed


def range_of(feed: Feed) -> Range:
    """What the feed's readings span, with one width for all columns."""
    spans = tuple(high - low for low, high in zip(feed.low, feed.high, strict=True))
    bits, width = bits_for(len(spans)), widths(spans, "one", None)
    top = 2**bits - 1
    extents = tuple(min(top, (2 * d * top + w) // (2 * w)) for d, w in zip(spans, width, strict=True))
    whole = WholeGrid(feed.low, width, extents, (feed.decimals,) * len(spans), bits)
    return Range(feed.columns, Grid.of_whole(whole, "one", ()), spans)
