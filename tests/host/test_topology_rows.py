"""The rows of both schedules, on any jointly connected graph: laws, and independent counts."""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dcka.topology import (
    Graph,
    Shape,
    TopologyError,
    gossip_rows,
    named,
    schedule,
    spanning_tree,
    window_slots,
)
from dcka.topology.speakers import parent_choices

# Seeded, and patient with a busy machine.
LAW = settings(deadline=None, derandomize=True)


@st.composite
def connected_graphs(draw, most=12, phases=3):
    """Any ids, a random tree over them and any links more, dealt to phases at random, some phases empty."""
    count = draw(st.integers(1, most))
    ids = draw(st.lists(st.integers(1, 65535), min_size=count, max_size=count, unique=True))
    links = {(ids[draw(st.integers(0, i - 1))], ids[i]) for i in range(1, count)}
    pairs = [pair for pair in itertools.combinations(ids, 2) if pair not in links and pair[::-1] not in links]
    if pairs:
        links |= set(draw(st.lists(st.sampled_from(pairs), max_size=2 * count, unique=True)))
    dealt = [[] for _ in range(draw(st.integers(1, phases)))]
    for link in sorted(links):
        for phase in draw(st.sets(st.integers(0, len(dealt) - 1), min_size=1)):
            dealt[phase].append(link)
    return Graph.build(ids, dealt)


# gossip


@LAW
@given(connected_graphs())
def test_every_neighbour_gets_exactly_one_share_of_metropolis_weight(graph):
    rows = gossip_rows(graph)
    for phase in range(len(graph.phases)):
        neighbours, degrees = graph.neighbours(phase), graph.degrees(phase)
        heard_groups = []
        for node in graph.ids:
            row = rows[node][phase]
            assert tuple(other for other, _ in row.hear) == neighbours[node]
            for other, group in row.hear:
                divisor, _ = rows[other][phase].share[group]
                assert divisor == 1 + max(degrees[node], degrees[other])
                heard_groups.append((other, group))
        for node in graph.ids:
            for group, (_, receivers) in enumerate(rows[node][phase].share):
                assert heard_groups.count((node, group)) == receivers > 0
        assert len(heard_groups) == 2 * len(graph.phases[phase])


@LAW
@given(connected_graphs())
def test_shares_leave_something_at_home_and_groups_differ(graph):
    for row in itertools.chain.from_iterable(gossip_rows(graph).values()):
        assert sum(Fraction(receivers, divisor) for divisor, receivers in row.share) < 1
        divisors = [divisor for divisor, _ in row.share]
        assert divisors == sorted(set(divisors))


