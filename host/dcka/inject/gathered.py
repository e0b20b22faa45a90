"""Readings shared out over the nodes, as they were read: what every data set is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.inject import store
from dcka.inject.csv_reader import Table
from dcka.inject.errors import DataError
from dcka.inject.report import Report, counted
from dcka.inject.split import How, check_ids, split

Values = NDArray[np.float64]
Labels = NDArray[np.str_]
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Gathered:
    """`values[id]`: m×n readings in the user's units, `labels[id]`: m texts, by node id and in the nodes' order.
    `groups[id]`: the value of the split column that the node has.
    """

    name: str
    columns: tuple[str, ...]
    values: dict[int, Values]
    labels: dict[int, Labels] | None
    groups: dict[int, str]
    report: Report

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The nodes' ids, in the order in which they were given."""
        return tuple(self.values)

    @property
    def size(self) -> int:
        """M, the readings of all nodes: rows, not cells."""
        return sum(len(own) for own in self.values.values())

    @property
    def every(self) -> Values:
        """All M×n readings."""
        return np.concatenate(list(self.values.values()))

    @property
    def held(self) -> Mapping[int, NDArray[Any]]:
        """m×n numbers by node id: what the nodes see of the readings."""
        return self.values

    def rows(self, node: int) -> int:
        """How many readings a node has."""
        return len(self.values[node])

    def distinct_points(self) -> int:
        """How many different points the network holds, as the nodes see them."""
        return len(np.unique(np.concatenate(list(self.held.values())), axis=0))

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

    def parts(self) -> dict[str, Any]:
        """The fields of this class by name, for a class that adds to them."""
        return {name: getattr(self, name) for name in Gathered.__dataclass_fields__}

    def warned(self, warnings: Sequence[str]) -> Report:
        """The report with more warnings."""
        return replace(self.report, warnings=self.report.warnings + tuple(warnings))


def gather(
    table: Table, node_ids: Sequence[int], how: How | None = None, name: str | None = None
) -> Gathered:
    """The rows of a table, shared out over the nodes as `split` does.

    `how` None: by the split column where one was read, round-robin otherwise. `name` None: the file's name
    without its ending. Raises DataError as `split` does.
    """
    if how is None:
        how = "round-robin" if table.groups is None else "column"
    shares = split(table, node_ids, how)
    labels = None if table.labels is None else np.array(table.labels, dtype=np.str_)
    return Gathered(
        name=name or table.source.split(".")[0] or table.source,
        columns=table.columns,
        values={node: table.values[rows] for node, rows in shares.rows.items()},
        labels=None if labels is None else {node: labels[rows] for node, rows in shares.rows.items()},
        groups=shares.groups,
        report=replace(table.report, warnings=table.report.warnings + shares.warnings),
    )


def gathered(
    name: str,
    columns: Sequence[str],
    values: Mapping[int, Values],
    labels: Mapping[int, Labels] | None = None,
    groups: Mapping[int, str] | None = None,
    report: Report | None = None,
) -> Gathered:
    """m×n readings for each node. Raises DataError for node ids that are none."""
    check_ids(list(values))
    told = report or Report(source=name, rows=sum(map(len, values.values())))
    kept = None if labels is None else dict(labels)
    return Gathered(name, tuple(columns), dict(values), kept, dict(groups or {}), told)


def keep(data: Gathered, record: Mapping[str, Any], folder: str | Path, kind: str) -> None:
    """Write a data set with its record into `folder`, in place of the one there. Raises DataError where that fails."""
    kept = {
        "dataset": dict(record),
        "report": data.report.to_json(),
        "labelled": data.labels is not None,
        "groups": {str(node): group for node, group in data.groups.items()},
    }
    arrays: dict[str, NDArray[Any]] = {"nodes": np.array(data.node_ids, dtype=np.uint32)}
    for node in data.node_ids:
        arrays[f"points_{node}"] = data.held[node]
        arrays[f"values_{node}"] = data.values[node]
        if data.labels is not None:
            arrays[f"labels_{node}"] = data.labels[node]
    store.write(Path(folder), kept, arrays, kind)


def kept_parts(kept: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """The fields of `Gathered` that `keep` has written. Raises KeyError, TypeError or ValueError for others."""
    record, nodes = kept["dataset"], kept_nodes(arrays)
    return {
        "name": record["name"],
        "columns": tuple(record["columns"]),
        "values": {node: arrays[f"values_{node}"] for node in nodes},
        "labels": {node: arrays[f"labels_{node}"] for node in nodes} if kept["labelled"] else None,
        "groups": {int(node): group for node, group in kept["groups"].items()},
        "report": Report.from_json(kept["report"]),
    }


def kept_nodes(arrays: Arrays) -> list[int]:
    """The ids of the nodes whose numbers are in the arrays that `keep` has written."""
    return [int(node) for node in arrays["nodes"]]
