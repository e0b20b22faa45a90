"""Seedings on a bus: the network draws the points that one node with all of them would, whatever is lost or dies."""

from scenes import FORK, LINE, STAR, cloud
from seeding_scenes import SeedingScene, check_draws
from support import raises

from dcka_core.actions import SAVE
from dcka_core.bounds import message_bound
from dcka_core.errors import DataError, MessageError
from dcka_core.messages import CONVERGED, FINAL, read_commit
from dcka_core.record import read_run
from dcka_core.seeding import in_rows, numbers_of
from dcka_core.session import COMMIT_FILE
from dcka_core.tree_messages import Up, read_up

ROOT = 4


def new_scene(parents=FORK, counts=12, k=5, **settings):
    data = {node: cloud(node, counts + node) for node in parents}
    scene = SeedingScene(data, parents, k=k, **settings)
    scene.bus.trace = []
    return scene


def chain(scene):
    """The commits behind the final that all nodes hold: of each step the one that leads to it."""
    run = read_run(scene.record())
    final = scene.held(min(scene.bus.nodes))
    found = {}
    for _, action in scene.bus.trace:
        if action[0] == SAVE and action[1] == COMMIT_FILE:
            commit = read_commit(action[2], run)
            place = commit.step * run.n
            if commit.centres[:place] == final.centres[:place]:
                found.setdefault(commit.step, commit)
    return [found[step] for step in range(1, final.step)] + [final]


def check_ended(scene, without=()):
    """One final for all, with what has to be drawn, round by round by those who were there."""
    step, flags, _, counts, ssd, _, missing = scene.final()
    run = read_run(scene.record())
    assert (step, flags, ssd, max(counts)) == (run.max_steps, FINAL, 0, 0)
    assert scene.session(min(scene.bus.nodes)).ids(missing) == [
        node for node in run.members if node in without
    ]
    session = scene.session(min(scene.bus.nodes))
    present = [session.ids(commit.contributors) for commit in chain(scene)]
    assert scene.drawn(min(scene.bus.nodes)) == scene.expected(present)
    assert check_draws(scene) >= run.max_steps
    return present


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


def test_loss_doubles_and_delays_change_nothing():
    partial = 0
    for seed in range(6):
        loss, double, delay = ((40, 0, 0), (0, 50, 60), (30, 30, 30))[seed % 3]
        scene = new_scene()
        scene.bus.faults(seed, loss, double, delay, seed >= 3)
        scene.finish()
        missing = scene.session(1).ids(scene.final()[-1])
        partial += missing != []
        check_ended(scene, missing)
        if not missing:
            assert scene.drawn(1) == scene.expected()
    assert partial <= 1


def test_any_order_of_the_messages():
    for seed in range(4):
        scene = new_scene()
        scene.bus.shuffle(seed)
        check_ended(scene.finish())
        assert scene.drawn(1) == scene.expected()


def test_power_cuts():
    """A leaf, an inner node and the root lose their power and come back, in a lossy network too: the same draw."""
    for victim, events, seed in ((1, 10, None), (2, 25, None), (ROOT, 30, None), (9, 40, 3), (2, 50, 4)):
        scene = new_scene()
        bus = scene.bus
        if seed is not None:
            bus.faults(seed, loss=20, double=10, delay=20, everything=True)
        scene.start()
        for _ in range(events):
            bus.step()
        assert not bus.all_done(), (victim, events)
        bus.kill(victim)
        bus.run_for(250)
        bus.boot(victim)
        assert bus.run(bus.all_done, 20000), (victim, events, scene.told())
        bus.settle()
        check_ended(scene)
        assert scene.drawn(1) == scene.expected(), (victim, events)


def test_what_a_dead_node_gave_stays():
    """Every victim at any time, the root too: commits say whose points these are, and who offered in which round."""
    kept = 0
    for victim in (1, 2, ROOT, 7):
        for events in (25, 45, 65):
            scene = new_scene(k=7)
            bus = scene.bus
            scene.start()
            for _ in range(events):
                bus.step()
            bus.kill(victim)
            assert bus.run(bus.all_done, 20000), (victim, events, scene.told())
            bus.settle()
            present = check_ended(scene, [victim])
            assert victim in present[0] or events == 25, (victim, events, present)
            kept += victim in [owner for owner, _ in scene.drawn(5)]
    assert kept >= 3, kept


def test_a_node_that_was_away_offers_again():
    """In some orders of the messages it is back before the last round: it weighs by all that was drawn without it."""
    back = 0
    for seed in range(4):
        scene = new_scene(LINE, k=12)
        bus = scene.bus
        bus.shuffle(seed)
        scene.start()
        while not scene.held(1):
            bus.step()
        bus.kill(3)
        assert bus.run(lambda scene=scene: scene.held(1).missing != 0, 20000)
        bus.boot(3)
        assert bus.run(bus.all_done, 20000), scene.told()
        bus.settle()
        present = check_ended(scene, [3])
        assert [at for at in present if 3 not in at], (seed, present)
        back += 3 in present[-1]
    assert back, present


def test_a_clustering_goes_on_from_it():
    """The draw is in the record of the run that follows, in `gossip` as in `tree`."""
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


class Broken:
    """Blocks of which the second is damaged."""

    def __init__(self, blocks):
        self.blocks = blocks

    def __len__(self):
        return 2

    def __getitem__(self, number):
        return self.blocks[number]

    def __iter__(self):
        yield self.blocks[0]
        raise DataError("block 1 of data.bin is damaged")


def test_a_damaged_block():
    """The node leaves before it says an offer of it; the others end without it, and what it gave in round 0 stays."""
    scene = new_scene(STAR)
    bus = scene.bus
    points = scene.points(3)
    points.blocks = Broken(points.blocks)
    bus.points[3] = points
    bus.kill(3)
    bus.boot(3)
    bus.settle()
    scene.start()
    others = [node for node in STAR if node != 3]
    assert bus.run(lambda: all(scene.session(node) and scene.session(node).done for node in others))
    bus.settle()
    assert scene.status(3)["problem"] == "the data can't be read: block 1 of data.bin is damaged"
    session = scene.session(1)
    present = [session.ids(commit.contributors) for commit in chain(scene)]
    assert 3 in present[0] and not [at for at in present[1:] if 3 in at]
    assert scene.drawn(1) == scene.expected(present)


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