@LAW
@given(connected_graphs(), st.data())
def test_floor_shares_along_the_records_conserve_the_mass(graph, data):
    records = schedule(graph, "gossip").rows
    mass = {node: data.draw(st.integers(0, 2**62)) for node in graph.ids}
    total = sum(mass.values())
    for slot in range(2 * len(graph.phases)):
        rows = {node: records[node]["phases"][slot % len(graph.phases)] for node in graph.ids}
        shares = {node: [mass[node] // divisor for divisor, _ in rows[node]["share"]] for node in graph.ids}
        for node in graph.ids:
            mass[node] -= sum(
                share * receivers
                for share, (_, receivers) in zip(shares[node], rows[node]["share"], strict=True)
            )
        for node in graph.ids:
            mass[node] += sum(shares[other][group] for other, group in rows[node]["hear"])
        assert sum(mass.values()) == total
        assert min(mass.values()) >= 0


def test_rows_of_experiment_1_by_hand():
    rows = gossip_rows(named(range(1, 6), Shape("experiment1")))
    # Phase 0 = {1-2, 1-3, 4-5}: node 1 has degree 2, all others 1.
    assert rows[1][0].share == ((3, 2),)
    assert rows[1][0].hear == ((2, 0), (3, 0))
    assert rows[4][0].share == ((2, 1),)
    # Phase 1 = {2-3, 3-4, 2-4, 5-1}: a triangle and a pair.
    assert rows[2][1].share == ((3, 2),)
    assert rows[5][1].hear == ((1, 0),)


def test_neighbours_of_different_degree_are_in_different_groups():
    graph = Graph.build(range(1, 6), [[(1, 2), (2, 3), (3, 4), (3, 5)]])
    rows = gossip_rows(graph)
    assert rows[2][0].share == ((3, 1), (4, 1))
    assert rows[1][0].hear == ((2, 0),)
    assert rows[3][0].hear == ((2, 1), (4, 0), (5, 0))


@LAW
@given(connected_graphs())
def test_the_window_is_what_flooding_takes_from_the_slowest_node(graph):
    phases = len(graph.phases)
    slowest = 0
    for source in graph.ids:
        reached, slots = {source}, 0
        while reached != set(graph.ids) or slots % phases or not slots:
            links = graph.phases[slots % phases]
            reached |= {b for a, b in links if a in reached} | {a for a, b in links if b in reached}
            slots += 1
        slowest = max(slowest, slots)
    assert window_slots(graph) == slowest


@pytest.mark.parametrize(
    ("graph", "slots"),
    [
        (named([4], Shape("line")), 1),
        (named(range(1, 6), Shape("experiment1")), 2),
        (named(range(1, 9), Shape("line")), 7),
        (named(range(1, 9), Shape("complete")), 1),
        (Graph.build(range(1, 5), [[(3, 4)], [(2, 3)], [(1, 2)]]), 9),
    ],
)
def test_windows_by_hand(graph, slots):
    """The last: 4 reaches 1 within one cycle, but 1 reaches 4 at one hop a cycle."""
    assert window_slots(graph) == slots


@pytest.mark.parametrize("make", [window_slots, spanning_tree, lambda graph: schedule(graph, "gossip")])
def test_no_schedule_is_made_for_parts_that_never_hear_each_other(make):
    with pytest.raises(TopologyError, match=r"\{1, 2\} and \{3\}"):
        make(Graph.build([1, 2, 3], [[(1, 2)]]))


# tree


def subtree(tree, node):
    below = [node]
    for child in tree.rows[node].children:
        below.extend(subtree(tree, child))
    return below


@LAW
@given(connected_graphs(), st.data())
def test_tree_rows_form_one_tree_with_every_subtree_a_range(graph, data):
    root = data.draw(st.sampled_from([None, *graph.ids]))
    tree = spanning_tree(graph, root)
    near = graph.union()
    assert root is None or tree.root == root
    assert tree.members == tuple(subtree(tree, tree.root))
    assert sorted(tree.members) == list(graph.ids)
    for node in graph.ids:
        row = tree.rows[node]
        assert (row.parent == 0) == (node == tree.root)
        assert row.near == near[node]
        assert row.children == tuple(sorted(row.children))
        for child in row.children:
            assert child in near[node]
            assert tree.rows[child].parent == node
        first = tree.members.index(node)
        below = subtree(tree, node)
        assert list(tree.members[first : first + len(below)]) == below


def all_hops(near):
    """Floyd and Warshall's distances, an independent count."""
    far = len(near)
    hops = {(a, b): 0 if a == b else (1 if b in near[a] else far) for a in near for b in near}
    for over, a, b in itertools.product(near, repeat=3):
        hops[a, b] = min(hops[a, b], hops[a, over] + hops[over, b])
    return hops


def worst_degree(parents):
    degrees = {node: (parent is not None) for node, parent in parents.items()}
    for parent in parents.values():
        if parent is not None:
            degrees[parent] += 1
    return max(degrees.values())


def speakers_of(tree):
    return {node for node, row in tree.rows.items() if row.children}


def cost_of(tree):
    """What the choice of a root goes by."""
    parents = {node: row.parent or None for node, row in tree.rows.items()}
    return len(speakers_of(tree)), worst_degree(parents), tree.root


def trees_of_that_depth(near, hops, root):
    """The sets of nodes with children of all trees from `root` that are no deeper than they have to be."""
    deepest = max(hops[root, node] for node in near)
    others = [node for node in near if node != root]
    for parents in itertools.product(*(near[node] for node in others)):
        chosen = dict(zip(others, parents, strict=True))
        if all(depth_in(chosen, node, root, deepest) for node in others):
            yield set(parents)


def depth_in(parents, node, root, deepest):
    """Whether the way from `node` ends at the root within so many hops."""
    for _ in range(deepest):
        node = parents[node]
        if node == root:
            return True
    return False


@LAW
@given(connected_graphs(most=7, phases=2))
def test_the_root_is_one_of_the_most_central_and_then_has_the_quietest_tree(graph):
    near = graph.union()
    hops = all_hops(near)
    farthest = {node: max(hops[node, other] for other in near) for node in near}
    tree = spanning_tree(graph)
    assert tree.depth == farthest[tree.root] == min(farthest.values())
    central = [node for node in near if farthest[node] == tree.depth]
    assert cost_of(tree) == min(cost_of(spanning_tree(graph, node)) for node in central)


@LAW
@given(connected_graphs(most=6, phases=2), st.data())
def test_a_given_root_has_the_shallowest_tree_and_few_have_children(graph, data):
    """A greedy cover: here never more than one above the fewest there are."""
    root = data.draw(st.sampled_from(graph.ids))
    near = graph.union()
    hops = all_hops(near)
    tree = spanning_tree(graph, root)
    assert tree.depth == max(hops[root, node] for node in near)
    fewest = min((len(parents) for parents in trees_of_that_depth(near, hops, root)), default=0)
    assert fewest <= len(speakers_of(tree)) <= fewest + 1


@LAW
@given(connected_graphs(most=9, phases=2), st.data())
def test_nobody_could_do_without_having_children_and_these_are_dealt_evenly(graph, data):
    root = data.draw(st.sampled_from(graph.ids))
    near = graph.union()
    choices = parent_choices(near, root)
    tree = spanning_tree(graph, root)
    every = {parent for options in choices.values() for parent in options}
    assert speakers_of(tree) == every
    assert every - {root} <= {options[0] for options in choices.values() if len(options) == 1}
    assume(math.prod(map(len, choices.values())) <= 20_000)
    least = min(max(Counter(found).values(), default=0) for found in itertools.product(*choices.values()))
    assert max(len(row.children) for row in tree.rows.values()) == least


def test_children_move_over_so_that_a_later_one_fits_too():
    # 2 and 3 hang below 1. 8 needs 2 and 9 needs 3; 4 and 5 can go to both, 6 and 7 only to 2.
    links = [(1, 2), (1, 3), (2, 4), (2, 5), (3, 4), (3, 5), (2, 6), (2, 7), (2, 8), (3, 9)]
    tree = spanning_tree(Graph.build(range(1, 10), [links]), root=1)
    assert tree.rows[2].children == (6, 7, 8)
    assert tree.rows[3].children == (4, 5, 9)


def test_who_has_no_children_may_hang_deeper_where_that_keeps_another_one_quiet():
    # 2 has to speak for 4, and 4 for 6. 5, two hops away like 4, could go to 3; it goes to 4, so that 3 is quiet.
    links = [(1, 2), (1, 3), (2, 4), (3, 5), (4, 5), (4, 6)]
    tree = spanning_tree(Graph.build(range(1, 7), [links]), root=1)
    assert (tree.depth, speakers_of(tree)) == (3, {1, 2, 4})
    assert tree.rows[4].children == (5, 6)


def test_a_root_that_is_no_node_is_refused_by_name():
    with pytest.raises(TopologyError, match=r"root = 9 .*\{1-5\}"):
        spanning_tree(named(range(1, 6), Shape("ring")), root=9)


# records


@LAW
@given(connected_graphs())
def test_records_are_json_with_version_run_and_reach(graph):
    for kind in ("tree", "gossip"):
        records = schedule(graph, kind).row_records(41)
        assert sorted(records) == list(graph.ids)
        for node, record in records.items():
            assert json.loads(json.dumps(record)) == record
            assert (record["v"], record["run"]) == (1, 41)
            assert record["near"] == list(graph.union()[node])


def test_records_of_a_tree_and_of_gossip_by_hand():
    graph = Graph.build([1, 2, 3], [[(1, 2)], [(2, 3)]])
    tree = schedule(graph, "tree")
    assert (tree.members, tree.root, tree.window) == ((2, 1, 3), 2, 0)
    assert tree.row_records(7)[2] == {
        "v": 1,
        "run": 7,
        "parent": 0,
        "children": [1, 3],
        "members": 3,
        "near": [1, 3],
    }
    assert tree.row_records(7)[3] == {
        "v": 1,
        "run": 7,
        "parent": 2,
        "children": [],
        "members": 1,
        "near": [2],
    }
    gossip = schedule(graph, "gossip")
    assert (gossip.members, gossip.root, gossip.window) == ((1, 2, 3), 0, 4)
    assert gossip.row_records(8)[1] == {
        "v": 1,
        "run": 8,
        "phases": [{"share": [[2, 1]], "hear": [[2, 0]]}, {"share": [], "hear": []}],
        "near": [2],
    }


def test_another_kind_of_schedule_is_a_fault_of_the_caller():
    with pytest.raises(ValueError, match="pairs"):
        schedule(named([1, 2], Shape("line")), "pairs")
