"""What a node says of itself, and when it begins to act: boot, status, results, twins."""

from json import dumps, loads

from bus import make_points
from scenes import DATASET, SQUARE, Scene, cloud

from dcka_core.actions import PUBLISH, UNSUBSCRIBE
from dcka_core.node import Node
from dcka_core.record import read_rows

TREE = {1: 0, 2: 1, 3: 1}
STATUS = "dcka/t/status/2"
# docs/protocol.md, section 7.
STATUS_KEYS = [
    "v",
    "node",
    "boot",
    "state",
    "run",
    "step",
    "kind",
    "prepared",
    "dataset",
    "rows",
    "heap",
    "free",
    "max_message",
    "firmware",
    "runtime",
    "dropped",
    "nonce",
    "ledger",
]
STEP_KEYS = ["v", "run", "node", "step", "ssd", "flags"]
GOSSIP_STEP_KEYS = STEP_KEYS + ["moved", "slots", "centres", "put"]
RESULT_KEYS = [
    "v",
    "run",
    "node",
    "steps",
    "converged",
    "ssd",
    "sent",
    "bytes",
    "heard",
    "slots",
    "heap",
    "ms",
    "flags",
    "missing",
    "boot",
    "ledger",
]


def new_scene(links=TREE, **settings):
    ids = (1, 2, 3) if links is TREE else (1, 2, 3, 4)
    return Scene({node: cloud(node, 6 + node) for node in ids}, links, **settings)


def new_node(boot=1):
    return Node("t", 2, boot, 55, None, b"", 4096, "test", lambda: (11, 22))


def said(actions, topic=STATUS):
    """What actions publish on a topic, parsed."""
    return [loads(action[2]) for action in actions if action[0] == PUBLISH and action[1] == topic]


def settled_node():
    """A node whose first status has come back."""
    node = new_node()
    own = said(node.connected(0))[0]
    node.receive(STATUS, dumps(own).encode(), 0)
    return node


def test_what_a_node_listens_to():
    own = ["dcka/t/run", "dcka/t/rows/2", "dcka/t/put/2", "dcka/t/status/2"]
    assert new_node().standing_topics() == own + ["dcka/t/commit/+"]
    assert settled_node().standing_topics() == own


def test_rows_that_came_with_the_firmware_are_listened_to_from_the_start():
    """The first run's rows then ask for nothing new, and those that are older in their run's number count no more."""
    scene = Scene({1: cloud(1, 9), 2: cloud(2, 9)}, {1: 0, 2: 1})
    bus = scene.bus
    for node in (1, 2):
        bus.nodes[node].listen(read_rows(scene.rows(0)[node]))
        bus.perform(node, bus.nodes[node].connected(bus.now))
    bus.settle()
    before = [list(bus.topics[node]) for node in (1, 2)]
    assert "dcka/t/x/0/2" in before[0] and "dcka/t/commit/1" in before[1]
    assert scene.status(1)["prepared"] == 0
    scene.prepare()
    assert [list(bus.topics[node]) for node in (1, 2)] == before
    assert scene.status(1)["prepared"] == 1
    expected = Scene(scene.data, scene.links).finish().final()
    assert scene.finish().final() == expected


def test_the_will():
    topic, payload = new_node(7).will()
    assert topic == STATUS
    assert loads(payload) == {"v": 1, "node": 2, "boot": 7, "state": "offline", "nonce": 55}


def test_a_status_is_retained_and_says_what_a_node_has():
    node = new_node(7)
    node.data_loaded(make_points(2, 15, DATASET, [9, 9], [1, 2, 3, 4]), 0)
    actions = node.connected(0)
    assert [action[3] for action in actions if action[0] == PUBLISH] == [True]
    status = said(actions)[0]
    assert (status["v"], status["node"], status["boot"], status["nonce"], status["state"]) == (
        1,
        2,
        7,
        55,
        "ready",
    )
    assert (status["dataset"], status["rows"], status["heap"], status["free"]) == (DATASET.hex(), 2, 11, 22)
    assert (status["max_message"], status["runtime"], status["prepared"], status["dropped"]) == (
        4096,
        "test",
        0,
        {},
    )


