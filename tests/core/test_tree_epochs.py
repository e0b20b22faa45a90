"""`tree` where nodes die: epochs are minted, the rest goes on without the missing or says that it can't, and whoever
comes back is in again.
"""

from scenes import FORK, LINE, Scene, cloud, radio, shortest_tree
from tree_laws import check_laws, kept

from dcka_core.actions import SAVE
from dcka_core.messages import FINAL, read_commit
from dcka_core.record import read_run

PATIENCE_MS = 100
ROOT = 4
# Two triangles side by side, linked by 3 - 4 and by 2 - 5.
LADDER = [(1, 2), (2, 3), (1, 3), (4, 5), (5, 6), (4, 6), (3, 4), (2, 5)]
HALVES = ((1, 2, 3), (4, 5, 6))


def new_scene(parents=FORK, near=None, **settings):
    scene = Scene({node: cloud(node, 8 + node) for node in parents}, parents, near=near, **settings)
    scene.bus.trace = []
    return scene


def ladder(**settings):
    near = radio(LADDER)
    return new_scene(shortest_tree(near, 1), near, **settings)


EXPECTED = new_scene().finish().final()
LADDER_EXPECTED = ladder().finish().final()


def start_to(scene, step):
    """Start, and go on until somebody holds a commit of this step."""
    scene.start()
    assert scene.bus.run(lambda: [node for node in scene.bus.nodes if step_of(scene, node) >= step] != [])
    return scene.bus


def step_of(scene, node):
    held = scene.held(node)
    return held.step if held else 0


def finish(scene):
    """To the end; everybody who is up holds the same, and no law was broken."""
    assert scene.bus.run(scene.bus.all_done, 40000), scene.told()
    scene.bus.settle()
    check_laws(scene)
    return scene.final()


def missing(scene, node=None):
    """Who was ever missing, by id."""
    some = node or next(iter(scene.bus.nodes))
    return scene.session(some).ids(scene.held(some).missing)


def test_a_leaf_that_stays_away_is_named_and_the_rest_finishes():
    scene = new_scene()
    bus = start_to(scene, 3)
    bus.kill(9)
    finish(scene)
    assert missing(scene) == [9]
    assert scene.held(ROOT).epoch[0] > 0
    # Nobody waits for it twice: its steps cost a root's two patiences once.
    assert bus.elapsed < 60 * PATIENCE_MS, bus.elapsed


def test_who_is_missing_is_said_step_by_step():
    scene = new_scene()
    scene.bus.log = []
    bus = start_to(scene, 3)
    bus.kill(9)
    finish(scene)
    reports = scene.reports("step", ROOT)
    assert [report["step"] for report in reports] == list(range(scene.held(ROOT).step))
    lacking = [report["step"] for report in reports if report.get("missing") == [9]]
    assert lacking == list(range(lacking[0], len(reports))) and lacking[0] in (2, 3, 4)
    assert [report.get("missing", []) for report in reports[: lacking[0]]] == [[]] * lacking[0]
    assert [report for report in reports if "epoch" in report and report["epoch"][0] == 0] == []
    assert scene.reports("result", ROOT)[0]["missing"] == [9]


def test_an_inner_node_that_stays_away_takes_nobody_with_it():
    """Its subtree finds other parents: they are within reach."""
    scene = new_scene()
    bus = start_to(scene, 3)
    bus.kill(2)
    finish(scene)
    assert missing(scene) == [2]


def test_a_node_that_is_back_in_time_leaves_no_trace():
    scene = new_scene()
    bus = start_to(scene, 3)
    bus.kill(2)
    bus.run_for(3 * PATIENCE_MS)
    bus.boot(2)
    assert finish(scene) == EXPECTED


def test_a_node_that_is_back_late_contributes_again():
    scene = new_scene(max_steps=60)
    bus = start_to(scene, 2)
    bus.kill(9)
    assert bus.run(lambda: scene.held(ROOT).missing != 0)
    # The others are held up meanwhile, or they would be through before it has started.
    away = scene.held(ROOT).step
    bus.lose = lambda topic, receiver, payload: topic == "dcka/t/x/0/7"
    bus.boot(9)
    bus.run_for(2 * PATIENCE_MS)
    bus.lose = None
    finish(scene)
    everyone = (1 << len(FORK)) - 1
    later = [commit for _, commit in kept(scene) if commit.step > away + 1]
    assert later and [commit.step for commit in later if commit.contributors != everyone] == []
    assert missing(scene) == [9]


