"""Seedings in networks that lose, double and mix up messages, and where nodes and roots die: what was drawn stays."""

from scenes import LINE, STAR
from seeding_scenes import check_draws, new_scene

from dcka_core.actions import SAVE
from dcka_core.errors import DataError
from dcka_core.messages import FINAL, read_commit
from dcka_core.record import read_run
from dcka_core.session import COMMIT_FILE

ROOT = 4


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


def test_loss_doubles_and_delays_change_nothing():
    partial = 0
    for seed in range(4):
        loss, double, delay = ((40, 0, 0), (0, 50, 60), (30, 30, 30))[seed % 3]
        scene = new_scene()
        scene.bus.faults(seed, loss, double, delay, seed >= 2)
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
    for victim in (1, ROOT, 7):
        for events in (25, 65):
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
    assert kept >= 2, kept


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


def test_a_commit_of_what_is_no_point():
    """Its numbers have 16 bits, for ids; a centre has those of the grid, or no reading of it can have been drawn."""
    scene = new_scene()
    scene.start()
    for _ in range(40):
        scene.bus.step()
    session = scene.session(1)
    run = session.run
    commit = session.held
    assert commit and session.is_lawful(commit)
    commit.centres[0] = 1 << run.data_bits
    assert commit.centres[0] < 1 << run.bits and not session.is_lawful(commit)
    commit.centres[0] -= 1
    assert session.is_lawful(commit)
