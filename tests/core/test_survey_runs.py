"""Surveys on a bus: every node ends with the same grid, and with its readings on it, whatever is lost or dies."""

from array import array
from json import dumps

from bus import make_readings
from scenes import DATASET, FORK, LINE, STAR
from survey_scenes import LOWEST, SurveyScene, spread

from dcka_core.actions import MAKE
from dcka_core.bounds import message_bound
from dcka_core.errors import CoreError, DataError
from dcka_core.messages import CONVERGED, FINAL, REMOVE, read_commit
from dcka_core.record import read_run

PATIENCE_MS = 100
ROOT = 4


def new_scene(parents=FORK, counts=12, **settings):
    data = {node: spread(node, counts + node) for node in parents}
    scene = SurveyScene(data, parents, **settings)
    scene.bus.trace = []
    return scene


def makes(scene, node):
    """How often a node asked for its points."""
    return len([1 for who, action in scene.bus.trace if who == node and action[0] == MAKE])


def check_ended(scene, without=()):
    """One final for all, the ends those of the readings, and at every node its readings on the grid that follows."""
    step, flags, _, counts, ssd, _, missing = scene.final()
    run = read_run(scene.record())
    assert step == run.max_steps and ssd == 0
    # Neither converged nor a cluster without mass.
    assert flags == FINAL
    assert scene.session(min(scene.data)).ids(missing) == [node for node in run.members if node in without]
    present = sum([len(scene.data[node]) for node in scene.data if node not in without])
    assert counts[0] == present // scene.n
    for node in scene.bus.nodes:
        assert scene.found(node) == scene.expected(without), node
        check_points(scene, node)