def test_a_root_that_stays_away_is_replaced():
    scene = new_scene()
    bus = start_to(scene, 3)
    bus.kill(ROOT)
    finish(scene)
    assert missing(scene) == [ROOT]
    assert scene.held(1).epoch[1] != ROOT


def test_the_root_and_one_of_its_children_stay_away():
    for child in (2, 7):
        scene = new_scene()
        bus = start_to(scene, 3)
        bus.kill(ROOT)
        bus.kill(child)
        finish(scene)
        assert sorted(missing(scene)) == sorted([ROOT, child])


def test_one_after_the_other_comes_to_be_root():
    """Each new root dies; with more than half of the nodes there, the run goes on."""
    scene = ladder(max_steps=12)
    bus = start_to(scene, 2)
    gone = []

    def roots():
        held = [scene.held(node) for node in bus.nodes]
        return [commit.epoch[1] for commit in held if commit and commit.epoch[1] in bus.nodes]

    for _ in range(2):
        assert bus.run(lambda: roots() != []), scene.told()
        gone.append(roots()[0])
        bus.kill(gone[-1])
    finish(scene)
    assert sorted(missing(scene)) == sorted(gone) and len(set(gone)) == 2


def test_half_of_the_nodes_is_not_enough():
    """The root says that it has stalled, and whom it misses; with one more it goes on."""
    scene = new_scene()
    bus = start_to(scene, 3)
    for node in (1, 9, 5):
        bus.kill(node)
    bus.run_for(40 * PATIENCE_MS)
    assert [node for node in bus.nodes if scene.session(node).done] == []
    stalled = [node for node in bus.nodes if scene.status(node).get("stalled")]
    assert stalled and [sorted(scene.status(node)["waiting"]) for node in stalled] == [[1, 5, 9]] * len(
        stalled
    )
    step = max([step_of(scene, node) for node in bus.nodes])
    assert step < EXPECTED[0]
    bus.boot(5)
    finish(scene)
    assert sorted(missing(scene)) == [1, 9]
    for node in bus.nodes:
        assert "stalled" not in scene.status(node), scene.status(node)


def test_everybody_is_back_after_a_long_stall():
    scene = new_scene()
    bus = start_to(scene, 3)
    for node in (1, 9, 5):
        bus.kill(node)
    bus.run_for(40 * PATIENCE_MS)
    for node in (1, 9, 5):
        bus.boot(node)
    assert finish(scene) == EXPECTED


def cut(bus, *parts):
    """From now on nothing gets from one part to another."""

    def lost(topic, receiver, payload):
        kind, sender = topic.split("/")[2], topic.split("/")[-1]
        if kind not in ("x", "commit", "epoch"):
            return False
        return [part for part in parts if receiver in part and int(sender) in part] == []

    bus.lose = lost


def test_two_halves_that_can_not_hear_each_other_wait_until_they_can():
    for step in (1, 3):
        scene = ladder()
        bus = start_to(scene, step)
        cut(bus, *HALVES)
        bus.run_for(30 * PATIENCE_MS)
        assert [node for node in bus.nodes if scene.session(node).done] == [], step
        roots = [node for node in bus.nodes if scene.session(node).root and scene.session(node).stalled]
        assert roots, step
        bus.lose = None
        assert finish(scene) == LADDER_EXPECTED, step


def test_the_greater_part_of_a_partition_goes_on_and_the_smaller_takes_its_result():
    scene = ladder()
    bus = start_to(scene, 2)
    cut(bus, (1, 2, 3, 4), (5, 6))
    assert bus.run(lambda: scene.session(1).done, 40000), scene.told()
    assert not scene.session(5).done and not scene.session(6).done
    bus.lose = None
    finish(scene)
    assert sorted(missing(scene)) == [5, 6]


def test_whoever_is_about_to_mint_finds_what_the_root_has_left():
    """Rule 14: a root ends the run with three of five, and nobody hears of it; but what it said is retained."""
    scene = new_scene({1: 0, 2: 1, 3: 1, 4: 1, 5: 1}, max_steps=1)
    bus = scene.bus
    bus.log = []
    cut(bus, (1, 2, 3), (4, 5))
    bus.trace = Isolates(bus, 1)
    scene.start()
    assert bus.run(bus.all_done, 40000), scene.told()
    for node in bus.nodes:
        assert sorted(missing(scene, node)) == [4, 5], node
    scene.final()
    assert check_laws(scene) == 1


