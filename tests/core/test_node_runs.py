"""Which run a node acts in, and with which data; what it does with the others."""

from json import dumps, loads

from bus import make_points
from scenes import DATASET, Scene, cloud

from dcka_core.actions import PUBLISH, SAVE, SUBSCRIBE, UNSUBSCRIBE
from dcka_core.node import Node

TREE = {1: 0, 2: 1, 3: 1}
STATUS = "dcka/t/status/2"


def new_scene(**settings):
    return Scene({node: cloud(node, 6 + node) for node in TREE}, TREE, **settings)


def said(actions):
    """What actions publish as status of node 2, parsed."""
    return [loads(action[2]) for action in actions if action[0] == PUBLISH and action[1] == STATUS]


def settled_node():
    """Node 2, whose first status has come back."""
    node = Node("t", 2, 1, 55, None, b"", 4096, "test", lambda: (0, 0))
    node.receive(STATUS, dumps(said(node.connected(0))[0]).encode(), 0)
    return node


def test_idle_ends_a_run():
    scene = new_scene()
    bus = scene.bus
    scene.start()
    while scene.session(2) is None:
        bus.step()
    bus.trace = []
    bus.publish("dcka/t/run", dumps({"v": 1, "run": 2, "kind": "idle"}), True)
    bus.settle()
    for node in TREE:
        assert scene.session(node) is None
        assert scene.status(node)["state"] == "ready"
        assert [topic for topic in bus.topics[node] if "/x/" in topic or "/commit/" in topic] == []
    # Its number is used up.
    scene.start(2)
    bus.settle()
    assert scene.session(1) is None
    scene.finish(3)
    assert scene.final() == new_scene().finish().final()


def test_an_older_run_is_ignored():
    scene = new_scene()
    scene.finish(5)
    expected = scene.final()
    node = scene.bus.nodes[2]
    for number in (1, 4):
        before = node.dropped.get("run", 0)
        node.receive("dcka/t/rows/2", dumps(scene.rows(number)[2]).encode(), 0)
        assert node.receive("dcka/t/run", dumps(scene.record(number)).encode(), 0) == []
        assert node.dropped["run"] == before + 1
    assert node.receive("dcka/t/run", dumps(scene.record(5)).encode(), 0) == []
    assert scene.final() == expected and scene.session(2).run.number == 5


def test_only_the_greatest_run_that_was_seen_counts():
    scene = new_scene()
    node = settled_node()
    node.data_loaded(scene.points(2), 0)
    node.receive("dcka/t/rows/2", dumps(scene.rows(4)[2]).encode(), 0)
    node.receive("dcka/t/run", dumps(scene.record(5)).encode(), 0)
    node.receive("dcka/t/run", dumps(scene.record(4)).encode(), 0)
    assert node.session is None and node.dropped == {"run": 1}
    node.receive("dcka/t/rows/2", dumps(scene.rows(5)[2]).encode(), 0)
    assert node.session.run.number == 5


def test_rows_and_run_in_either_order():
    scene = new_scene()
    rows = ("dcka/t/rows/2", dumps(scene.rows()[2]).encode())
    run = ("dcka/t/run", dumps(scene.record()).encode())
    for order in ((rows, run), (run, rows), (rows, rows, run, run), (run, run, rows)):
        node = settled_node()
        node.data_loaded(scene.points(2), 0)
        for topic, payload in order:
            node.receive(topic, payload, 0)
        assert node.session.run.number == 1 and node.dropped == {}


def test_a_newer_run_takes_the_place_of_one_that_goes_on():
    scene = new_scene()
    scene.start(1)
    while scene.session(2) is None:
        scene.bus.step()
    scene.finish(2, seed=9)
    assert scene.final() == new_scene(seed=9).finish().final()


def test_a_run_subscribes_to_what_its_rows_name():
    scene = new_scene()
    scene.bus.trace = []
    scene.prepare(1)
    asked = [action[1] for node, action in scene.bus.trace if node == 1 and action[0] == SUBSCRIBE]
    expected = ["dcka/t/%s" % name for name in ("x/0/2", "x/0/3", "epoch/2", "epoch/3")]
    assert sorted(asked) == sorted(expected)
    asked = [action[1] for node, action in scene.bus.trace if node == 2 and action[0] == SUBSCRIBE]
    assert sorted(asked) == ["dcka/t/commit/1", "dcka/t/epoch/1", "dcka/t/epoch/3"]
    assert scene.status(1)["prepared"] == 1
    scene.kind, scene.links = "gossip", [[(1, 2)], [(2, 3)]]
    scene.bus.trace = []
    scene.prepare(2)
    own = [action[:2] for node, action in scene.bus.trace if node == 1 and action[0] != PUBLISH]
    gone = [topic for what, topic in own if what == UNSUBSCRIBE]
    assert sorted(gone) == ["dcka/t/epoch/2", "dcka/t/epoch/3", "dcka/t/x/0/3"]
    assert [topic for what, topic in own if what == SUBSCRIBE] == []
    assert scene.status(1)["prepared"] == 2


