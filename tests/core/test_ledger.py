"""The ledger: what a node counts is what the bus saw, whatever is lost on the way, from its boot on."""

from bus import Bus
from scenes import FORK, LINE, SWITCHED, Scene, cloud

SLOTS, ASSOCIATIONS, BROADCASTS, SENT, HEARD, HEARD_BYTES, COMPUTING = range(7)
CONSENSUS = ("x", "epoch", "commit")


class CountingBus(Bus):
    """Counts by node, from its last boot, what is said on the topics of the consensus, and what comes to it there."""

    def __init__(self):
        super().__init__()
        self.counts = {}

    def boot(self, node):
        self.counts[node] = [0] * 7
        super().boot(node)

    def publish(self, topic, payload, retain=False):
        kind = topic.split("/")[2]
        if kind in CONSENSUS:
            mine = self.counts[int(topic.split("/")[-1])]
            mine[BROADCASTS] += 1
            mine[SENT] += len(payload)
        super().publish(topic, payload, retain)

    def next_message(self):
        topic, node, payload = super().next_message()
        if topic.split("/")[2] in CONSENSUS and node in self.nodes:
            mine = self.counts[node]
            mine[HEARD] += 1
            mine[HEARD_BYTES] += len(payload)
        return topic, node, payload


def scene_of(links, ids, **settings):
    return Scene({node: cloud(node, 6 + node) for node in ids}, links, bus=CountingBus(), **settings)


def counted(scene, node):
    """What the bus has counted, with the slots, which only the node knows."""
    expected = list(scene.bus.counts[node])
    expected[SLOTS] = scene.bus.nodes[node].ledger[SLOTS]
    return expected


def check(scene):
    for node in scene.bus.nodes:
        assert scene.bus.nodes[node].ledger == counted(scene, node), node


def test_it_is_what_the_bus_saw_in_every_run_with_faults_and_without():
    for links, ids in ((LINE, LINE), (FORK, FORK), (SWITCHED, (1, 2, 3, 4))):
        for loss in (0, 20):
            scene = scene_of(links, ids, window=2, max_slots=200)
            if loss:
                scene.bus.faults(3, loss, 10, 10)
            for number in (1, 2):
                scene.finish(number)
                check(scene)
            ledgers = [scene.bus.nodes[node].ledger for node in ids]
            assert min([ledger[BROADCASTS] for ledger in ledgers]) > 0
            assert [one for one in ledgers if bool(one[SLOTS]) == (scene.kind == "tree")] == []


def test_what_is_sent_is_heard_by_all_who_listen():
    """Two nodes of gossip: each hears all that the other sends on its x topic."""
    scene = scene_of([[(1, 2)]], (1, 2), window=1)
    scene.bus.log = []
    scene.finish()
    for node, other in ((1, 2), (2, 1)):
        shares = [payload for topic, payload in scene.bus.log if topic == "dcka/t/x/0/%d" % other]
        ledger = scene.bus.nodes[node].ledger
        assert (ledger[HEARD], ledger[HEARD_BYTES]) == (len(shares), sum([len(one) for one in shares]))


def test_a_result_has_what_its_run_has_cost():
    scene = scene_of(FORK, FORK)
    scene.bus.log = []
    for number in (1, 2, 3):
        before = {node: list(scene.bus.nodes[node].ledger) for node in FORK}
        scene.finish(number)
        for node in FORK:
            result = scene.reports("result", node)[-1]
            ledger = result["ledger"]
            # It is the last word but one: the commits that neighbours say after it are in the next run's.
            now = scene.bus.nodes[node].ledger
            assert ledger[:HEARD] == [now[place] - before[node][place] for place in range(HEARD)], (
                number,
                node,
            )
            assert result["run"] == number and result["boot"] == 1
            named = [result[name] for name in ("slots", "sent", "bytes", "heard")]
            assert named == [ledger[place] for place in (SLOTS, BROADCASTS, SENT, HEARD)]
            assert ledger[HEARD_BYTES] > 0 and len(ledger) == 7


def test_a_status_has_the_whole_of_its_boot():
    scene = scene_of(SWITCHED, (1, 2, 3, 4))
    scene.finish(1)
    first = list(scene.bus.nodes[1].ledger)
    scene.finish(2)
    # The next heartbeat says it all; after a result neighbours may have been answered.
    assert scene.bus.run_for(10001)
    told = scene.status(1)["ledger"]
    assert told == counted(scene, 1)
    assert told[BROADCASTS] > first[BROADCASTS] and told[SLOTS] > first[SLOTS]


def test_a_node_that_reboots_begins_anew_and_says_so_by_its_boot():
    scene = scene_of(LINE, LINE)
    scene.start()
    while scene.held(2) is None or scene.held(2).step < 2:
        scene.bus.step()
    spent = scene.bus.nodes[2].ledger[SENT]
    assert (scene.status(2)["boot"], spent > 0) == (1, True)
    scene.bus.kill(2)
    scene.bus.boot(2)
    assert (scene.status(2)["boot"], scene.status(2)["ledger"]) == (2, [0] * 7)
    scene.bus.log = []
    assert scene.bus.run(scene.bus.all_done, 20000)
    scene.bus.settle()
    check(scene)
    result = scene.reports("result", 2)[-1]
    assert result["boot"] == scene.status(2)["boot"] == 2
    assert 0 < result["bytes"] <= scene.bus.nodes[2].ledger[SENT]


def test_messages_of_no_use_were_heard_all_the_same():
    scene = scene_of(LINE, LINE)
    scene.finish()
    node = scene.bus.nodes[2]
    before = list(node.ledger)
    for topic, payload in (("x/0/3", b"\x00"), ("commit/1", b"\x12"), ("epoch/4", b""), ("x/0/99", b"abc")):
        node.receive("dcka/t/" + topic, payload, scene.bus.now)
    node.receive("dcka/t/rows/2", b"{}", scene.bus.now)
    node.receive("dcka/t/status/2", b"{}", scene.bus.now)
    spent = [node.ledger[place] - before[place] for place in range(7)]
    assert spent == [0, 0, 0, 0, 4, 5, 0]


def test_what_the_shell_counts_is_handed_on():
    scene = scene_of(LINE, LINE)
    node = scene.bus.nodes[3]
    node.ledger[ASSOCIATIONS] = 4
    scene.prepare()
    node.ledger[ASSOCIATIONS] += 2
    node.ledger[COMPUTING] += 35
    scene.bus.log = []
    scene.finish()
    assert scene.status(3)["ledger"][ASSOCIATIONS] == 6
    result = scene.reports("result", 3)[-1]["ledger"]
    assert (result[ASSOCIATIONS], result[COMPUTING]) == (2, 35)
