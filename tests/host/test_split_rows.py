"""Every row of the file goes to exactly one node, whatever the split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.inject.csv_reader import Table
from dcka.inject.errors import DataError
from dcka.inject.report import Report
from dcka.inject.split import split

ids = st.lists(st.integers(1, 65535), min_size=1, max_size=12, unique=True)


def table_of(rows, groups=None):
    values = np.arange(float(rows))[:, None]
    lines = np.arange(2, rows + 2)
    return Table("readings.csv", ("t",), values, lines, groups, None, Report("readings.csv", rows))


@given(rows=st.integers(1, 60), node_ids=ids, how=st.sampled_from(["round-robin", "contiguous"]))
@settings(deadline=None)
def test_every_row_is_at_one_node_and_shares_differ_by_one_row_at_most(rows, node_ids, how):
    shares = split(table_of(rows), node_ids, how).rows
    assert list(shares) == node_ids
    assert sorted(np.concatenate(list(shares.values())).tolist()) == list(range(rows))
    sizes = [len(share) for share in shares.values()]
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)


@given(groups=st.lists(st.sampled_from(["a", "b", "3", "17", ""]), min_size=1, max_size=40), node_ids=ids)
@settings(deadline=None)
def test_every_row_of_a_group_is_at_its_node(groups, node_ids):
    table = table_of(len(groups), tuple(groups))
    if len(set(groups)) > len(node_ids):
        with pytest.raises(DataError, match=f"has {len(set(groups))} values"):
            split(table, node_ids, "column")
        return
    found = split(table, node_ids, "column")
    assert sorted(np.concatenate(list(found.rows.values())).tolist()) == list(range(len(groups)))
    for node, share in found.rows.items():
        assert {groups[row] for row in share} == ({found.groups[node]} if node in found.groups else set())
        assert (np.diff(share) > 0).all()


def test_round_robin_and_contiguous_by_hand():
    for how, shares in (("round-robin", [[0, 2, 4], [1, 3]]), ("contiguous", [[0, 1, 2], [3, 4]])):
        found = split(table_of(5), [7, 3], how)
        assert [found.rows[node].tolist() for node in (7, 3)] == shares


@pytest.mark.parametrize("how", ["round-robin", "contiguous"])
def test_more_nodes_than_rows_leave_nodes_without_rows(how):
    sizes = [len(share) for share in split(table_of(7), range(1, 9), how).rows.values()]
    assert sizes == [1, 1, 1, 1, 1, 1, 1, 0]


def test_groups_that_are_ids_of_nodes_go_there_whatever_their_order():
    found = split(table_of(5, ("3", "1", "3", "2", "1")), [1, 2, 3, 4], "column")
    assert {node: rows.tolist() for node, rows in found.rows.items()} == {1: [1, 4], 2: [3], 3: [0, 2], 4: []}
    assert found.warnings == ()


def test_other_groups_go_in_order_of_first_appearance():
    found = split(table_of(4, ("roof", "cellar", "roof", "hall")), [5, 9, 2, 1], "column")
    assert found.groups == {5: "roof", 9: "cellar", 2: "hall"}
    assert (found.rows[1].tolist(), found.warnings) == ([], ())


def test_groups_that_are_ids_only_in_part_are_pointed_out():
    found = split(table_of(3, ("3", "4", "5")), [1, 2, 3], "column")
    assert found.groups == {1: "3", 2: "4", 3: "5"}
    assert "3 to node 1, 4 to node 2, 5 to node 3" in found.warnings[0]


def test_more_groups_than_nodes_names_both():
    with pytest.raises(DataError, match=r"has 3 values \(a, b, c\), the network 2 nodes \(1, 2\)"):
        split(table_of(3, ("a", "b", "c")), [1, 2], "column")


@pytest.mark.parametrize(
    ("node_ids", "words"),
    [
        ([], "no nodes"),
        ([0, 1], "node id 0"),
        ([1, 65536], "node id 65536"),
        ([4, 2, 4], "node id 4 is there twice"),
    ],
)
def test_ids_that_are_none_are_refused(node_ids, words):
    with pytest.raises(DataError, match=words):
        split(table_of(3), node_ids, "round-robin")


def test_a_split_by_a_column_needs_one_and_an_unknown_split_is_named():
    with pytest.raises(DataError, match="--split-by"):
        split(table_of(3), [1], "column")
    with pytest.raises(DataError, match='split "random": it is one of column, round-robin, contiguous'):
        split(table_of(3), [1], "random")
