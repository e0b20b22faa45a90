"""A data set: the readings of every node, in the user's units and on the grid, and what is told of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from dcka.inject import data_file, store
from dcka.inject.csv_reader import Table
from dcka.inject.data_file import Points
from dcka.inject.errors import DataError
from dcka.inject.gathered import Gathered, Labels, Values, gather, gathered, keep, kept_nodes, kept_parts
from dcka.inject.quantise import Grid, Range, Scale
from dcka.inject.readings import ReadingSet
from dcka.inject.report import Report
from dcka.inject.split import How
from dcka.inject.whole_grid import WholeGrid

VERSION = 1  # of the `dataset` topic's record

_OF_READINGS = ("v", "name", "columns", "n", "nodes", "constant", "dropped")


@dataclass(frozen=True)
class Agreed:
    """How the nodes came to a grid by themselves. `readings`: the record of the readings (`ReadingSet.record`).

    `dataset`: 8 bytes, of the points that follow. `tail_ppm`: what was cut off at either end. `run`: the survey's.
    """

    readings: Mapping[str, Any]
    dataset: bytes
    tail_ppm: int
    run: int


@dataclass(frozen=True, eq=False)
class Dataset(Gathered):
    """Made by `build` (from a table), `from_values` or `on_agreed_grid`; the bare constructor trusts its arguments.

    `points[id]`: m×n levels of the grid. `clipped`: readings outside the range, for each dimension, or beyond 16
    dimensions their total. `agreed`: where the grid is the nodes' own.
    """

    grid: Grid
    points: dict[int, Points]
    clipped: tuple[int, ...]
    agreed: Agreed | None = None

    file_name: ClassVar[str] = data_file.POINTS_FILE

    @property
    def held(self) -> Mapping[int, NDArray[Any]]:
        """m×n levels by node id: what the nodes cluster."""
        return self.points

    @cached_property
    def id(self) -> bytes:
        """The 8 bytes that name the data set (docs/protocol.md, section 6)."""
        if self.agreed is not None:
            return self.agreed.dataset
        return data_file.dataset_id(self.points, self.grid.bits, self.grid.extents)

    def data_file(self, node: int) -> bytes:
        """The data file of a node."""
        return data_file.encode(self.points[node], self.grid.bits, self.grid.extents, self.id)

    def record(self) -> dict[str, Any]:
        """The record of the retained topic `dataset`: what was injected, and the way back to user's units.

        Offset and step are texts, so that every reader gets the same floats back. With a scale there are `steps`, and
        the whole numbers that they come from.
        """
        if self.agreed is not None:
            return agreed_record(self.agreed, self.grid, self.clipped)
        nodes = {
            str(node): {"rows": len(points), "sha256": data_file.checksum(self.data_file(node))}
            for node, points in self.points.items()
        }
        return {
            "v": VERSION,
            "dataset": self.id.hex(),
            "name": self.name,
            "columns": list(self.columns),
            **grid_words(self.grid),
            "n": len(self.columns),
            "nodes": nodes,
            "clipped": list(self.clipped),
            "constant": list(self.grid.constant),
            "dropped": len(self.report.dropped),
        }

    def save(self, folder: str | Path) -> None:
        """Keep the data set in `folder`, in place of the one there. Raises DataError where that fails."""
        keep(self, self.record(), folder, store.POINTS)

    @classmethod
    def load(cls, folder: str | Path) -> "Dataset":
        """The data set that `save` kept. Raises DataError where there is none, or it is damaged."""
        folder = Path(folder)
        kept, arrays = store.read(folder)
        try:
            dataset = cls._of(kept, arrays)
            same = dataset.record() == kept["dataset"]
        except (KeyError, TypeError, ValueError, AttributeError, DataError) as error:
            raise store.damaged(folder, f"its parts do not fit together: {error!r}") from None
        if not same:
            raise store.damaged(folder, "its points are not those of its record")
        return dataset

    @classmethod
    def _of(cls, kept: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "Dataset":
        record = kept["dataset"]
        return cls(
            **kept_parts(kept, arrays),
            grid=grid_of(record),
            points={node: arrays[f"points_{node}"] for node in kept_nodes(arrays)},
            clipped=tuple(record["clipped"]),
            agreed=agreed_of(record),
        )


def agreed_record(agreed: Agreed, grid: Grid, clipped: Sequence[int]) -> dict[str, Any]:
    """The record of a data set whose grid the nodes have agreed on; its nodes' checksums are of their readings."""
    return {
        **{name: agreed.readings[name] for name in _OF_READINGS},
        "dataset": agreed.dataset.hex(),
        **grid_words(grid),
        "clipped": list(clipped),
        "range": "quantile" if agreed.tail_ppm else "minmax",
        "tail_ppm": agreed.tail_ppm,
        "readings": agreed.readings["dataset"],
        "survey": agreed.run,
    }


