"""The engine beside the reference: same starts, same labels, same centres, whatever the sweep and the threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.datasets import gaussians
from dcka.engine import EngineError, blend, lloyd, means, prepare
from dcka.reference import InnerClock, cka, dcka, metropolis, random_points_start

laws = settings(max_examples=60, deadline=None)


@st.composite
def problems(draw):
    """(points, start): few or many, with duplicates, ties, far offsets, empty clusters; 1 to 6 dimensions."""
    seed = draw(st.integers(0, 2**32 - 1))
    numbers = np.random.default_rng(seed)
    size, dimensions = draw(st.integers(1, 300)), draw(st.integers(1, 6))
    k = draw(st.integers(1, 20))
    kind = draw(st.sampled_from(["integers", "few integers", "normal", "far"]))
    if kind == "integers":
        points = numbers.integers(0, 1000, (size, dimensions)).astype(float)
    elif kind == "few integers":
        points = numbers.integers(0, 3, (size, dimensions)).astype(float)
    else:
        points = numbers.normal(size=(size, dimensions)) + (1e6 if kind == "far" else 0.0)
    start = points[numbers.integers(0, size, k)] + draw(st.sampled_from([0.0, 0.5, 3.0]))
    return points, start


@laws
@given(problems(), st.booleans())
def test_same_steps_labels_and_centres_as_the_reference(problem, blocky):
    points, start = problem
    ours, theirs = lloyd(prepare(points, blocky), start, 300), cka(points, start, 300)
    assert (ours.steps, ours.converged) == (len(theirs.steps), theirs.converged)
    whole = bool((points == np.round(points)).all())
    if whole:  # sums of whole numbers have no rounding: every bit is the same
        assert np.array_equal(ours.centres, theirs.centres)
        assert np.array_equal(ours.labels, theirs.labels)
    else:
        np.testing.assert_allclose(ours.centres, theirs.centres, rtol=1e-12, atol=1e-12)
    assert np.array_equal(ours.counts, np.bincount(ours.labels, minlength=len(start)))
    assert ours.ssd == pytest.approx(theirs.ssd, rel=1e-12, abs=1e-12)


@laws
@given(problems(), st.booleans(), st.integers(1, 4))
def test_a_run_that_is_cut_short_has_the_labels_of_its_last_centres(problem, blocky, steps):
    points, start = problem
    points, start = np.round(points), np.round(start)
    ours, theirs = lloyd(prepare(points, blocky), start, steps), cka(points, start, steps)
    assert np.array_equal(ours.centres, theirs.centres)
    assert np.array_equal(ours.labels, theirs.labels)


@laws
@given(problems(), st.booleans())
def test_ssd_by_step(problem, blocky):
    points, start = problem
    ours, theirs = lloyd(prepare(points, blocky), start, keep_ssd=True), cka(points, start, 1000)
    assert ours.ssds == pytest.approx([step.ssd for step in theirs.steps], rel=1e-9, abs=1e-9)
    again = lloyd(prepare(points, blocky), start)
    assert (again.steps, again.ssd) == (ours.steps, ours.ssd)


@laws
@given(problems())
def test_the_order_of_the_points_does_not_matter(problem):
    points, start = problem
    order = np.random.default_rng(1).permutation(len(points))
    one, other = lloyd(points, start), lloyd(points[order], start)
    np.testing.assert_allclose(one.centres, other.centres, rtol=1e-14, atol=0)
    assert one.steps == other.steps


@pytest.mark.parametrize("blocky", [False, True])
def test_threads_change_nothing(monkeypatch, blocky):
    monkeypatch.setattr("dcka.engine.runs.PAIRS_A_THREAD", 1000)
    numbers = np.random.default_rng(5)
    points = prepare(numbers.normal(size=(5000, 3)), blocky)
    start = numbers.normal(size=(12, 3))
    alone, two = lloyd(points, start), lloyd(points, start, threads=2)
    assert np.array_equal(alone.labels, two.labels)
    assert np.array_equal(alone.centres, two.centres)
    assert (alone.steps, alone.ssd) == (two.steps, two.ssd)


def test_the_lowest_index_wins_a_tie_and_an_empty_cluster_keeps_its_centre():
    points = [[0.0], [2.0], [4.0]]
    for blocky in (False, True):
        found = lloyd(prepare(points, blocky), [[1.0], [1.0], [3.0], [99.0]], 1)
        # 2 lies between 1 and 3: index 0 wins, and index 1 has nothing from the start.
        assert found.centres.tolist() == [[1.0], [1.0], [4.0], [99.0]]
        assert found.labels.tolist() == [0, 0, 2]


def test_step_0_with_centres_of_their_own_by_hand():
    tables = [np.array([[0.0], [1.0], [10.0]]), np.array([[0.0], [9.0], [11.0]])]
    starts = np.array([[[0.0], [10.0]], [[10.0], [0.0]]])
    found = blend(tables, starts, np.array([[5.0], [5.0]]))
    # Node 1 puts {0, 1} and {10} in, node 2, with its clusters the other way round, {9, 11} and {0}.
    assert found.centres.tolist() == [[(0 + 1 + 9 + 11) / 4], [(10 + 0) / 2]]
    assert found.counts.tolist() == [4, 2]
    assert found.ssd == 0 + 1 + 0 + 0 + 1 + 1


def test_a_node_without_a_start_adds_nothing_and_an_empty_cluster_takes_the_basis():
    tables = [np.array([[0.0], [2.0]]), np.array([[7.0]])]
    found = blend(tables, [np.array([[0.0], [50.0]]), None], np.array([[5.0], [6.0]]))
    assert found.centres.tolist() == [[1.0], [6.0]]


def test_means_of_labels():
    tables = [np.array([[0.0]]), np.array([[2.0], [7.0]])]
    found = means(tables, [np.array([0]), np.array([0, 2])], np.array([[5.0], [6.0], [0.0]]))
    assert found.centres.tolist() == [[1.0], [6.0], [7.0]]
    assert (found.counts.tolist(), found.ssd) == ([2, 0, 1], 2.0)


def test_the_blended_start_is_dcka_to_the_end():
    """Consensus to a tolerance far below the points' distances gives the assignments of exact consensus."""
    data = list(gaussians(3).values.values())
    numbers = np.random.default_rng(3)
    starts = np.stack([random_points_start(own, 9, numbers) for own in data])
    links = [[(1, 2), (1, 3), (4, 5)], [(2, 3), (3, 4), (2, 4), (5, 1)]]
    clock = InnerClock([metropolis(phase, range(1, 6)) for phase in links], tolerance=1e-9)
    theirs = dcka(data, list(starts), clock, 40, keep_slots=False)
    points = prepare(np.concatenate(data))
    first = blend(data, starts, starts[0])
    ours = lloyd(points, first.centres, len(theirs.steps) - 1)
    assert first.ssd == pytest.approx(theirs.steps[0].ssd.sum(), rel=1e-12)
    assert ours.ssd == pytest.approx(theirs.ssd, rel=1e-9)
    np.testing.assert_allclose(theirs.centres, np.broadcast_to(ours.centres, theirs.centres.shape), atol=2e-9)
    assert np.array_equal(ours.counts, theirs.counts.sum(axis=0))


