"""Which node gets which rows: every row of the file goes to exactly one node."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dcka.inject.csv_reader import Table
from dcka.inject.errors import DataError, listed, shown
from dcka.inject.report import counted

How = Literal["column", "round-robin", "contiguous"]
MAX_ID = 65535  # docs/protocol.md: a node's id


@dataclass(frozen=True, eq=False)
class Split:
    """`rows[id]`: the row indices of node `id`, ascending; a node may have none.

    `groups[id]`: the value of the split column whose rows the node has (only for "column").
    """

    rows: dict[int, NDArray[np.intp]]
    groups: dict[int, str]
    warnings: tuple[str, ...] = ()


def split(table: Table, node_ids: Sequence[int], how: How) -> Split:
    """Share the M rows of `table` out over the nodes.

    "round-robin": row i goes to the (i mod N)-th node of `node_ids`. "contiguous": blocks in the file's
    order, the first M mod N of them one row longer. "column": one group of equal values in the split column a
    node. Groups that are all node ids go to the node of that id, others in order of first appearance to the
    nodes in order; nodes beyond the last group get no rows.
    Raises DataError: more groups than nodes, no split column read, a node id twice or out of 1 … 65535.
    """
    check_ids(node_ids)
    every = np.arange(len(table.values))
    if how == "round-robin":
        return Split({node: every[place :: len(node_ids)] for place, node in enumerate(node_ids)}, {})
    if how == "contiguous":
        return Split(dict(zip(node_ids, np.array_split(every, len(node_ids)), strict=True)), {})
    if how == "column":
        return _by_group(table, node_ids)
    raise DataError(f"split {shown(how)}: it is one of {', '.join(get_args(How))}")


def check_ids(node_ids: Sequence[int]) -> None:
    """Raises DataError where the ids are none, not distinct, or out of 1 … 65535."""
    if not node_ids:
        raise DataError("no nodes: a data set needs at least one")
    for node in node_ids:
        if not 1 <= node <= MAX_ID:
            raise DataError(f"node id {node}: an id is a whole number from 1 to {MAX_ID}")
    double = next((node for node in node_ids if list(node_ids).count(node) > 1), None)
    if double is not None:
        raise DataError(f"node id {double} is there twice; give each node an id of its own")


def _by_group(table: Table, node_ids: Sequence[int]) -> Split:
    if table.groups is None:
        raise DataError(f"{table.source} was read without a split column; name it with --split-by")
    members: dict[str, list[int]] = {}
    for row, group in enumerate(table.groups):
        members.setdefault(group, []).append(row)
    if len(members) > len(node_ids):
        raise DataError(
            f"{table.source}: the split column has {len(members)} values ({listed(list(members), 8)}), the "
            f"network {counted(len(node_ids), 'node')} ({listed([str(node) for node in node_ids], 8)}); "
            "add nodes, split by another column, or pass --split round-robin or --split contiguous"
        )
    by_id = {str(node): node for node in node_ids}
    warnings: list[str] = []
    if all(group in by_id for group in members):
        groups = {by_id[group]: group for group in members}
    else:
        groups = dict(zip(node_ids, members, strict=False))
        if any(group in by_id for group in members):
            pairs = [f"{group} to node {node}" for node, group in groups.items()]
            warnings.append(
                "only some values of the split column are ids of nodes, so they go to the nodes in order of "
                f"appearance: {listed(pairs)}"
            )
    rows = {
        node: np.array(members[groups[node]] if node in groups else [], dtype=np.intp) for node in node_ids
    }
    return Split(rows, groups, tuple(warnings))
