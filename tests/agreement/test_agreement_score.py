"""A score: what the core's nodes commit and make of it, against the reference, bit for bit."""

from typing import Any

import numpy as np
from agreement_data import graphs, laws, numbers
from core_network import CoreNetwork
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.reference import bits_for, indices
from dcka.reference.indices import log2_bits
from dcka.topology import Graph, Shape, named
from dcka_core.indices import log2
from dcka_core.messages import FINAL


@st.composite
def cases(draw: Any) -> tuple[Graph, dict[int, Any], Any]:
    """A network, points (m_i, n) of its nodes, and centres (K, n)."""
    graph = draw(graphs())
    n, k = draw(st.sampled_from([1, 2, 3, 9])), draw(st.integers(1, 6))
    row = st.lists(numbers((1 << bits_for(n)) - 1), min_size=n, max_size=n)
    points = {
        node: np.array(draw(st.lists(row, max_size=8)), dtype=np.int64).reshape(-1, n) for node in graph.ids
    }
    return graph, points, np.array(draw(st.lists(row, min_size=k, max_size=k)))


@settings(laws, max_examples=60)
@given(cases())
def test_every_node_has_the_references_indices(case):
    graph, points, centres = case
    assert_same(graph, points, centres)


def assert_same(graph: Graph, points: dict[int, Any], centres: Any, faults: tuple[int, ...] = ()) -> None:
    k, n = centres.shape
    network = CoreNetwork(points, [(1 << bits_for(n)) - 1] * n)
    if faults:
        network.bus.faults(*faults)
    flat = [int(value) for value in centres.ravel()]
    outcome = network.run(graph, "score", k=k, centres=flat)
    assert outcome.finished
    finals = {node: outcome.decoded(node)[-1] for node in points}
    missing = next(iter(finals.values())).missing
    members = outcome.record["members"]
    there = [points[node] for place, node in enumerate(members) if not missing >> place & 1]
    wanted = indices(np.concatenate(there), centres)
    for node, final in finals.items():
        assert final.flags == FINAL
        assert final.counts[:k] == wanted.counts.tolist()
        assert final.ssd == wanted.ssd
        assert final.counts[k] == sum(map(len, there))
        told = outcome.results[node]
        assert told["silhouette"] == wanted.silhouettes
        assert told["bic"] == wanted.bic
        if wanted.calinski_harabasz is None:
            assert told["calinski_harabasz"] is None
        else:
            above, below = told["calinski_harabasz"]
            assert (above * wanted.calinski_harabasz.denominator) == (
                below * wanted.calinski_harabasz.numerator
            )
    assert outcome.run.scored == flat


def test_with_losses():
    for seed in range(6):
        draw = np.random.default_rng(seed)
        points = {node: draw.integers(0, 1 << 15, (int(draw.integers(0, 30)), 2)) for node in range(1, 6)}
        centres = draw.integers(0, 1 << 15, (4, 2))
        assert_same(named(points, Shape("ring")), points, centres, (seed, 20, 20, 20, True))


@given(st.integers(1, 1 << 80))
@settings(laws)
def test_logarithms(value):
    assert log2(value) == log2_bits(value)