def check_points(scene, node):
    """A node holds its readings on the grid of its commit, and says so."""
    grid = scene.grid(node)
    values = scene.data[node]
    out = array("H", bytes(2 * max(1, len(values))))
    grid.quantise(array("i", values), 0, len(values) // scene.n, out)
    assert scene.levels(node) == list(out)[: len(values)], node
    points = scene.bus.nodes[node].points
    assert (points.dataset, points.bits) == (grid.dataset(DATASET), 11)
    assert points.extents == grid.extents
    status = scene.status(node)
    assert status["state"] == "done" and status["kind"] == "survey", status
    assert status["dataset"] == grid.dataset(DATASET).hex()
    assert status["readings"] == DATASET.hex()
    assert status["data"] == points.digest.hex()[:16]
    assert status["clipped"] == grid.clipped
    assert "problem" not in status, status


def test_every_node_has_the_range_of_all_and_its_points_on_the_grid():
    for parents, bins, tail_ppm, scale in (
        (FORK, 16, 0, "minmax"),
        (LINE, 4, 50000, "one"),
        (STAR, 2, 499999, "minmax"),
        (FORK, 16, 50000, "std"),
        ({7: 0}, 4, 0, "std"),
    ):
        scene = new_scene(parents, bins=bins, tail_ppm=tail_ppm, scale=scale).finish()
        check_ended(scene)
        assert [makes(scene, node) for node in parents] == [1] * len(parents), bins


def test_a_spike_takes_nobody_s_resolution():
    """One reading far out: with tails it is clipped, and the grid is about as wide as without it."""
    plain = new_scene(LINE, tail_ppm=50000).finish()
    for tail_ppm, within in ((50000, True), (0, False)):
        spiked = new_scene(LINE, tail_ppm=tail_ppm)
        spiked.data[1][-1] = 1 << 30
        spiked.bus.readings[1] = (DATASET, spiked.opener(2, spiked.data[1]))
        check_ended(spiked.finish())
        assert (spiked.grid(1).width[1] < 3 * plain.grid(1).width[1]) == within
        assert (spiked.status(1)["clipped"][1] > 0) == within


def test_nodes_with_few_readings_or_none():
    data = {1: [], 2: spread(2, 1), 3: [], 4: spread(4, 3)}
    for scale in ("one", "std"):
        scene = SurveyScene(data, LINE, scale=scale).finish()
        check_ended(scene)
    empty = SurveyScene({1: [], 2: []}, {1: 0, 2: 1}, scale="std").finish()
    check_ended(empty)
    assert empty.found(1) == [(LOWEST, LOWEST)] * 2 and empty.grid(1).width == [1, 1]


def test_loss_doubles_and_delays_change_nothing():
    partial = 0
    for seed in range(6):
        loss, double, delay = ((40, 0, 0), (0, 50, 60), (30, 30, 30))[seed % 3]
        scene = new_scene(scale="std", tail_ppm=30000)
        scene.bus.faults(seed, loss, double, delay, seed >= 3)
        scene.finish()
        missing = scene.final()[-1]
        partial += missing != 0
        if not missing:
            check_ended(scene)
        for node in scene.bus.nodes:
            check_points(scene, node)
    assert partial <= 1


def test_any_order_of_the_messages():
    for seed in range(3):
        scene = new_scene(bins=4)
        scene.bus.shuffle(seed)
        check_ended(scene.finish())


def test_power_cuts():
    """A leaf, an inner node and the root lose their power and come back, in a lossy network too."""
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


def test_a_node_that_is_away_is_missing_and_takes_the_grid_when_it_is_back():
    scene = new_scene()
    scene.bus.kill(5)
    scene.finish()
    check_ended(scene, [5])
    scene.bus.boot(5)
    assert scene.bus.run(scene.bus.all_done)
    scene.bus.settle()
    check_ended(scene, [5])
    assert makes(scene, 5) == 1


def test_members_that_go_in_mid_survey():
    """Who is no longer in the later steps shifts the ends; the nodes agree all the same."""
    for events in (20, 40, 60):
        scene = new_scene(bins=4, scale="std", tail_ppm=20000)
        scene.start()
        for _ in range(events):
            scene.bus.step()
        scene.bus.kill(2)
        assert scene.bus.run(scene.bus.all_done, 20000), scene.told()
        scene.bus.settle()
        low, high = scene.final()[2][:2], scene.found(1)
        assert scene.final()[-1] and low, events
        for pair in high:
            assert LOWEST <= pair[0] <= pair[1], (events, pair)
        for node in scene.bus.nodes:
            check_points(scene, node)


def test_a_power_cut_while_the_points_are_made():
    """The final is on flash: after the boot the node makes them anew, once."""
    scene = new_scene(STAR)
    bus = scene.bus
    kept = bus.make
    cut = []

    def make(node, grid, readings):
        if node == 3 and not cut:
            cut.append(node)
        else:
            kept(node, grid, readings)

    bus.make = make
    scene.finish()
    assert cut == [3] and bus.nodes[3].points is None
    assert scene.status(3)["dataset"] == "" and "clipped" not in scene.status(3)
    bus.kill(3)
    bus.boot(3)
    assert bus.run(bus.all_done)
    bus.settle()
    check_ended(scene)
    assert makes(scene, 3) == 2


def test_points_are_made_once():
    """After a boot a node holds what it made, and what was injected since stays."""
    scene = new_scene(STAR)
    scene.finish()
    bus = scene.bus
    for replaced in (False, True):
        if replaced:
            bus.points[2] = make_readings(2, b"injected", [1, 2])
        before = bus.points[2]
        bus.kill(2)
        bus.boot(2)
        assert bus.run(bus.all_done)
        bus.settle()
        assert makes(scene, 2) == 1 and bus.nodes[2].points is before
        # Of other points a survey's clipping says nothing.
        assert ("clipped" in scene.status(2)) == (not replaced), replaced


def test_a_greater_final_makes_the_points_anew():
    """A partial outcome is replaced by a full one (rule 12): readings are opened again, and another grid follows."""
    scene = new_scene(STAR)
    scene.bus.kill(4)
    scene.finish()
    held = scene.held(2)
    run = read_run(scene.record())
    whole = read_commit(held.encode(run), run)
    whole.sender = 1
    whole.contributors, whole.missing = 15, 0
    whole.centres[0] -= 1
    scene.bus.publish("dcka/t/commit/1", bytes(whole.encode(run)))
    scene.bus.settle()
    for node in (2, 3):
        assert makes(scene, node) == 2 and scene.held(node).missing == 0
        assert scene.found(node)[0][0] == scene.expected([4])[0][0] - 65536
        check_points(scene, node)


def test_what_is_wrong_with_the_points_is_told_beside_readings():
    """At boot: that there are readings says nothing of a data file that can't be read."""
    scene = new_scene(STAR)
    node = scene.bus.nodes[2]
    scene.bus.perform(2, node.data_failed("the data can't be read: cut short", scene.bus.now))
    scene.bus.perform(2, node.readings_held(DATASET, scene.bus.readings[2][1], scene.bus.now))
    assert scene.status(2)["problem"] == "the data can't be read: cut short"


def test_a_node_without_readings_stays_out():
    scene = new_scene(STAR)
    del scene.bus.readings[3]
    scene.bus.kill(3)
    scene.bus.boot(3)
    scene.bus.settle()
    scene.start()
    done = [node for node in STAR if node != 3]
    assert scene.bus.run(lambda: all(scene.session(node) and scene.session(node).done for node in done))
    scene.bus.settle()
    assert scene.status(3)["problem"] == "no readings" and "readings" not in scene.status(3)
    assert scene.found(1) == scene.expected([3])


def test_readings_that_cannot_be_read_or_are_others():
    def damaged():
        raise CoreError("block 3 of readings.bin is damaged")

    for load, problem in (
        (damaged, "block 3 of readings.bin is damaged"),
        (lambda: make_readings(2, b"another!", [1, 2]), "data of another dataset"),
    ):
        scene = new_scene(STAR)
        node = scene.bus.nodes[2]
        scene.bus.perform(2, node.readings_held(DATASET, load, scene.bus.now))
        scene.start()
        scene.bus.settle()
        assert scene.status(2)["problem"] == problem
        assert scene.session(2) is None and scene.bus.nodes[2].points is None


class Broken:
    """Blocks of which the second is damaged."""

    def __init__(self, blocks):
        self.blocks = blocks

    def __iter__(self):
        yield self.blocks[0]
        raise DataError("block 1 of readings.bin is damaged")


def test_a_damaged_block_of_readings():
    """The node leaves before it says a count of them; what it holds of points stays, and the others end without it."""
    scene = new_scene(STAR)

    def load():
        readings = make_readings(2, DATASET, scene.data[3])
        readings.blocks = Broken(readings.blocks)
        return readings

    bus = scene.bus
    bus.points[3] = make_readings(2, b"earlier.", [1, 2])
    bus.readings[3] = (DATASET, load)
    bus.kill(3)
    bus.boot(3)
    bus.settle()
    bus.log = []
    scene.start()
    others = [node for node in STAR if node != 3]
    assert bus.run(lambda: all(scene.session(node) and scene.session(node).done for node in others))
    bus.settle()
    assert [topic for topic, _ in bus.log if topic == "dcka/t/x/0/3"] == []
    status = scene.status(3)
    assert status["problem"] == "the data can't be read: block 1 of readings.bin is damaged"
    assert status["dataset"] == b"earlier.".hex() and bus.nodes[3].session is None
    assert scene.found(1) == scene.expected([3])


def test_readings_are_forgotten_when_the_data_are_removed():
    scene = new_scene(STAR)
    scene.bus.publish("dcka/t/put/2", bytes([1 << 4 | REMOVE, 1, 2, 3, 4]))
    scene.bus.settle()
    assert "readings" not in scene.status(2) and scene.status(1)["readings"] == DATASET.hex()


def test_a_clustering_on_the_points_that_were_made():
    """The next run takes them, and what the survey told of them is of the past."""
    scene = new_scene(LINE)
    scene.finish()
    bus = scene.bus
    dataset = scene.grid(1).dataset(DATASET)
    rows = scene.rows(2)
    for node in rows:
        bus.publish("dcka/t/rows/%d" % node, dumps(rows[node]), True)
    bus.settle()
    record = scene.record(2, kind="tree", dataset=dataset.hex(), k=3, init="shared", seed=1, max_steps=50)
    bus.publish("dcka/t/run", dumps(record), True)
    bus.settle()
    assert bus.run(bus.all_done)
    bus.settle()
    for node in LINE:
        assert scene.held(node).flags == FINAL | CONVERGED, scene.held(node).flags
        status = scene.status(node)
        assert status["kind"] == "tree" and "clipped" not in status


def test_the_clipped_of_many_dimensions_are_told_as_one_number():
    for n, told in ((16, 16), (17, 1)):
        data = {1: spread(1, 40, n=1) * n, 2: spread(2, 40, n=1) * n}
        scene = SurveyScene(data, {1: 0, 2: 1}, n=n, tail_ppm=100000).finish()
        clipped = scene.grid(2)
        assert len(scene.status(2)["clipped"]) == told, n
        assert sum(scene.status(2)["clipped"]) > 0 and clipped.clipped == [0] * n


def test_no_message_is_beyond_the_bound():
    for bins in (2, 4, 16):
        scene = new_scene(LINE, scale="std", bins=bins, counts=100)
        scene.bus.trace = None
        scene.bus.log = []
        scene.finish()
        bound = message_bound(read_run(scene.record()))
        sizes = [len(payload) for topic, payload in scene.bus.log if topic.split("/")[2] in ("x", "commit")]
        assert bound // 4 < max(sizes) <= bound, (bins, max(sizes), bound)
