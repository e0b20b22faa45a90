"""`tree` under loss, duplication, reordering, power cuts and late comers: the same final bits, or an open wait."""

from json import dumps

from scenes import FORK, LINE, Scene, cloud
from tree_laws import check_laws, kept

from dcka_core.actions import SAVE

PATIENCE_MS = 100
ROOT = 4


def new_scene(parents=FORK, **settings):
    return Scene({node: cloud(node, 8 + node) for node in parents}, parents, **settings)


EXPECTED = new_scene().finish().final()


def test_loss_doubles_and_delays_change_nothing():
    """Where the network is so bad that a root gives somebody up, the outcome says so."""
    partial = 0
    for seed in range(6):
        loss, double, delay = ((40, 0, 0), (0, 50, 60), (30, 30, 30))[seed % 3]
        scene = new_scene()
        scene.bus.trace = []
        scene.bus.faults(seed, loss, double, delay, seed >= 3)
        final = scene.finish().final()
        check_laws(scene)
        partial += final[-1] != 0
        assert final == EXPECTED or final[-1], (seed, loss, double, delay)
    assert partial <= 1


def test_a_lossy_run_takes_no_longer_than_its_patience_allows():
    """Every step ends within some patience: with 40 % loss of all messages, far fewer than 20 each."""
    scene = new_scene()
    scene.bus.faults(77, loss=40, everything=True)
    scene.finish()
    assert 0 < scene.bus.elapsed < 20 * PATIENCE_MS * EXPECTED[0], scene.bus.elapsed


def test_a_node_that_starts_late():
    """It finds the rows and the run retained; until then the others wait for it, and say so."""
    for late in (1, 2, ROOT):
        scene = new_scene()
        bus = scene.bus
        bus.kill(late)
        scene.start()
        bus.run_for(3 * PATIENCE_MS)
        assert [node for node in bus.nodes if scene.session(node).held] == [], late
        bus.boot(late)
        assert bus.run(bus.all_done), scene.told()
        assert scene.final() == EXPECTED, late


def power_cut(victim, events, away_ms, seed=None):
    """A run in which a node loses its power after so many events, and comes back after a while."""
    scene = new_scene()
    bus = scene.bus
    bus.trace = []
    if seed is not None:
        bus.faults(seed, loss=20, double=10, delay=20, everything=True)
    scene.start()
    for _ in range(events):
        bus.step()
    over = bus.all_done()
    bus.kill(victim)
    bus.run_for(away_ms)
    bus.boot(victim)
    assert bus.run(bus.all_done, 20000), (victim, events, scene.told())
    bus.settle()
    assert scene.final() == EXPECTED, (victim, events)
    check_laws(scene)
    return over


def test_a_leaf_that_loses_power():
    over = [power_cut(1, events, 250) for events in (3, 25, 50, 75)]
    assert over.count(False) >= 3, over


def test_an_inner_node_that_loses_power():
    over = [power_cut(2, events, 250) for events in (3, 25, 50, 75)]
    assert over.count(False) >= 3, over


def test_power_cuts_in_a_lossy_network():
    for seed in range(3):
        power_cut((1, 2, 9)[seed], 20 + 20 * seed, 150, seed)


def test_a_node_that_is_back_at_once_is_not_counted_twice():
    """Its sums of the step come again, of another boot: a duplicate, since they are the same readings."""
    scene = new_scene({1: 0, 2: 1, 3: 1})
    bus = scene.bus
    bus.kill(3)
    scene.start()
    bus.settle()
    bus.kill(2)
    bus.boot(2)
    bus.settle()
    assert scene.dropped(1).get("duplicate") == 1, scene.dropped(1)
    bus.boot(3)
    assert bus.run(bus.all_done)
    assert scene.final() == new_scene({1: 0, 2: 1, 3: 1}).finish().final()


def test_a_root_that_comes_back_mints_an_epoch_and_goes_on():
    """Rule 5: in epoch 0 two boots of a root could commit one step differently, so it begins another."""
    for events in (0, 30, 55):
        scene = new_scene()
        bus = scene.bus
        bus.trace = []
        scene.start()
        while scene.session(ROOT) is None:
            bus.step()
        for _ in range(events):
            bus.step()
        assert not bus.all_done(), events
        bus.kill(ROOT)
        bus.run_for(50)
        before = len(kept(scene))
        bus.boot(ROOT)
        bus.settle()
        # What it held is said again, and nothing else.
        places = [(commit.epoch, commit.step) for _, commit in kept(scene)]
        assert sorted(set(places)) == sorted(set(places[:before])), events
        assert not bus.all_done(), events
        assert bus.run(bus.all_done), scene.told()
        assert scene.final() == EXPECTED, events
        assert scene.held(ROOT).epoch == (1, ROOT, 2), scene.held(ROOT).epoch
        check_laws(scene)


