"""`dcka.results`: what comes out is what the reference says of the run that went in."""

import sys

import numpy as np
import pytest

import dcka
from dcka.errors import DckaError
from dcka.reference import tree_run


@pytest.fixture(scope="module")
def run(stored):
    return dcka.results.load("greenhouse/3", history=str(stored[0]))


def reference(dataset, members, k=3):
    points = [dataset.points[node] for node in members]
    return tree_run(points, members, k, "local", 1, list(dataset.grid.extents), 100)


def test_a_run_is_what_the_reference_says(run, stored):
    dataset = stored[1]
    exact = reference(dataset, list(run.stored.members))
    assert np.array_equal(run.centroids, dataset.grid.to_units(exact.centres))
    assert np.array_equal(run.counts, exact.counts)
    assert np.isclose(run.ssd, exact.ssd * dataset.grid.unit**2, rtol=1e-12)
    assert (run.kind, run.k, run.state, run.converged) == ("tree", 3, "finished", True)
    assert run.columns == ["x", "y"] and run.members == (1, 2, 3, 4, 5) and run.in_units and run.missing == ()
    ways = np.array([dataset.grid.to_units(step.centres) for step in exact.steps])
    assert np.array_equal(run.centroids_per_step, ways)
    assert np.array_equal(run.counts_per_step, [step.counts for step in exact.steps])
    unit = dataset.grid.unit**2
    assert np.allclose(run.ssd_per_step, [step.ssd * unit for step in exact.steps], rtol=1e-12)


def test_what_each_node_said(run):
    assert set(run.nodes) == {1, 2, 3, 4, 5}
    assert all(result["steps"] == len(run.steps) for result in run.nodes.values())


def test_the_last_one_and_lists(stored):
    file = str(stored[0])
    assert dcka.results.load(history=file).name == "lab/2"
    assert dcka.results.load(2, network="greenhouse", history=file).name == "greenhouse/2"
    assert [run.name for run in dcka.results.runs(history=file, limit=2)] == ["lab/2", "lab/1"]
    names = [run.name for run in dcka.results.runs(history=file, network="greenhouse")]
    assert names == ["greenhouse/3", "greenhouse/2", "greenhouse/1"]
    last = dcka.results.load("lab/1", history=file)
    assert dcka.results.load(last.stored.uid[:8], history=file).name in ("lab/1",)
    assert repr(last).startswith("<Run lab/1 gossip K=3 finished, ")


def test_the_place_may_be_in_the_environment(stored, monkeypatch):
    monkeypatch.setenv("DCKA_HISTORY", str(stored[0]))
    assert dcka.results.load("greenhouse/1").k == 3


def test_refusals_are_sentences(stored, tmp_path):
    with pytest.raises(DckaError, match="has no run 99"):
        dcka.results.load(99, history=str(stored[0]))
    with pytest.raises(DckaError, match="several networks have a run 1"):
        dcka.results.load(1, history=str(stored[0]))
    with pytest.raises(DckaError, match="there is no history"):
        dcka.results.load(history=str(tmp_path / "none.sqlite"))


def test_data_frames(run):
    pandas = pytest.importorskip("pandas")
    steps = run.to_dataframe()
    assert list(steps.index) == list(range(len(run.steps))) and steps.index.name == "step"
    assert np.array_equal(steps["ssd"], run.ssd_per_step)
    assert isinstance(steps["at"].dtype, pandas.DatetimeTZDtype)
    centroids = run.to_dataframe("centroids")
    assert list(centroids.columns) == ["x", "y", "count"]
    assert np.array_equal(centroids[["x", "y"]], run.centroids)
    assert list(centroids["count"]) == list(run.counts)
    nodes = run.to_dataframe("nodes")
    assert list(nodes.index) == [1, 2, 3, 4, 5]
    # In a tree every node ends with the network's.
    assert np.allclose(nodes["ssd"], run.ssd, rtol=1e-12)
    with pytest.raises(ValueError, match="there are tables of steps, centroids, nodes"):
        run.to_dataframe("words")


def test_without_pandas_it_says_so(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_dataframe needs pandas"):
        run.to_dataframe()