@pytest.mark.parametrize(
    ("points", "start", "words"),
    [
        ([1.0, 2.0], [[1.0]], "the points must be a table of rows and dimensions, not of shape (2,)"),
        ([[1.0], [np.nan]], [[1.0]], "the points: nan in row 2, column 1; leave such rows out"),
        ([["a"]], [[1.0]], "the points are no table of numbers"),
        (np.empty((0, 2)), [[1.0, 1.0]], "holds none"),
        ([[1.0, 2.0]], [[1.0]], "the starting centres are of shape (1, 1); points of 2 dimensions"),
        ([[1.0, 2.0]], np.empty((0, 2)), "at least one centre"),
    ],
)
def test_what_cannot_be_clustered_is_refused(points, start, words):
    with pytest.raises(EngineError) as caught:
        lloyd(points, start)
    assert words in str(caught.value)


def test_a_first_step_that_does_not_fit_is_refused():
    table = np.zeros((3, 1))
    with pytest.raises(EngineError, match="1 starts for 2 nodes"):
        blend([table, table], [table], table)
    for labels in ([0, 1], [0, 1, 3], [0, -1, 2]):
        with pytest.raises(EngineError, match="labels do not fit 3 points in 3 clusters"):
            means([table], [np.array(labels)], table)


def test_no_thread_is_refused():
    with pytest.raises(EngineError, match="0 threads"):
        lloyd([[1.0]], [[1.0]], threads=0)


@pytest.mark.slow
def test_birch(shared_data):
    """100,000 points, 100 clusters: the reference's labels to the last one."""
    points = np.loadtxt(shared_data / "birch2.txt.gz")
    start = random_points_start(points, 100, np.random.default_rng(8))
    ours, theirs = lloyd(points, start, 12), cka(points, start, 12)
    assert np.array_equal(ours.labels, theirs.labels)
    assert np.array_equal(ours.centres, theirs.centres)
    assert ours.ssd == pytest.approx(theirs.ssd, rel=1e-12)