def test_the_root_dies_between_flash_and_publishing():
    """What it committed is on its flash: when it is back, that is what everybody takes."""
    scene = new_scene()
    bus = scene.bus
    scene.start()
    saved = 0
    while saved < 2:
        topic, node, payload = bus.queue.pop(0)
        actions = bus.nodes[node].receive(topic, payload, bus.now)
        saves = [place for place in range(len(actions)) if actions[place][:2] == (SAVE, "commit.bin")]
        if node == ROOT and saves:
            saved += 1
            if saved == 2:
                actions = actions[: saves[0] + 1]
        bus.perform(node, actions)
    bus.kill(ROOT)
    bus.run_for(150)
    assert sorted({scene.held(node).step for node in bus.nodes}) == [1]
    bus.boot(ROOT)
    bus.run_for(3 * PATIENCE_MS)
    assert min([scene.held(node).step for node in bus.nodes]) >= 2
    assert bus.run(bus.all_done), scene.told()
    assert scene.final() == EXPECTED


def test_a_root_that_comes_back_after_the_end_still_answers():
    scene = new_scene()
    scene.finish()
    bus = scene.bus
    for node in (1, ROOT):
        bus.kill(node)
    bus.flash[1] = {"run.json": bus.flash[1]["run.json"]}
    for topic in list(bus.retained):
        if "/commit/" in topic:
            del bus.retained[topic]
    bus.boot(ROOT)
    bus.boot(1)
    assert bus.run(bus.all_done)
    assert scene.final() == EXPECTED


def test_a_missing_node_is_named_and_nothing_is_committed():
    scene = new_scene()
    bus = scene.bus
    bus.kill(9)
    bus.trace = []
    scene.start()
    bus.run_for(3 * PATIENCE_MS)
    assert kept(scene) == []
    # The subtree of 2 hasn't all of its own, and still says what it has.
    assert scene.status(ROOT)["waiting"] == [9]
    assert scene.status(2)["waiting"] == [9]
    assert scene.status(ROOT)["state"] == "running"


def test_missing_nodes_are_named_by_the_root_in_index_order():
    scene = new_scene()
    bus = scene.bus
    for node in (9, 5):
        bus.kill(node)
    scene.start()
    bus.run_for(4 * PATIENCE_MS)
    members = scene.record()["members"]
    assert scene.status(ROOT)["waiting"] == [node for node in members if node in (5, 9)]


def test_waiting_ends_when_the_missing_come():
    scene = new_scene()
    bus = scene.bus
    bus.kill(9)
    scene.start()
    bus.run_for(3 * PATIENCE_MS)
    bus.boot(9)
    assert bus.run(bus.all_done)
    bus.settle()
    for node in bus.nodes:
        assert "waiting" not in scene.status(node), scene.status(node)
    assert scene.final() == EXPECTED


def test_a_link_that_fails_for_a_while():
    for node, events in ((1, 20), (2, 40), (ROOT, 33), (7, 60)):
        scene = new_scene()
        bus = scene.bus
        scene.start()
        for _ in range(events):
            bus.step()
        bus.unplug(node)
        bus.run_for(270)
        bus.plug_in(node)
        assert bus.run(bus.all_done), scene.told()
        assert scene.final() == EXPECTED, node


def test_a_broker_that_forgets_everything():
    """All links fail at once, and what was retained is gone; the host says its own again."""
    scene = new_scene()
    bus = scene.bus
    scene.start()
    for _ in range(40):
        bus.step()
    for node in FORK:
        bus.unplug(node)
    bus.retained.clear()
    bus.run_for(3 * PATIENCE_MS)
    for node in FORK:
        bus.plug_in(node)
    rows = scene.rows()
    for node in rows:
        bus.publish("dcka/t/rows/%d" % node, dumps(rows[node]), True)
    bus.publish("dcka/t/run", dumps(scene.record()), True)
    assert bus.run(bus.all_done), scene.told()
    assert scene.final() == EXPECTED


def test_a_node_without_flash_finds_its_run_by_the_neighbours():
    """A board whose flash was wiped, but not its boot count: it starts from the furthest retained commit."""
    scene = new_scene(LINE)
    bus = scene.bus
    scene.start()
    while scene.held(4) is None:
        bus.step()
    bus.kill(4)
    bus.flash[4] = {}
    bus.boot(4)
    assert bus.run(bus.all_done), scene.told()
    assert scene.final() == new_scene(LINE).finish().final()