def agreed_of(record: Mapping[str, Any]) -> Agreed | None:
    """How the nodes came to the grid of a record; None where the host has made it.

    Raises KeyError, TypeError or ValueError where the record states neither.
    """
    if "readings" not in record:
        return None
    return Agreed(
        readings_record(record),
        bytes.fromhex(record["dataset"]),
        int(record["tail_ppm"]),
        int(record["survey"]),
    )


def readings_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record of the readings that an agreed record speaks of: the inverse of `agreed_record`."""
    kept = {name: record[name] for name in _OF_READINGS}
    decimals = record["decimals"][0]
    return {**kept, "dataset": record["readings"], "bits": data_file.READINGS, "decimals": decimals}


def grid_of(record: Mapping[str, Any]) -> Grid:
    """The grid that a record of the `dataset` topic states.

    Raises KeyError, TypeError or ValueError where it states none.
    """
    bits, extents = int(record["bits"]), tuple(int(extent) for extent in record["extents"])
    scale, constant = record.get("scale", "one"), tuple(record["constant"])
    if scale not in get_args(Scale):
        raise ValueError(f"scale {scale!r} is unknown")
    if "low" in record:
        low, width, decimals = (
            tuple(int(number) for number in record[name]) for name in ("low", "width", "decimals")
        )
        return Grid.of_whole(WholeGrid(low, width, extents, decimals, bits), scale, constant)
    offset = tuple(float(end) for end in record["offset"])
    return Grid(offset, (float(record["step"]),) * len(offset), bits, extents, constant)


def grid_words(grid: Grid) -> dict[str, Any]:
    """What a record says of a grid."""
    words: dict[str, Any] = {"offset": [repr(offset) for offset in grid.offset]}
    if grid.scale == "one":
        words["step"] = repr(grid.step)
    words |= {"bits": grid.bits, "extents": list(grid.extents)}
    if grid.whole is None:
        return words
    whole = {name: list(getattr(grid.whole, name)) for name in ("low", "width", "decimals")}
    return words | {"steps": [repr(step) for step in grid.steps], "scale": grid.scale, **whole}


def build(
    table: Table,
    node_ids: Sequence[int],
    how: How | None = None,
    *,
    name: str | None = None,
    range: Range | None = None,
    scale: Scale = "one",
) -> Dataset:
    """The data set of a table, shared out over the nodes as `gather` does, on a grid as `on_grid` makes it."""
    return on_grid(gather(table, node_ids, how, name), range, scale)


def from_values(
    name: str,
    columns: Sequence[str],
    values: Mapping[int, Values],
    *,
    labels: Mapping[int, Labels] | None = None,
    range: Range | None = None,
    scale: Scale = "one",
    groups: Mapping[int, str] | None = None,
    report: Report | None = None,
) -> Dataset:
    """The data set of m×n readings for each node. Raises DataError as `on_grid` does, and for ids that are none."""
    return on_grid(gathered(name, columns, values, labels, groups, report), range, scale)


def on_grid(data: Gathered, range: Range | None = None, scale: Scale = "one") -> Dataset:
    """The readings on the grid that fits them; the report gets the grid's warnings.

    `range`: a (low, high) for each column in place of the smallest and largest reading. `scale`: "one" step for all
    columns; or each its own, by its range ("minmax") or its standard deviation ("std"). Raises DataError as `Grid.fit`.
    """
    grid = Grid.fit(data.every, data.columns, range, scale)
    points, clipped = _quantised({node: grid.quantise(own) for node, own in data.values.items()})
    parts = data.parts() | {"report": data.warned(grid.warnings(data.every, data.columns))}
    return Dataset(**parts, grid=grid, points=points, clipped=clipped)


def on_agreed_grid(data: ReadingSet, record: Mapping[str, Any]) -> Dataset:
    """The readings on the grid that the nodes agreed on, by the record of `agreed_record`.

    Raises KeyError, TypeError or ValueError where the record is of other readings, or states no such grid.
    """
    grid, agreed = grid_of(record), agreed_of(record)
    if grid.whole is None or agreed is None or agreed.readings["dataset"] != data.id.hex():
        raise ValueError("a record of other readings")
    whole = grid.whole
    points, _ = _quantised(
        {node: whole.quantise_fixed(own.astype(np.int64)) for node, own in data.numbers.items()}
    )
    return Dataset(**data.parts(), grid=grid, points=points, clipped=tuple(record["clipped"]), agreed=agreed)


def _quantised(
    found: Mapping[int, tuple[Points, tuple[int, ...]]],
) -> tuple[dict[int, Points], tuple[int, ...]]:
    """The points by node, and what was clipped of all, for each dimension."""
    clipped = np.sum([counts for _, counts in found.values()], axis=0)
    return {node: levels for node, (levels, _) in found.items()}, tuple(int(count) for count in clipped)
