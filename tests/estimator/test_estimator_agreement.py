"""What `DCKA` comes to is what the reference, and the core's nodes on the tests' own bus, come to: bit for bit."""

import numpy as np
import pytest
from core_network import CoreNetwork
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("sklearn")

from estimator_data import blobs

from dcka.estimator import DCKA
from dcka.reference import GossipRules, distributed_plus_plus, gossip_run, tree_run
from dcka.topology import Shape, named, window_slots

LAWS = settings(
    derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
STARTS = ("local", "sorted", "snake", "shared", "partition")
# In levels: what a float64 in the samples' units may be off by.
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def shares_of(model, samples):
    """By id the levels (m, n) of the samples that a fitted model's nodes had, by the definition."""
    grid = model.grid_
    levels = np.floor((samples - np.array(grid.offset)) / np.array(grid.steps) + 0.5).astype(np.int64)
    return {node: levels[model.sample_node_ == node] for node in range(1, model.n_nodes + 1)}


def centres_in_levels(model, centres):
    found = (centres - np.array(model.grid_.offset)) / np.array(model.grid_.steps)
    whole = np.rint(found)
    assert np.allclose(found, whole, rtol=0, atol=1e-6)
    return whole.astype(np.int64)


def assert_tree(model, samples, given_centres=None):
    shares = shares_of(model, samples)
    members = model.run_record_["members"]
    run = tree_run(
        [shares[node] for node in members],
        members,
        model.n_clusters,
        "given" if given_centres is not None else model.init,
        model.seed_,
        list(model.grid_.extents),
        model.max_iter,
        given=given_centres,
    )
    unit = model.grid_.unit
    assert (centres_in_levels(model, model.node_centers_) == run.centres).all()
    assert (model.converged_, model.n_iter_) == (run.converged, len(run.steps))
    for step, exact in zip(model.history_, run.steps, strict=True):
        assert (centres_in_levels(model, step.centers) == exact.centres).all()
        assert (step.counts == exact.counts).all() and step.spread == 0
        assert np.isclose(step.inertia, exact.ssd * unit**2, **CLOSE)
    if run.converged:
        assert np.isclose(model.inertia_, run.ssd * unit**2, **CLOSE)
        assert (np.bincount(model.labels_, minlength=model.n_clusters) == run.counts).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::dcka.estimator.GridWarning")
@LAWS
@given(st.data())
def test_tree_is_the_references(data):
    """Any start, any shares (some nodes may have nothing), any number of features; repeats and ties included."""
    features = data.draw(st.sampled_from([1, 2, 3, 10]))
    nodes = data.draw(st.integers(1, 6))
    samples = blobs(data.draw(st.integers(6, 60)), features, seed=data.draw(st.integers(0, 9)))
    if data.draw(st.booleans()):
        samples = np.round(samples)
    owners = data.draw(st.lists(st.integers(1, nodes), min_size=len(samples), max_size=len(samples)))
    model = DCKA(
        data.draw(st.integers(1, 6)),
        nodes,
        topology=data.draw(st.sampled_from(["ring", "line", "star", "complete", "random"])),
        init=data.draw(st.sampled_from(STARTS)),
        max_iter=data.draw(st.integers(1, 12)),
        random_state=data.draw(st.integers(0, 2**63 - 1)),
    )
    assert_tree(model.fit(samples, sample_node=owners), samples)


@pytest.mark.parametrize("features", [2, 10])
def test_more_samples_than_a_block_and_a_flush_hold(features):
    samples = blobs(70_000, features, seed=3)
    model = DCKA(4, 2, random_state=7).fit(samples)
    assert_tree(model, samples)


def test_kmeans_plus_plus_is_drawn_as_the_reference_draws_it():
    samples = blobs(200, seed=5)
    model = DCKA(5, 4, init="kmeans++", random_state=11).fit(samples)
    shares = shares_of(model, samples)
    picks = distributed_plus_plus(list(shares.values()), list(shares), 5, 11)
    drawn = np.array([shares[1 + place][row] for place, row in picks])
    assert model.run_record_["centres"] == drawn.ravel().tolist()
    assert_tree(model, samples, drawn)
    assert 0 < model.seeding_broadcasts_ < model.broadcasts_
    assert model.broadcasts_ == model.seeding_broadcasts_ + sum(step.broadcasts for step in model.history_)
    assert model.bytes_ == model.seeding_bytes_ + sum(step.bytes for step in model.history_)


def test_a_start_that_is_given_is_brought_to_the_grid():
    samples = blobs(120, seed=2)
    start = samples[[3, 40, 80]]
    model = DCKA(3, 3, init=start).fit(samples)
    grid = model.grid_
    levels = np.floor((start - np.array(grid.offset)) / np.array(grid.steps) + 0.5).astype(np.int64)
    assert_tree(model, samples, levels)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("init", STARTS)
@pytest.mark.parametrize("split", [1, 2])
def test_gossip_is_the_references(init, split):
    samples = blobs(90, seed=4)
    model = DCKA(
        4, 5, consensus="gossip", topology={"kind": "ring", "split": split}, init=init, random_state=3
    ).fit(samples)
    shares = shares_of(model, samples)
    graph = named(range(1, 6), Shape("ring", split=split))
    record = model.run_record_
    rules = GossipRules(
        phases=graph.phases,
        window=window_slots(graph),
        tolerance=record["tolerance"],
        max_slots=model.max_slots,
    )
    tables = [shares[node] for node in graph.ids]
    extents = list(model.grid_.extents)
    run = gossip_run(tables, graph.ids, 4, init, 3, extents, model.max_iter, rules=rules)
    assert (centres_in_levels(model, model.node_centers_) == run.centres).all()
    assert (model.converged_, model.n_iter_) == (run.converged, len(run.steps))
    assert [step.slots for step in model.history_] == [step.slots for step in run.steps]
    for step, exact in zip(model.history_, run.steps, strict=True):
        assert np.isclose(step.inertia, int(exact.ssd.sum()) * model.grid_.unit**2, **CLOSE)
        assert np.isclose(step.spread, np.ptp(exact.centres, axis=0).max() * model.grid_.unit, **CLOSE)


@pytest.mark.parametrize("consensus", ["tree", "gossip"])
def test_nodes_on_the_tests_own_bus_say_the_same_and_send_as_much(consensus):
    """The bus has the plain kernel and blocks of 8 KB, as a board has them."""
    samples = blobs(600, seed=6)
    model = DCKA(4, 5, consensus=consensus, topology="experiment1", random_state=9).fit(samples)
    network = CoreNetwork(shares_of(model, samples), model.grid_.extents)
    record = model.run_record_
    kept = ("k", "init", "seed", "max_steps", "patience_ms", "rows", "tolerance", "slots", "max_slots")
    told = {name: record[name] for name in kept if name in record}
    outcome = network.run(named(range(1, 6), Shape("experiment1")), consensus, **told)
    assert outcome.finished and outcome.record["members"] == record["members"]
    for place, node in enumerate(sorted(outcome.record["members"])):
        last = outcome.decoded(node)[-1]
        assert (centres_in_levels(model, model.node_centers_[place]) == outcome.centres(last.centres)).all()
        assert outcome.results[node]["steps"] == model.n_iter_
        assert outcome.results[node]["sent"] == model.node_broadcasts_[place]
        assert outcome.results[node]["bytes"] == model.node_bytes_[place]
