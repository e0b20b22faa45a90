"""Who may publish and read what: laws of the table, and that it has the protocol's topics."""

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.broker.access import HOST, MONITOR, TOPICS, Rights, access, node_user

NET = "greenhouse"
PROTOCOL = Path(__file__).parents[2] / "docs" / "protocol.md"
OF_NODES = (
    "got/{}",
    "version/{}",
    "x/0/{}",
    "x/11/{}",
    "commit/{}",
    "epoch/{}",
    "step/{}",
    "result/{}",
    "event/{}",
    "status/{}",
)
FOR_NODES = ("rows/{}", "put/{}")


@st.composite
def networks(draw: st.DrawFn) -> tuple[dict[int, set[int]], int]:
    """Whom each node hears, and a root."""
    ids = sorted(draw(st.sets(st.integers(1, 65535), min_size=1, max_size=6)))
    near: dict[int, set[int]] = {node: set() for node in ids}
    for a, b in draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=20)):
        if a != b:
            near[a].add(b)
            near[b].add(a)
    return near, draw(st.sampled_from(ids))


def _by_user(near: dict[int, set[int]], root: int | None = None) -> dict[str, Rights]:
    return {rights.user: rights for rights in access(NET, near, root)}


def _all_topics(ids: list[int]) -> list[tuple[str, int]]:
    """Every topic of every node (0: of none), without the prefix."""
    return [
        ("run", 0),
        ("dataset", 0),
        ("window", 0),
        *((form.format(i), i) for form in OF_NODES + FOR_NODES for i in ids),
    ]


@settings(deadline=None, max_examples=40)
@given(networks())
def test_a_node_publishes_exactly_what_ends_in_its_id_and_is_a_nodes_to_say(network):
    near, root = network
    users = _by_user(near, root)
    for node in near:
        rights = users[node_user(node)]
        for suffix, owner in _all_topics(sorted(near)):
            of_nodes = suffix.partition("/")[0] in {form.partition("/")[0] for form in OF_NODES}
            assert rights.may_publish(f"dcka/{NET}/{suffix}") == (owner == node and of_nodes), suffix


@settings(deadline=None, max_examples=40)
@given(networks())
def test_a_node_reads_exactly_its_neighbours_sums_and_what_is_for_it(network):
    near, root = network
    users = _by_user(near, root)
    for node in near:
        rights = users[node_user(node)]
        for suffix, owner in _all_topics(sorted(near)):
            kind = suffix.partition("/")[0]
            expected = (
                kind in ("run", "window", "commit")
                or (kind == "x" and owner in near[node])
                or (kind == "epoch" and (owner in near[node] or owner == root != node))
                or (kind in ("rows", "put", "status") and owner == node)
            )
            assert rights.may_read(f"dcka/{NET}/{suffix}") == expected, suffix


@settings(deadline=None, max_examples=40)
@given(networks())
def test_sums_travel_both_ways_of_a_link_or_not_at_all(network):
    near, root = network
    users = _by_user(near, root)
    for a in near:
        for b in near:
            there = users[node_user(a)].may_read(f"dcka/{NET}/x/0/{b}")
            assert there == users[node_user(b)].may_read(f"dcka/{NET}/x/0/{a}")


@settings(deadline=None, max_examples=40)
@given(networks())
def test_nobody_reaches_outside_the_network(network):
    near, root = network
    for rights in access(NET, near, root):
        for topic in (
            "dcka/other/run",
            f"dcka/{NET}",
            f"dcka/{NET}2/run",
            f"dcka/{NET}/flush",
            "$SYS/broker/uptime",
            NET,
        ):
            assert not rights.may_publish(topic)
            assert not rights.may_read(topic)


@settings(deadline=None, max_examples=40)
@given(networks())
def test_a_monitor_publishes_nothing_and_sees_neither_data_nor_sums(network):
    near, root = network
    monitor = _by_user(near, root)[MONITOR]
    assert monitor.publish == ()
    for suffix, _ in _all_topics(sorted(near)):
        seen = suffix.partition("/")[0] not in ("put", "got", "x", "epoch", "event")
        assert monitor.may_read(f"dcka/{NET}/{suffix}") == seen


def test_the_host_speaks_for_no_node_but_clears_what_is_retained():
    host = _by_user({1: {2}, 2: {1}})[HOST]
    for form in ("run", "dataset", "window", "rows/1", "put/2", "commit/1", "status/2"):
        assert host.may_publish(f"dcka/{NET}/{form}")
    for form in ("x/0/1", "epoch/1", "got/1", "step/1", "result/1", "event/1"):
        assert not host.may_publish(f"dcka/{NET}/{form}")


def test_other_phases_trees_and_kinds_need_no_other_rules():
    # The filters name a node's neighbours, and neither a phase nor a parent.
    for rights in access(NET, {1: {2}, 2: {1, 3}, 3: {2}}):
        for phase in (0, 1, 500):
            assert rights.may_read(f"dcka/{NET}/x/{phase}/2") == (rights.node in (1, 3))


def test_the_order_is_fixed_and_one_node_alone_has_nobody_to_hear():
    near = {9: {3}, 3: {9}}
    assert [rights.user for rights in access(NET, near)] == ["host", "monitor", "n3", "n9"]
    alone = _by_user({7: set()}, root=7)["n7"]
    assert alone.read == tuple(
        f"dcka/{NET}/{end}"
        for end in ("run", "pace", "time", "rows/7", "window", "put/7", "commit/+", "status/7")
    )


def test_the_table_has_the_topics_of_the_protocol_and_their_directions():
    section = PROTOCOL.read_text(encoding="utf-8").split("## 2. Topics")[1].split("## 3.")[0]
    rows = re.findall(r"^\| `dcka/<net>/([^`]+)` \| (\w+) → (\w+) \|", section, re.MULTILINE)
    assert [suffix for suffix, _, _ in rows] == [topic.suffix for topic in TOPICS]
    for topic, (_, sender, receiver) in zip(TOPICS, rows, strict=True):
        assert topic.node == (sender == "node")
        if sender == "host":
            assert topic.host
        if receiver in ("host", "hosts"):
            assert topic.host_reads
