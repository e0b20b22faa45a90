"""Seedings on a bus: the network draws the points that one node with all of them would."""

from scenes import FORK, LINE, STAR, cloud
from seeding_scenes import SeedingScene, new_scene
from support import raises

from dcka_core.bounds import message_bound
from dcka_core.errors import MessageError
from dcka_core.messages import CONVERGED, FINAL
from dcka_core.record import read_run
from dcka_core.seeding import in_rows, numbers_of
from dcka_core.tree_messages import Up, read_up


def test_every_node_has_the_points_of_one_draw_over_all():
    for parents, k, n, seed in (
        (FORK, 5, 2, 5),
        (LINE, 9, 1, 0),
        (STAR, 1, 3, 7),
        ({7: 0}, 4, 2, (1 << 63) - 1),
    ):
        data = {node: cloud(node, 10 + node, n, 14) for node in parents}
        scene = SeedingScene(data, parents, n=n, bits=14, k=k, seed=seed).finish()
        assert scene.drawn(min(parents)) == scene.expected() and len(scene.expected()) == k
        assert scene.final()[1] == FINAL
        for node in parents:
            status = scene.status(node)
            assert (status["state"], status["kind"]) == ("done", "seeding")


def test_nodes_with_few_points_or_none():
    data = {1: [], 2: cloud(2, 1), 3: [], 4: cloud(4, 6)}
    scene = SeedingScene(data, LINE, k=6).finish()
    assert scene.drawn(1) == scene.expected() and len(scene.drawn(1)) == 6


def test_points_that_many_have_are_drawn_once():
    data = {1: [1, 1, 5, 5], 2: [5, 5, 5, 5, 9, 0], 3: [1, 1], 4: [9, 0]}
    for seed in range(8):
        scene = SeedingScene(data, STAR, k=3, seed=seed).finish()
        assert sorted([point for _, point in scene.drawn(2)]) == [[1, 1], [5, 5], [9, 0]]
        assert scene.drawn(2) == scene.expected()


def test_fewer_distinct_points_than_k_end_it_early():
    """Nobody has anything to offer: nothing changes, which is how a run of the tree ends."""
    for data, distinct in (
        ({1: [1, 1, 5, 5], 2: [5, 5], 3: [], 4: [1, 1]}, 2),
        ({1: [], 2: [], 3: [], 4: []}, 0),
    ):
        scene = SeedingScene(data, STAR, k=4).finish()
        assert scene.final()[:2] == (distinct + 1, FINAL | CONVERGED)
        assert scene.drawn(3) == scene.expected() and len(scene.drawn(3)) == distinct


def test_a_clustering_goes_on_from_it():
    """The draw is in the record of the run that follows, and counts there as centres that were given do."""
    scene = new_scene(LINE, k=3)
    scene.finish()
    centres = scene.held(1).centres[:6]
    for number, changes in ((2, {"init": "kmeans++"}), (3, {"init": "given"})):
        scene.settings = {"k": 3, "centres": centres, "max_steps": 30}
        scene.settings.update(changes)
        record = super(SeedingScene, scene).record
        scene.record = lambda number=1, record=record, **more: record(number, **more)
        scene.finish(number)
        steps = scene.by_hand() if number == 3 else None
        if number == 2:
            first = scene.final()[:5]
        else:
            assert scene.final()[:5] == first
            last = steps[-1]
            assert (scene.final()[3], scene.final()[4]) == (last[1], last[2])


def test_what_is_no_offer_is_dropped():
    scene = new_scene(STAR)
    scene.start()
    session = None
    while session is None:
        scene.bus.step()
        session = scene.session(1)
    run = session.run
    good = Up()
    good.sender, good.boot, good.step, good.epoch, good.parent = 3, 1, 0, (0, 1, 0), 1
    good.start, good.contributors, good.squares = session._start, 1 << run.members.index(3), 0
    numbers = [5, 6, 3, 0, 1, 2, 0, 0, 0, 4]
    cases = (
        (numbers, "none"),
        ([40000, 6] + numbers[2:], "beyond the grid"),
        (numbers[:2] + [1] + numbers[3:], "of somebody else"),
        (numbers[:2] + [77] + numbers[3:], "of a stranger"),
        (numbers[:3] + [0, 0, 0] + numbers[6:], "E of 0"),
        (numbers[:3] + [40000, 0, 0] + numbers[6:], "E too large"),
        (numbers[:6] + [0, 0, 0, 0], "T of 0"),
        (numbers[:6] + [65535, 0, 0, 0], "T too large"),
        (numbers[:5] + [65536] + numbers[6:], "a piece of 17 bits"),
    )
    for case, name in cases:
        good.sums = in_rows(case, 2, run.rows)
        check_taken(session, good, run, name == "none", name)
    for place, value, name in (
        (3, 0, "a row without m"),
        (15, 1, "a row too many"),
        (0, 0, "numbers of nothing"),
    ):
        good.sums = in_rows(numbers, 2, run.rows)
        good.sums[place] = value
        check_taken(session, good, run, False, name)
    good.sums, good.squares = in_rows(numbers, 2, run.rows), 1
    check_taken(session, good, run, False, "squares")
    assert numbers_of(in_rows(numbers, 2, run.rows), 2) == numbers


def check_taken(session, up, run, good, name):
    session._latest = {}
    if good:
        session._take(read_up(up.encode(run), run))
        assert 3 in session._latest, name
    else:
        assert raises(MessageError, session._take, up).reason == "value", name
        assert session._latest == {}, name


def test_no_message_is_larger_than_its_bound():
    for n, k in ((1, 1), (1, 9), (2, 9), (3, 4), (9, 2)):
        data = {node: cloud(node, 30, n, 11 if n > 8 else 14) for node in FORK}
        scene = SeedingScene(data, FORK, n=n, k=k, bits=13 if n > 8 else 14)
        scene.bus.log = []
        scene.finish()
        run = read_run(scene.record())
        sizes = [len(payload) for topic, payload in scene.bus.log if topic.split("/")[2] in ("x", "commit")]
        assert len(sizes) > 5 and max(sizes) <= message_bound(run), (n, k, max(sizes))