def test_two_finals_that_did_not_know_of_each_other_become_one():
    """The same, but what the root said did not even come to the broker: the other four end the run without it."""
    scene = new_scene({1: 0, 2: 1, 3: 1, 4: 1, 5: 1}, max_steps=1)
    bus = scene.bus
    bus.log = []
    cut(bus, (1, 2, 3), (4, 5))
    bus.trace = Isolates(bus, 1)
    bus.watch = lambda topic, payload: bus.retained.pop("dcka/t/commit/1", None)
    scene.start()
    assert bus.run(bus.all_done, 40000), scene.told()
    bus.settle()
    assert sorted(missing(scene, 1)) == [4, 5] and missing(scene, 2) == [1]
    bus.watch = bus.lose = None
    bus.run_for(70 * PATIENCE_MS)
    bus.settle()
    assert missing(scene, 1) == [1]
    # Who has heard of a greater end says so.
    assert [sorted(report["missing"]) for report in scene.reports("result", 1)] == [[4, 5], [1]]
    assert [report["missing"] for report in scene.reports("result", 2)] == [[1]]
    scene.final()
    check_laws(scene)
    assert [node for node in bus.nodes if scene.session(node).deadline is not None] == []


class Isolates(list):
    """A trace that cuts a node off once it has put a commit on its flash, and nobody else."""

    def __init__(self, bus, node):
        super().__init__()
        self.bus = bus
        self.node = node

    def append(self, item):
        super().append(item)
        if item[0] == self.node and item[1][:2] == (SAVE, "commit.bin"):
            cut(self.bus, [self.node], [node for node in self.bus.nodes if node != self.node])


def test_a_node_that_sleeps_through_an_epoch():
    """Its link is away while the others make a new tree; when it is back, it is told, and joins."""
    for sleeper in (5, ROOT):
        scene = new_scene(max_steps=60)
        bus = start_to(scene, 2)
        bus.unplug(sleeper)
        assert bus.run(lambda scene=scene: scene.held(2).epoch[0] > 0), scene.told()
        assert scene.session(sleeper).epoch[0] == 0 or scene.session(sleeper).root
        bus.plug_in(sleeper)
        finish(scene)
        assert missing(scene) == [sleeper]
        epochs = {scene.held(node).epoch for node in bus.nodes}
        assert len(epochs) == 1


def test_a_node_that_comes_when_all_is_over_takes_the_result():
    scene = new_scene()
    bus = start_to(scene, 3)
    bus.kill(9)
    finish(scene)
    before = scene.final()
    bus.boot(9)
    assert bus.run(bus.all_done), scene.told()
    assert scene.final() == before
    assert scene.status(9)["state"] == "done"


def test_a_node_that_comes_back_takes_a_pass_before_a_later_step_that_is_none():
    """Of all retained commits only one is kept until the run's record is there, and it has to be the greatest."""
    scene = new_scene()
    scene.finish()
    bus = scene.bus
    run = read_run(scene.record())
    later = read_commit(bus.flash[9]["commit.bin"], run)
    later.step, later.flags, later.sender = later.step + 5, 0, 2
    # The node's own flash is gone, and a neighbour's last word is of a longer chain that came to nothing.
    bus.kill(9)
    bus.flash[9].pop("commit.bin")
    bus.retained["dcka/t/commit/2"] = bytes(later.encode(run))
    held = []
    bus.boot(9)
    while bus.queue:
        bus.step()
        held.append(scene.held(9) and scene.held(9).flags & FINAL)
    assert next(flags for flags in held if flags is not None) == FINAL


def test_an_epoch_names_who_is_its_root_and_in_which_boot():
    scene = new_scene()
    bus = start_to(scene, 2)
    bus.kill(ROOT)
    bus.boot(ROOT)
    finish(scene)
    epoch = scene.held(1).epoch
    assert epoch[0] >= 1 and epoch[2] == bus.boots[epoch[1]]


def test_without_faults_nobody_mints_however_long_it_takes():
    scene = new_scene(LINE)
    bus = scene.bus
    bus.log = []
    bus.kill(3)
    scene.start()
    bus.settle()
    bus.boot(3)
    finish(scene)
    assert scene.held(1).epoch == (0, 1, 0)
    assert [topic for topic, _ in bus.log if "/epoch/" in topic] == []
