"""A window: which of their own readings nodes make points of, and on which range (docs/protocol.md, section 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dcka.config import Config
from dcka.errors import UsageError
from dcka.inject.dataset import grid_words
from dcka.inject.quantise import Grid, bits_for
from dcka.inject.whole_grid import WholeGrid, widths
from dcka.mqtt.statuses import NodeStatus
from dcka_core.survey_grid import SurveyGrid
from dcka_core.window import readings_id

Json = dict[str, Any]

EPOCH_S = 1_577_836_800
"""2020-01-01 00:00 UTC since 1970: nodes count their seconds from there."""
_READING = 2**31


@dataclass(frozen=True)
class Range:
    """The range that all nodes share. `low`, `spans`: n whole numbers, in readings of `decimals` each."""

    columns: tuple[str, ...]
    grid: Grid
    spans: tuple[int, ...]

    @property
    def whole(self) -> WholeGrid:
        """The grid in whole numbers."""
        if self.grid.whole is None:
            raise ValueError("a range that nodes sense on is one of whole numbers")
        return self.grid.whole


def range_of(config: Config) -> Range:
    """The range of [stream] for the columns of [sensors]. Raises UsageError where the two do not fit."""
    columns = config.sensors.columns
    if not columns:
        raise UsageError(
            "[sensors] has no devices: nodes that sense nothing have no stream; give them readings with dcka inject, "
            "and cluster with dcka run"
        )
    if config.stream.range is None:
        form = ", ".join(f"{column.name} = [low, high]" for column in columns)
        raise UsageError(f"[stream] has no range: write the ends of each column, range = {{ {form} }}")
    if config.data.scale == "std":
        raise UsageError(
            '[data] scale = "std" goes by the readings of one data set; take "one" or "minmax" for a stream'
        )
    ends = {name: (low, high) for name, low, high in config.stream.range}
    names = [column.name for column in columns]
    lacking, beyond = set(names) - set(ends), set(ends) - set(names)
    if lacking or beyond:
        which = f"no range for {', '.join(sorted(lacking))}" if lacking else f"{', '.join(sorted(beyond))}"
        why = "" if lacking else ", which [sensors] does not have"
        raise UsageError(f"[stream] range: {which}{why}; the columns are {', '.join(names)}")
    low, spans = [], []
    for column in columns:
        bottom, top = (_fixed(end, column.decimals, column.name) for end in ends[column.name])
        if bottom == top:
            raise UsageError(
                f"[stream] range: {column.name} is from {ends[column.name][0]:g} to {ends[column.name][1]:g}, the same "
                f"to {column.decimals} decimals"
            )
        low.append(bottom)
        spans.append(top - bottom)
    bits = bits_for(len(columns))
    decimals = tuple(column.decimals for column in columns)
    width = _one_width(spans, decimals) if config.data.scale == "one" else widths(spans, "minmax", None)
    levels = 2**bits - 1
    extents = tuple(min(levels, (2 * d * levels + w) // (2 * w)) for d, w in zip(spans, width, strict=True))
    whole = WholeGrid(tuple(low), width, extents, decimals, bits)
    grid = Grid.of_whole(whole, config.data.scale, ())  # type: ignore[arg-type]
    return Range(tuple(names), grid, tuple(spans))


def _one_width(spans: Sequence[int], decimals: Sequence[int]) -> tuple[int, ...]:
    """The widest range in the user's units for each column, in whole numbers of its own decimals: one step for all.

    Where columns have other decimals, it is rounded up to what is a whole number in all of them.
    """
    finest = max(decimals)
    widest = max(span * 10 ** (finest - own) for span, own in zip(spans, decimals, strict=True))
    unit = 10 ** (finest - min(decimals))
    widest = -(-widest // unit) * unit
    return tuple(widest // 10 ** (finest - own) for own in decimals)


def _fixed(value: float, decimals: int, name: str) -> int:
    fixed = round(Fraction(str(value)) * Fraction(10) ** decimals)
    if not -_READING <= fixed < _READING:
        raise UsageError(f"[stream] range: {name} = {value:g} with {decimals} decimals does not fit 32 bits")
    return fixed


@dataclass(frozen=True)
class Window:
    """Window `number`: the readings with since ≤ time < until, in seconds since 2020 (`EPOCH_S`), on `range`."""

    number: int
    since: int
    until: int
    range: Range

    @property
    def dataset(self) -> str:
        """The id of its points, 16 hex digits: the nodes' own, by the core's code."""
        whole = self.range.whole
        grid = SurveyGrid(whole.bits, list(whole.low), list(whole.width), list(self.range.spans))
        return grid.dataset(readings_id(self.number, self.since, self.until)).hex()

    def record(self) -> Json:
        """The record of the topic `window`."""
        whole = self.range.whole
        return {
            "v": 1,
            "window": self.number,
            "since": self.since,
            "until": self.until,
            "n": len(self.range.columns),
            "bits": whole.bits,
            "low": list(whole.low),
            "width": list(whole.width),
            "range": list(self.range.spans),
        }

    def dataset_record(self, network: str, held: Mapping[int, NodeStatus]) -> Json:
        """The record of the topic `dataset`, of what these nodes hold of it."""
        told = [status.clipped for status in held.values() if status.clipped]
        clipped = [sum(counts) for counts in zip(*told, strict=False)] or [0] * len(self.range.columns)
        return {
            "v": 1,
            "dataset": self.dataset,
            "name": f"{network}, window {self.number}",
            "columns": list(self.range.columns),
            **grid_words(self.range.grid),
            "n": len(self.range.columns),
            "nodes": {
                str(node): {"rows": status.rows, "data": status.data} for node, status in sorted(held.items())
            },
            "clipped": clipped,
            "constant": [],
            "dropped": 0,
            "window": self.record(),
        }


def window_of(record: Mapping[str, Any]) -> tuple[int, int, int]:
    """(number, since, until) of a record of `dataset`. Raises KeyError, TypeError where it is of no window."""
    told = record["window"]
    return int(told["window"]), int(told["since"]), int(told["until"])