def test_the_keys_of_what_people_read():
    for links, step_keys in ((TREE, STEP_KEYS), (SQUARE, GOSSIP_STEP_KEYS)):
        scene = new_scene(links, max_steps=2, max_slots=8)
        scene.bus.log = []
        scene.finish()
        seen = 0
        for topic, payload in scene.bus.log:
            kind = topic.split("/")[2]
            if kind in ("status", "step", "result"):
                report = loads(payload)
                keys = {"status": STATUS_KEYS, "step": step_keys, "result": RESULT_KEYS}[kind]
                if kind == "status":
                    report.pop("waiting", None)
                assert sorted(report) == sorted(keys), (kind, sorted(report), sorted(keys))
                seen += kind != "status"
        assert seen >= 5


def test_a_run_in_the_status():
    scene = new_scene()
    scene.bus.log = []
    scene.finish()
    told = scene.reports("status", 2)
    states = [(status["state"], status["run"], status["prepared"], status["kind"]) for status in told]
    assert states[0] == ("ready", 0, 1, "")
    assert states[-1] == ("done", 1, 1, "tree") and ("running", 1, 1, "tree") in states
    assert told[-1]["step"] == scene.held(2).step


def test_the_result_of_a_run():
    scene = new_scene()
    scene.bus.log = []
    scene.finish()
    for node in (1, 2, 3):
        results = scene.reports("result", node)
        assert len(results) == 1
        result, held = results[0], scene.held(node)
        assert (result["steps"], result["ssd"], result["flags"]) == (held.step, held.ssd, held.flags)
        assert (
            result["converged"] and result["missing"] == [] and result["run"] == 1 and result["node"] == node
        )
        own = [(topic, payload) for topic, payload in scene.bus.log if topic.endswith("/%d" % node)]
        sent = [payload for topic, payload in own if "/x/" in topic or "/commit/" in topic]
        assert (result["sent"], result["bytes"]) == (len(sent), sum([len(payload) for payload in sent]))


def test_a_node_acts_only_when_its_own_status_has_come_back():
    """All that is retained has come by then: before, a commit may be missing (rule 2)."""
    scene = new_scene()
    node = new_node()
    node.data_loaded(scene.points(2), 0)
    own = said(node.connected(0))[0]
    node.receive("dcka/t/rows/2", dumps(scene.rows()[2]).encode(), 0)
    assert said(node.receive("dcka/t/run", dumps(scene.record()).encode(), 0), "dcka/t/x/0/2") == []
    assert node.session is None
    # What an earlier boot, or its will, has left there is not the node's own word.
    for other in ({"nonce": 54}, {"state": "offline"}, {"nonce": 54, "state": "offline"}):
        status = dict(own)
        status.update(other)
        node.receive(STATUS, dumps(status).encode(), 0)
        assert node.session is None, other
    actions = node.receive(STATUS, dumps(own).encode(), 0)
    assert node.session is not None and not node.session.done
    topics = [action[1] for action in actions]
    assert topics[0] == "dcka/t/commit/+" and actions[0][0] == UNSUBSCRIBE
    assert "dcka/t/x/0/2" in topics and "run.json" in topics
    # Once only.
    assert [action[0] for action in node.receive(STATUS, dumps(own).encode(), 0)] == []


def test_an_offline_that_is_forged_or_late_is_put_right():
    """Case C24: a will that comes after its node is back."""
    for nonce in (54, 55):
        node = settled_node()
        will = {"v": 1, "node": 2, "boot": 1, "state": "offline", "nonce": nonce}
        actions = node.receive(STATUS, dumps(will).encode(), 0)
        assert [status["state"] for status in said(actions)] == ["ready"], nonce


def test_an_emptied_status_changes_nothing():
    node = settled_node()
    assert node.receive(STATUS, b"", 0) == []
    assert node.dropped == {}


def test_a_twin_is_told():
    """Case C23: another node of the same id."""
    node = settled_node()
    twin = dict(said(new_node().connected(0))[0])
    twin["nonce"] = 99
    actions = node.receive(STATUS, dumps(twin).encode(), 0)
    assert [status.get("twin") for status in said(actions)] == [True]
    assert node.dropped == {"twin": 1}


def test_twins_do_not_answer_each_other_for_ever():
    one, two = settled_node(), Node("t", 2, 1, 99, None, b"", 4096, "test", lambda: (0, 0))
    own = said(two.connected(0))[0]
    two.receive(STATUS, dumps(own).encode(), 0)
    words = [(one, own)]
    for _ in range(20):
        if not words:
            break
        node, status = words.pop(0)
        answers = said(node.receive(STATUS, dumps(status).encode(), 0))
        words.extend([(two if node is one else one, answer) for answer in answers])
    assert words == []
    assert one.dropped and two.dropped