# ---- with which data ----


def stays_out(scene, node, why):
    """The others wait; this node says why it is not with them."""
    scene.start()
    scene.bus.run_for(250)
    assert scene.session(node) is None
    status = scene.status(node)
    assert why in status["problem"] and status["state"] == "ready", status
    assert scene.held(1) is None


def test_another_dataset_stays_out_and_joins_with_the_right_one():
    scene = new_scene()
    bus = scene.bus
    points = make_points(2, 15, b"another!", scene.extents, scene.data[3])
    bus.perform(3, bus.nodes[3].data_loaded(points, bus.now))
    stays_out(scene, 3, "another dataset")
    bus.perform(3, bus.nodes[3].data_loaded(scene.points(3), bus.now))
    assert bus.run(bus.all_done)
    bus.settle()
    assert scene.final() == new_scene().finish().final()
    assert "problem" not in scene.status(3)


def test_points_of_other_dimensions_or_bits_stay_out():
    for n, bits in ((1, 15), (2, 14)):
        scene = new_scene()
        points = make_points(n, bits, DATASET, [9] * n, [1, 2])
        scene.bus.perform(3, scene.bus.nodes[3].data_loaded(points, 0))
        stays_out(scene, 3, "another dataset")


def test_a_node_without_data_stays_out():
    scene = new_scene()
    scene.bus.nodes[3].forget_data()
    stays_out(scene, 3, "no data")


def test_a_node_that_is_no_member_stays_out():
    scene = new_scene()
    scene.bus.add(9, scene.points(3))
    scene.bus.publish("dcka/t/rows/9", dumps(dict(scene.rows()[3], parent=1)), True)
    scene.start()
    scene.bus.run(lambda: scene.session(1) is not None and scene.session(1).done)
    scene.bus.settle()
    assert scene.session(9) is None and "no member" in scene.status(9)["problem"]
    assert scene.held(1).step == new_scene().finish().held(1).step


def test_rows_of_another_kind_stay_out():
    scene = new_scene()
    node = settled_node()
    node.data_loaded(scene.points(2), 0)
    row = {"v": 1, "run": 1, "near": [1], "phases": [{"share": [[2, 1]], "hear": [[1, 0]]}]}
    node.receive("dcka/t/rows/2", dumps(row).encode(), 0)
    actions = node.receive("dcka/t/run", dumps(scene.record()).encode(), 0)
    assert node.session is None and "another kind" in said(actions)[-1]["problem"]


def test_data_that_changed_while_a_run_goes_on_stays_missing():
    """Rule 3: its earlier sums may be in already."""
    scene = new_scene()
    bus = scene.bus
    scene.start()
    while scene.session(3) is None:
        bus.step()
    bus.kill(3)
    changed = make_points(2, 15, DATASET, scene.extents, scene.data[3])
    changed.digest = bytes(32)
    bus.points[3] = changed
    bus.boot(3)
    bus.run_for(300)
    assert scene.session(3) is None
    assert "changed since run 1" in scene.status(3)["problem"]
    assert scene.status(1)["waiting"] == [3]
    # With its old data it is back.
    bus.kill(3)
    bus.points[3] = scene.points(3)
    bus.boot(3)
    assert bus.run(bus.all_done)
    assert scene.final() == new_scene().finish().final()


def test_other_data_may_come_for_the_next_run():
    scene = new_scene()
    scene.finish(1)
    data = dict(scene.data)
    scene.data = {node: cloud(node + 20, 9) for node in data}
    bus = scene.bus
    for node in data:
        bus.points[node] = scene.points(node)
        bus.perform(node, bus.nodes[node].data_loaded(bus.points[node], bus.now))
    scene.finish(2)
    assert scene.final() == Scene(scene.data, TREE).finish().final()


def test_a_failed_file_is_told():
    node = settled_node()
    actions = node.data_failed("the data can't be stored: no space", 0)
    assert [status["problem"] for status in said(actions)] == ["the data can't be stored: no space"]


def test_what_a_run_leaves_on_flash():
    scene = new_scene()
    scene.bus.trace = []
    scene.finish()
    for node in TREE:
        memory = loads(scene.bus.flash[node]["run.json"])
        assert (memory["run"], memory["boot"]) == (1, 1)
        assert memory["data"] == scene.bus.points[node].digest.hex()
        saves = [action[1] for who, action in scene.bus.trace if who == node and action[0] == SAVE]
        assert saves == ["run.json"] + ["commit.bin"] * scene.held(node).step


def test_two_networks_on_one_broker():
    scene = new_scene()
    node = scene.bus.nodes[2]
    assert node.receive("dcka/u/run", dumps(scene.record()).encode(), 0) == []
    assert node.dropped == {"stranger": 1} and node.session is None
