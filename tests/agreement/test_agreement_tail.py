"""A tail, and a clustering that remembers: what the core's nodes come to, against the reference, bit for bit."""

from typing import Any

import numpy as np
from agreement_data import cases, graphs, laws, numbers
from core_network import CoreNetwork
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.reference import bits_for, tail_run, tree_run
from dcka.topology import Graph, Shape, named
from dcka_core.messages import CONVERGED, FINAL


@st.composite
def tails(draw: Any) -> tuple[Graph, dict[int, Any], Any, int, int]:
    """A network, points (m_i, n) of its nodes, centres (K, n), the millionths beyond, and the bins."""
    graph = draw(graphs())
    n, k = draw(st.sampled_from([1, 2, 3, 9])), draw(st.integers(1, 6))
    row = st.lists(numbers((1 << bits_for(n)) - 1), min_size=n, max_size=n)
    points = {
        node: np.array(draw(st.lists(row, max_size=8)), dtype=np.int64).reshape(-1, n) for node in graph.ids
    }
    centres = np.array(draw(st.lists(row, min_size=k, max_size=k)))
    return graph, points, centres, draw(st.integers(0, 499_999)), draw(st.sampled_from([2, 4, 16]))


def assert_same(
    graph: Graph, points: dict[int, Any], centres: Any, tail_ppm: int, bins: int, faults: tuple[int, ...] = ()
) -> None:
    k, n = centres.shape
    network = CoreNetwork(points, [(1 << bits_for(n)) - 1] * n)
    if faults:
        network.bus.faults(*faults)
    said = {"k": k, "centres": [int(value) for value in centres.ravel()], "tail_ppm": tail_ppm, "bins": bins}
    outcome = network.run(graph, "tail", **said, reveal=0)
    assert outcome.finished
    finals = {node: outcome.decoded(node)[-1] for node in points}
    missing = next(iter(finals.values())).missing
    if missing:
        return  # the replay of those is the check's business
    members = outcome.record["members"]
    wanted = tail_run([points[node] for node in members], centres, tail_ppm, bins=bins)
    for place, node in enumerate(members):
        commit = finals[node]
        assert commit.flags == FINAL and commit.step == wanted.steps
        assert (commit.centres[0] << 16) + commit.centres[1] == wanted.threshold
        assert commit.counts[0] == wanted.total
        assert outcome.results[node]["threshold"] == wanted.threshold
        assert outcome.results[node]["beyond"] == len(wanted.beyond(place))


@settings(laws, max_examples=60)
@given(tails())
def test_every_node_has_the_references_tail(case):
    assert_same(*case)


def test_a_tail_with_losses():
    for seed in range(4):
        draw = np.random.default_rng(seed)
        points = {node: draw.integers(0, 1 << 15, (int(draw.integers(0, 30)), 2)) for node in range(1, 6)}
        centres = draw.integers(0, 1 << 15, (4, 2))
        assert_same(named(points, Shape("ring")), points, centres, 50_000, 16, (seed, 20, 20, 20, True))


@settings(laws, max_examples=60)
@given(cases(), st.data())
def test_what_is_remembered_moves_the_centres_as_in_the_reference(case, data):
    weights = st.one_of(st.integers(0, 9), st.integers(0, 1 << 40))
    prior = data.draw(st.lists(weights, min_size=case.k, max_size=case.k))
    n = len(case.extents)
    flat = data.draw(
        st.lists(numbers((1 << bits_for(n)) - 1), min_size=case.k * n, max_size=case.k * n), label="centres"
    )
    asked = {**case.settings, "init": "given", "centres": flat}
    outcome = CoreNetwork(case.points, case.extents).run(case.graph, "tree", **asked, prior=prior)
    assert outcome.finished
    members = tuple(outcome.record["members"])
    given_centres = {"init": "given", "given": np.array(flat).reshape(case.k, n)}
    wanted = tree_run(**{**case.for_reference(members), **given_centres}, prior=prior)
    for node in members:
        commit = outcome.decoded(node)[-1]
        assert commit.step == len(wanted.steps)
        assert commit.centres == wanted.centres.ravel().tolist()
        assert commit.counts == wanted.counts.tolist()
        assert commit.ssd == wanted.ssd
        assert bool(commit.flags & CONVERGED) == wanted.converged
