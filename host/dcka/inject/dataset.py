"""A data set: the readings of every node, in the user's units and on the grid, and what is told of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from dcka.inject import data_file, store
from dcka.inject.csv_reader import Table
from dcka.inject.data_file import Points
from dcka.inject.errors import DataError
from dcka.inject.quantise import Grid, Range, Scale
from dcka.inject.report import Report, counted
from dcka.inject.split import How, check_ids, split
from dcka.inject.whole_grid import WholeGrid

VERSION = 1  # of the `dataset` topic's record

Values = NDArray[np.float64]
Labels = NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Made by `build` (from a table) or `from_values`; the bare constructor trusts its arguments.

    `points[id]`: m×n levels of the grid, `values[id]`: the same readings as they were read, `labels[id]`: m
    texts, all by node id and in the nodes' order. `clipped`: readings outside the range, for each dimension.
    `groups[id]`: the value of the split column that the node has.
    """

    name: str
    columns: tuple[str, ...]
    grid: Grid
    points: dict[int, Points]
    values: dict[int, Values]
    labels: dict[int, Labels] | None
    clipped: tuple[int, ...]
    groups: dict[int, str]
    report: Report

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The nodes' ids, in the order in which they were given."""
        return tuple(self.points)

    @property
    def size(self) -> int:
        """M, the points of all nodes."""
        return sum(len(points) for points in self.points.values())

    @cached_property
    def id(self) -> bytes:
        """The 8 bytes that name the data set (docs/protocol.md, section 6)."""
        return data_file.dataset_id(self.points, self.grid.bits, self.grid.extents)

    def data_file(self, node: int) -> bytes:
        """The data file of a node."""
        return data_file.encode(self.points[node], self.grid.bits, self.grid.extents, self.id)

    def distinct_points(self) -> int:
        """How many different points the network holds, as the nodes see them: on the grid."""
        return len(np.unique(np.concatenate(list(self.points.values())), axis=0))

    def check_k(self, k: int) -> None:
        """Raises DataError where k clusters cannot all have a point: k < 1, or above the distinct points."""
        if k < 1:
            raise DataError(f"K = {k}: a clustering needs at least 1 cluster")
        if k > self.size:
            raise DataError(
                f"K = {k} is more than the {counted(self.size, 'point')} of {self.name}; take fewer clusters"
            )
        distinct = self.distinct_points()
        if k > distinct:
            raise DataError(
                f"K = {k} is more than the {counted(distinct, 'distinct point')} of {self.name} "
                f"({self.size:,} in all); take fewer clusters"
            )

    def record(self) -> dict[str, Any]:
        """The record of the retained topic `dataset`: what was injected, and the way back to user's units.

        Offset and step are texts, so that every reader gets the same floats back. With a scale there are `steps`, and
        the whole numbers that they come from.
        """
        nodes = {
            str(node): {"rows": len(points), "sha256": data_file.checksum(self.data_file(node))}
            for node, points in self.points.items()
        }
        return {
            "v": VERSION,
            "dataset": self.id.hex(),
            "name": self.name,
            "columns": list(self.columns),
            "offset": [repr(offset) for offset in self.grid.offset],
            **_steps_of(self.grid),
            "bits": self.grid.bits,
            "n": len(self.columns),
            "extents": list(self.grid.extents),
            "nodes": nodes,
            "clipped": list(self.clipped),
            "constant": list(self.grid.constant),
            "dropped": len(self.report.dropped),
        }

    def save(self, folder: str | Path) -> None:
        """Keep the data set in `folder`, in place of the one there. Raises DataError where that fails."""
        record = {
            "dataset": self.record(),
            "report": self.report.to_json(),
            "labelled": self.labels is not None,
            "groups": {str(node): group for node, group in self.groups.items()},
        }
        arrays: dict[str, NDArray[Any]] = {"nodes": np.array(self.node_ids, dtype=np.uint32)}
        for node in self.node_ids:
            arrays[f"points_{node}"] = self.points[node]
            arrays[f"values_{node}"] = self.values[node]
            if self.labels is not None:
                arrays[f"labels_{node}"] = self.labels[node]
        store.write(Path(folder), record, arrays)

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
        nodes = [int(node) for node in arrays["nodes"]]
        return cls(
            name=record["name"],
            columns=tuple(record["columns"]),
            grid=grid_of(record),
            points={node: arrays[f"points_{node}"] for node in nodes},
            values={node: arrays[f"values_{node}"] for node in nodes},
            labels={node: arrays[f"labels_{node}"] for node in nodes} if kept["labelled"] else None,
            clipped=tuple(record["clipped"]),
            groups={int(node): group for node, group in kept["groups"].items()},
            report=Report.from_json(kept["report"]),
        )


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


def _steps_of(grid: Grid) -> dict[str, Any]:
    """What a record says of the steps of a grid."""
    if grid.whole is None:
        return {"step": repr(grid.step)}
    whole = {name: list(getattr(grid.whole, name)) for name in ("low", "width", "decimals")}
    return {"steps": [repr(step) for step in grid.steps], "scale": grid.scale, **whole}


def build(
    table: Table,
    node_ids: Sequence[int],
    how: How | None = None,
    *,
    name: str | None = None,
    range: Range | None = None,
    scale: Scale = "one",
) -> Dataset:
    """The data set of a table, shared out over the nodes as `split` does.

    `how` None: by the split column where one was read, round-robin otherwise. `name` None: the file's name
    without its ending. `range`: a (low, high) for each column in place of the smallest and largest reading. `scale`:
    "one" step for all columns; or each its own, by its range ("minmax") or its standard deviation ("std").
    Raises DataError as `split` and `Grid.fit` do.
    """
    if how is None:
        how = "round-robin" if table.groups is None else "column"
    shares = split(table, node_ids, how)
    labels = None if table.labels is None else np.array(table.labels, dtype=np.str_)
    return from_values(
        name or table.source.split(".")[0] or table.source,
        table.columns,
        {node: table.values[rows] for node, rows in shares.rows.items()},
        labels=None if labels is None else {node: labels[rows] for node, rows in shares.rows.items()},
        range=range,
        scale=scale,
        groups=shares.groups,
        report=replace(table.report, warnings=table.report.warnings + shares.warnings),
    )


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
    """The data set of m×n readings for each node; its report gets the warnings of the grid.

    Raises DataError as `Grid.fit` does, and for node ids that are none.
    """
    check_ids(list(values))
    every = np.concatenate(list(values.values()))
    grid = Grid.fit(every, columns, range, scale)
    quantised = {node: grid.quantise(own) for node, own in values.items()}
    clipped = np.sum([counts for _, counts in quantised.values()], axis=0)
    report = report or Report(source=name, rows=len(every))
    warnings = report.warnings + grid.warnings(every, columns)
    return Dataset(
        name=name,
        columns=tuple(columns),
        grid=grid,
        points={node: levels for node, (levels, _) in quantised.items()},
        values=dict(values),
        labels=None if labels is None else dict(labels),
        clipped=tuple(int(count) for count in clipped),
        groups=dict(groups or {}),
        report=replace(report, warnings=warnings),
    )
