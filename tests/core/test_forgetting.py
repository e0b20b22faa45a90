"""A clustering that remembers: its given centres count as points, and all that holds of a run of `tree` still does."""

from plain_kmeans import distance, nearest, tuples
from scenes import FORK, LINE, STAR, Scene, cloud
from support import raises

from dcka_core.errors import CoreError
from dcka_core.record import read_run

START = [(3000, 3000), (15000, 16000), (30000, 1000)]


def flat(points):
    return [value for point in points for value in point]


def expected(points, start, prior, max_steps=30):
    """Every step as (centres, counts, SSD), by the formula alone: (w·c + Σx) / (w + m), half up, in whole numbers."""
    k, n = len(start), len(start[0])
    centres, steps = list(start), []
    while len(steps) < max_steps:
        counts, sums, ssd = [0] * k, [[0] * n for _ in range(k)], 0
        for point in points:
            best = nearest(point, centres)
            counts[best] += 1
            ssd += distance(point, centres[best])
            sums[best] = [a + b for a, b in zip(sums[best], point)]
        after = []
        for cluster in range(k):
            mass = counts[cluster] + prior[cluster]
            whole = [u + prior[cluster] * c for u, c in zip(sums[cluster], start[cluster])]
            after.append(tuple([(2 * u + mass) // (2 * mass) for u in whole]) if mass else centres[cluster])
        steps.append((after, counts, ssd))
        if after == centres:
            break
        centres = after
    return steps


def scene_of(parents, prior, seed=1, **settings):
    data = {node: cloud(node + seed, 8 + node % 5) for node in parents}
    return Scene(data, parents, init="given", k=3, centres=flat(START), prior=prior, **settings)


def check_ended(scene, without=()):
    points = [point for node in scene.data if node not in without for point in tuples(scene.data[node], 2)]
    steps = expected(points, START, scene.settings["prior"], scene.record()["max_steps"])
    centres, counts, ssd = steps[-1]
    step, _, committed, held, total, _, missing = scene.final()
    assert (step, tuples(committed, 2), held, total) == (len(steps), centres, counts, ssd)
    assert scene.session(min(scene.data)).ids(missing) == sorted(without)
    return steps


def test_the_formula_holds():
    for parents in (FORK, LINE, STAR, {7: 0}):
        for prior in ([0, 0, 0], [5, 0, 100], [1 << 40, 7, 1]):
            scene = scene_of(parents, prior)
            scene.bus.log = []
            check_ended(scene.finish())


def test_without_weights_it_is_plain_and_with_endless_ones_nothing_moves():
    plain = Scene(
        {node: cloud(node + 1, 8 + node % 5) for node in FORK}, FORK, init="given", k=3, centres=flat(START)
    )
    assert scene_of(FORK, [0] * 3).finish().final()[:5] == plain.finish().final()[:5]
    held = scene_of(FORK, [1 << 40] * 3).finish().final()
    assert held[2] == flat(START) and held[1] == 3


def test_one_step_is_the_published_update():
    """c' = (c·n·a + Σx) / (n·a + m), with n·a the prior."""
    scene = scene_of(FORK, [50, 50, 50], max_steps=1)
    points = [point for node in scene.data for point in tuples(scene.data[node], 2)]
    scene.finish()
    own = [point for point in points if nearest(point, START) == 0]
    for j in range(2):
        mean = (50 * START[0][j] + sum([point[j] for point in own])) / (50 + len(own))
        assert abs(scene.held(4).centres[j] - mean) <= 0.5


def test_the_objective_never_rises():
    """The points' SSD, and that of the prior's points, which stay where they were."""
    for seed in range(4):
        prior = [9, 1, 30]
        scene = scene_of(FORK, prior, seed)
        scene.bus.log = []
        steps = check_ended(scene.finish())
        before = [START] + [centres for centres, _, _ in steps]
        whole = [
            ssd + sum([w * distance(c, s) for w, c, s in zip(prior, centres, START)])
            for centres, (_, _, ssd) in zip(before, steps)
        ]
        assert whole == sorted(whole, reverse=True) and len(whole) > 1


def test_loss_doubles_and_delays_change_nothing():
    whole = 0
    for seed in range(4):
        scene = scene_of(FORK, [20, 0, 5], seed)
        scene.bus.log = []
        loss, double, delay = ((40, 0, 0), (0, 50, 60))[seed % 2]
        scene.bus.faults(seed, loss, double, delay, seed >= 2)
        scene.finish()
        if not scene.final()[-1]:
            whole += 1
            check_ended(scene)
    assert whole >= 3


def test_without_a_node_the_prior_counts_all_the_same():
    scene = scene_of(FORK, [20, 3, 5])
    scene.bus.log = []
    scene.bus.kill(5)
    scene.finish()
    check_ended(scene, [5])


def test_in_slots():
    scene = scene_of(FORK, [20, 3, 5], slot_ms=100, patience_ms=4000)
    scene.bus.log = []
    scene.start()
    assert scene.bus.run(scene.bus.all_done, 200000), scene.told()
    scene.bus.settle()
    check_ended(scene)


def test_a_window_without_readings_keeps_the_centres_that_have_weight_and_those_that_have_none():
    for prior in ([4, 0, 1], [0, 0, 0]):
        scene = Scene({1: [], 2: []}, {1: 0, 2: 1}, init="given", k=3, centres=flat(START), prior=prior)
        assert scene.finish().final()[2] == flat(START)


def test_records_that_are_refused():
    scene = scene_of(STAR, [1, 2, 3])
    for changes in (
        {"prior": [1, 2]},
        {"prior": [1, 2, -1]},
        {"prior": [1, 2, (1 << 40) + 1]},
        {"prior": 4},
        {"init": "shared"},
    ):
        assert "prior" in str(raises(CoreError, read_run, scene.record(1, **changes))), changes
