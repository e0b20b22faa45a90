"""`DCKA` as people use it: laws of what it says of itself, in searches and pipelines, and what it refuses."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("sklearn")

from estimator_data import blobs
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dcka
from dcka.errors import DckaError
from dcka.estimator import DCKA, GridWarning

SAMPLES = blobs()


@pytest.fixture(scope="module")
def model():
    return DCKA(4, 5, random_state=1).fit(SAMPLES)


def test_it_is_dckas_own_attribute():
    assert dcka.DCKA is DCKA and {"DCKA", "results"} <= set(dir(dcka))
    with pytest.raises(AttributeError, match="no attribute 'KMEANS'"):
        dcka.KMEANS  # noqa: B018


def test_labels_are_what_predict_says_and_the_nearest_by_transform(model):
    assert (model.predict(SAMPLES) == model.labels_).all()
    assert (model.transform(SAMPLES).argmin(axis=1) == model.labels_).all()
    assert (model.fit_predict(SAMPLES) == model.labels_).all()
    assert np.array_equal(model.fit_transform(SAMPLES), model.transform(SAMPLES))


def test_inertia_is_the_score_and_the_sum_of_the_distances(model):
    assert model.score(SAMPLES) == -model.inertia_
    nearest = model.transform(SAMPLES).min(axis=1)
    assert np.isclose(np.square(nearest).sum(), model.inertia_, rtol=1e-12)
    exact = np.square(SAMPLES - model.cluster_centers_[model.labels_]).sum()
    assert np.isclose(exact, model.inertia_, rtol=1e-4)


def test_a_stranger_far_outside_goes_to_the_centre_nearest_to_it(model):
    far = np.vstack([SAMPLES * 1e3, SAMPLES * 1e30, -SAMPLES * 1e8])
    exact = ((far[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    chosen = exact[np.arange(len(far)), model.predict(far)]
    assert (chosen <= exact.min(axis=1) * (1 + 1e-6)).all()
    assert np.isfinite(model.transform(far)).all()


def test_every_node_of_a_tree_has_the_same_bits_and_gossip_agrees_to_its_tolerance(model):
    assert (model.node_centers_ == model.cluster_centers_).all()
    gossip = DCKA(4, 5, consensus="gossip", topology={"kind": "ring", "split": 2}, random_state=1)
    gossip.fit(SAMPLES)
    span = np.ptp(SAMPLES, axis=0).max()
    assert np.ptp(gossip.node_centers_, axis=0).max() <= 2 * gossip.tol * span
    assert gossip.broadcasts_ > model.broadcasts_ and gossip.bytes_ > model.bytes_
    assert all(step.slots for step in gossip.history_) and not any(step.slots for step in model.history_)


def test_nodes_topology_and_the_order_of_samples_do_not_change_a_shared_start():
    """Sums of whole numbers: who adds them, and in which order, is irrelevant."""
    alone = DCKA(4, 1, init="shared", random_state=2).fit(SAMPLES)
    for nodes, topology in ((2, "line"), (5, "experiment1"), (9, "grid"), (40, "random")):
        other = DCKA(4, nodes, topology=topology, init="shared", random_state=2).fit(SAMPLES[::-1])
        assert np.array_equal(other.cluster_centers_, alone.cluster_centers_)
        assert np.array_equal(other.labels_[::-1], alone.labels_)
        assert other.inertia_ == alone.inertia_
    assert alone.broadcasts_ <= alone.n_iter_


def test_inertia_never_rises_and_counts_are_of_all_samples(model):
    inertia = [step.inertia for step in model.history_[1:]]
    assert inertia == sorted(inertia, reverse=True)
    assert all(step.counts.sum() == len(SAMPLES) for step in model.history_)
    assert [step.step for step in model.history_] == list(range(model.n_iter_))


def test_scikit_learns_own_from_the_same_start_ends_on_the_same_centres():
    start = SAMPLES[:4]
    ours = DCKA(4, 5, init=start).fit(SAMPLES)
    theirs = KMeans(4, init=start, n_init=1, tol=0).fit(SAMPLES)
    assert (ours.n_iter_, ours.labels_.tolist()) == (theirs.n_iter_, theirs.labels_.tolist())
    assert np.abs(ours.cluster_centers_ - theirs.cluster_centers_).max() <= ours.grid_.step
    assert np.isclose(ours.inertia_, theirs.inertia_, rtol=1e-4)


def test_who_has_which_samples():
    owners = np.repeat([3, 1], [100, 200])
    model = DCKA(2, 3, random_state=0).fit(SAMPLES, sample_node=owners)
    assert (model.sample_node_ == owners).all()
    assert model.run_record_["points"] == 300
    dealt = DCKA(2, 3, random_state=0).fit(SAMPLES)
    assert (dealt.sample_node_[:4] == [1, 2, 3, 1]).all()


def test_what_each_node_sends_adds_up(model):
    assert (
        model.broadcasts_ == model.node_broadcasts_.sum() == sum(step.broadcasts for step in model.history_)
    )
    assert model.bytes_ == model.node_bytes_.sum() == sum(step.bytes for step in model.history_)
    # An exact step: each node but the root sends its sums, each parent passes the outcome on.
    assert model.broadcasts_ >= 4 * model.n_iter_


def test_pickle_and_clone(model):
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(SAMPLES), model.labels_)
    assert again.history_[-1].inertia == model.history_[-1].inertia
    fresh = clone(model)
    assert fresh.get_params() == model.get_params() and not hasattr(fresh, "labels_")
    with pytest.raises(NotFittedError):
        fresh.predict(SAMPLES)


def test_in_a_pipeline_and_a_search():
    stretched = SAMPLES * [1, 100_000]
    with pytest.warns(GridWarning, match='column "x0": 300 distinct readings fall on'):
        DCKA(4, 3, random_state=0).fit(stretched)
    made = make_pipeline(StandardScaler(), DCKA(4, 3, random_state=0)).fit(stretched)
    assert len(set(made.predict(stretched))) == 4
    search = GridSearchCV(
        DCKA(n_nodes=3, random_state=0), {"n_clusters": np.arange(2, 5), "init": ["local", "kmeans++"]}, cv=2
    )
    search.fit(SAMPLES, sample_node=np.resize([1, 2, 3], len(SAMPLES)))
    assert search.best_params_["n_clusters"] == 4


def test_data_frames_go_in_and_come_out(model):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(SAMPLES, columns=["humidity", "temperature"])
    named = DCKA(4, 5, random_state=1).set_output(transform="pandas").fit(frame)
    assert list(named.feature_names_in_) == ["humidity", "temperature"] and named.n_features_in_ == 2
    assert list(named.transform(frame).columns) == ["dcka0", "dcka1", "dcka2", "dcka3"]
    assert np.array_equal(named.cluster_centers_, model.cluster_centers_)


def test_a_random_state_is_the_seed_or_draws_one():
    assert DCKA(2, random_state=77).fit(SAMPLES).seed_ == 77
    drawn = [DCKA(2, random_state=np.random.RandomState(5)).fit(SAMPLES).seed_ for _ in range(2)]
    assert drawn[0] == drawn[1]


def test_it_says_where_it_has_not_converged():
    with pytest.warns(ConvergenceWarning, match="not converged after max_iter = 1"):
        DCKA(4, max_iter=1, random_state=0).fit(SAMPLES)


def test_it_says_where_nodes_have_not_agreed():
    slow = DCKA(
        4, 30, consensus="gossip", topology="line", max_slots=58, max_iter=2, tol=1e-6, random_state=0
    )
    with pytest.warns(ConvergenceWarning) as told:
        slow.fit(SAMPLES)
    assert [str(one.message).rpartition(": ")[2] for one in told if "agreed" in str(one.message)] == [
        "raise max_slots"
    ]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_clusters": 0}, "n_clusters = 0: it must be"),
        ({"n_clusters": 301}, "n_clusters = 301 is more than n_samples = 300"),
        ({"n_clusters": 2.5}, "n_clusters = 2.5: it must be"),
        ({"n_nodes": 0}, "n_nodes = 0"),
        ({"consensus": "majority"}, 'consensus = majority: it must be "tree" or "gossip"'),
        ({"topology": "moebius"}, "topology = moebius: it must be"),
        ({"topology": 3}, "topology = 3: give the name of one"),
        ({"topology": [[(1, 2)]]}, "never hear each other"),
        ({"topology": {"kind": "ring", "colour": 1}}, "colour"),
        ({"topology": "experiment2"}, "20 nodes"),
        ({"init": "k-means++"}, 'init: "k-means++" is not known; did you mean "kmeans++"?'),
        ({"init": [[0, 0]]}, "init has the shape"),
        ({"init": [[0, float("nan")]] * 8}, "finite"),
        ({"init": object()}, "neither the name of a start nor a table"),
        ({"max_iter": 0}, "max_iter = 0"),
        ({"tol": -1}, "tol = -1"),
        ({"random_state": -1}, "random_state = -1"),
        ({"consensus": "gossip", "max_slots": 1}, "max_slots"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_name(parameters, words):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        DCKA(**{"random_state": 0, **parameters}).fit(SAMPLES)
    assert words in str(caught.value) and isinstance(caught.value, DckaError)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("samples", "owners", "words"),
    [
        (SAMPLES, [1, 2], "sample_node has the shape"),
        (SAMPLES, np.full(300, 1.0), "float64"),
        (SAMPLES, np.full(300, 6), "sample_node has 6, which is no node"),
        (np.full((9, 1), 1e39), None, "beyond"),
        (np.ones((9, 513)), None, "512"),
    ],
)
def test_data_that_do_not_fit_are_refused(samples, owners, words):
    with pytest.raises(ValueError, match=words):
        DCKA(2, random_state=0).fit(samples, sample_node=owners)


def test_fewer_distinct_samples_than_clusters():
    """C01: four places, twelve rows, five clusters; K - 4 clusters stay empty, and nothing goes round in circles."""
    rows = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], 4, axis=0)
    model = DCKA(5, 4, init=rows[:5]).fit(rows)
    assert model.converged_ and model.n_iter_ <= 10 and model.inertia_ == 0
    assert np.bincount(model.labels_, minlength=5).sum() == 12 and np.isfinite(model.cluster_centers_).all()
    with pytest.raises(ValueError, match="only 3 of the samples are distinct"):
        DCKA(5, 4, init="kmeans++", random_state=0).fit(rows)


def test_more_nodes_than_samples():
    """C10: seven rows, eight nodes."""
    rows = blobs(7)
    many, one = (DCKA(3, nodes, init="shared", random_state=0).fit(rows) for nodes in (8, 1))
    assert np.array_equal(many.cluster_centers_, one.cluster_centers_)


def test_a_large_common_offset_keeps_its_digits():
    """C03: every centre is between the smallest and the largest value."""
    values = np.resize([101325.0, 101325.05], 2000)[:, None]
    model = DCKA(2, 4, init=values[:2]).fit(values)
    assert np.allclose(np.sort(model.cluster_centers_.ravel()), [101325.0, 101325.05], rtol=0, atol=1e-5)
    assert (np.bincount(model.labels_) == 1000).all()


def ran(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)


def test_import_dcka_loads_nothing():
    heavy = ("sklearn", "numpy", "sqlalchemy", "paho", "fastapi", "dcka.estimator", "dcka.results")
    done = ran(f"import sys, dcka; print([name for name in {heavy!r} if name in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr


def test_without_scikit_learn_it_says_what_to_install():
    blocked = "import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.base'] = None\n"
    done = ran(blocked + "try:\n from dcka import DCKA\nexcept ImportError as error:\n print(error)")
    assert done.stdout == (
        "dcka.DCKA needs scikit-learn, which is not installed: pip install 'dcka[estimator]'\n"
    ), done.stderr
