"""The range that the nodes of a simulated week share, and the windows on it (protocol, section 6, "Windows")."""

from dataclasses import dataclass
from functools import cached_property

from dcka.inject.quantise import bits_for
from dcka.inject.whole_grid import WholeGrid
from dcka.week.feed import Feed
from dcka_core.survey_grid import SurveyGrid
from dcka_core.window import readings_id


@dataclass(frozen=True)
class Window:
    """Window `number`: the readings with since ≤ time < until, in seconds since 2020, on `grid`. `spans`: the range of
    each column, in readings.
    """

    number: int
    since: int
    until: int
    grid: WholeGrid
    spans: tuple[int, ...]

    @cached_property
    def dataset(self) -> bytes:
        """The id of its points, which the nodes come to by themselves."""
        core = SurveyGrid(self.grid.bits, list(self.grid.low), list(self.grid.width), list(self.spans))
        return core.dataset(readings_id(self.number, self.since, self.until))

    def record(self) -> dict[str, object]:
        """The record of the topic `window`."""
        return {
            "v": 1,
            "window": self.number,
            "since": self.since,
            "until": self.until,
            "n": len(self.spans),
            "bits": self.grid.bits,
            "low": list(self.grid.low),
            "width": list(self.grid.width),
            "range": list(self.spans),
        }


def range_of(feed: Feed) -> tuple[WholeGrid, tuple[int, ...]]:
    """(the grid, the range of each column): one width for all columns, that of the widest."""
    spans = tuple(high - low for low, high in zip(feed.low, feed.high, strict=True))
    bits, width = bits_for(len(spans)), max(1, *spans)
    top = 2**bits - 1
    extents = tuple(min(top, (2 * span * top + width) // (2 * width)) for span in spans)
    return WholeGrid(feed.low, (width,) * len(spans), extents, (feed.decimals,) * len(spans), bits), spans
