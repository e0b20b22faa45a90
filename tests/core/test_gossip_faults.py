"""`gossip` under loss, duplication, reordering and power cuts: everybody ends, and what is decided is right."""

from gossip_inputs import LEVELS, Inputs, errors
from plain_kmeans import distance, tuples
from scenes import SQUARE, SWITCHED, Scene, cloud

from dcka_core.actions import PUBLISH
from dcka_core.messages import CONVERGED, FINAL, UNDECIDED, peek_commit

PAIR = [[(1, 2)]]
PATIENCE_MS = 100
TOLERANCE = 300 * LEVELS


def new_scene(phases=SQUARE, **settings):
    ids = sorted({node for phase in phases for link in phase for node in link})
    given = {"k": 2, "window": 2 * len(phases), "tolerance": TOLERANCE, "max_steps": 3, "max_slots": 60}
    given.update(settings)
    return Scene({node: cloud(node, 6 + node) for node in ids}, phases, **given)


def decided(scene):
    """(node, report) of every step that a node has ended with a decision of its own."""
    return [
        (node, report)
        for node in scene.data
        for report in scene.reports("step", node)
        if not report["flags"] & UNDECIDED
    ]


def test_lossy_runs_end_and_what_they_decide_is_right():
    """Every node ends; each decided centre is within the tolerance of Σu / Σm of all that was put into the step."""
    seen = 0
    for seed in range(6):
        loss, double, delay = ((40, 0, 0), (20, 30, 0), (10, 10, 50))[seed % 3]
        scene = new_scene((SQUARE, SWITCHED)[seed % 2], max_steps=2)
        scene.bus.log = []
        scene.bus.faults(seed, loss, double, delay, seed >= 3)
        with Inputs() as put:
            scene.finish()
        for node, report in decided(scene):
            for error in errors(put[report["step"]], report["centres"], 2, 2):
                assert error is None or error <= TOLERANCE + LEVELS // 2 + 1, (seed, node, report, error)
            seen += 1
    assert seen > 20, seen


def test_all_nodes_come_to_the_same_step():
    for seed in range(3):
        scene = new_scene(max_steps=2)
        scene.bus.faults(seed, loss=30, everything=True)
        scene.finish()
        finals = [
            (scene.held(node).step, scene.held(node).flags & (FINAL | CONVERGED)) for node in scene.data
        ]
        assert len(set(finals)) == 1 and finals[0][1] & FINAL, (seed, finals)


def test_two_nodes_do_not_echo():
    """Everything comes twice, and a second copy looks like a neighbour that lacks our answer."""
    scene = new_scene(PAIR, window=1, slots=10, max_steps=2)
    bus = scene.bus
    bus.faults(1, double=100)
    bus.log = []
    scene.start()
    assert bus.run(bus.all_done, 2000)
    assert bus.elapsed == 0
    for _ in range(500):
        if not bus.queue:
            break
        bus.step()
    assert bus.queue == []
    for node in (1, 2):
        said = [topic for topic, _ in bus.log if topic == "dcka/t/x/0/%d" % node]
        # Once a slot, and once more in all this time.
        assert 20 <= len(said) <= 21, (node, len(said))
        assert scene.dropped(node)["duplicate"] + scene.dropped(node).get("stale", 0) >= 20


def test_a_silent_neighbour_is_waited_for_and_named():
    scene = new_scene(max_steps=1, max_slots=8)
    bus = scene.bus
    bus.kill(3)
    bus.log = []
    scene.start()
    bus.run_for(3 * PATIENCE_MS)
    assert scene.status(4)["waiting"] == [3], scene.status(4)
    assert bus.run(bus.all_done)
    for node in bus.nodes:
        # Without its word nobody is sure, so the step ends undecided.
        assert scene.held(node).flags & (FINAL | CONVERGED | UNDECIDED) == FINAL | UNDECIDED
        assert [report["slots"] for report in scene.reports("step", node)] == [8]


def test_a_node_that_starts_late():
    scene = new_scene(max_slots=40)
    bus = scene.bus
    bus.kill(2)
    scene.start()
    bus.run_for(2 * PATIENCE_MS)
    bus.boot(2)
    assert bus.run(bus.all_done), scene.told()
    assert scene.held(2).step == scene.held(1).step


def test_a_node_that_loses_power_ends_with_the_others():
    """Its mass of that step is gone with it; the next step has all again."""
    for victim, events in ((1, 30), (3, 45), (4, 60), (2, 90)):
        scene = new_scene(max_steps=4)
        bus = scene.bus
        bus.log = []
        scene.start()
        for _ in range(events):
            bus.step()
        over = bus.all_done()
        bus.kill(victim)
        bus.run_for(PATIENCE_MS)
        bus.boot(victim)
        assert bus.run(bus.all_done, 20000), (victim, scene.told())
        bus.settle()
        finals = [
            (scene.held(node).step, scene.held(node).flags & (FINAL | CONVERGED)) for node in scene.data
        ]
        assert len(set(finals)) == 1, (victim, finals)
        assert not over, events


def test_a_node_that_comes_back_puts_nothing_into_the_step_it_finds():
    """What it has put in before may be at the others still, and would count twice."""
    scene = new_scene(max_steps=6)
    bus = scene.bus
    with Inputs() as put:
        scene.start()
        while scene.session(2) is None:
            bus.step()
        for _ in range(20):
            bus.step()
        assert scene.held(2) is None
        bus.kill(2)
        bus.boot(2)
        while scene.session(2) is None:
            bus.step()
    assert len(put[0]) == 5
    assert put[0][-1] == [0] * 6 and [sums for sums in put[0][:-1] if sums == [0] * 6] == []


def own_part(scene, node, centres):
    places = tuples(centres, 2)
    return sum([min([distance(point, place) for place in places]) for point in tuples(scene.data[node], 2)])


def test_a_final_found_at_boot_has_the_nodes_own_part():
    """A neighbour's last commit is the end of the run, but the SSD and the contributors are the node's own."""
    scene = new_scene(PAIR, max_steps=2)
    bus = scene.bus
    scene.start()
    while scene.session(2) is None:
        bus.step()
    bus.kill(2)
    assert bus.run(bus.all_done)
    bus.settle()
    bus.log = []
    bus.boot(2)
    bus.settle()
    assert scene.session(2).done
    own, other = scene.held(2), scene.held(1)
    assert own.centres == other.centres and own.flags & FINAL
    assert own.contributors == 0b10, own.contributors
    assert own.ssd == own_part(scene, 2, own.centres) != other.ssd
    assert [report["ssd"] for report in scene.reports("result", 2)] == [own.ssd]


def test_a_final_that_reaches_a_node_that_has_come_back_is_its_end():
    """It is in the last step, with nothing put in; there is no later one that it could enter."""
    settings = {"window": 1, "tolerance": 0, "max_slots": 20, "max_steps": 50}
    whole = new_scene(PAIR, **settings)
    whole.bus.log = []
    whole.finish()
    last = [payload for topic, payload in whole.bus.log if topic == "dcka/t/commit/1"][-1]
    step = whole.held(1).step
    assert 1 < step < 50
    scene = new_scene(PAIR, **settings)
    bus = scene.bus
    scene.start()
    while scene.held(2) is None or scene.held(2).step < step - 1:
        bus.step()
    bus.kill(2)
    bus.boot(2)
    while scene.session(2) is None:
        bus.step()
    bus.kill(1)
    bus.perform(2, bus.nodes[2].receive("dcka/t/commit/1", last, bus.now))
    assert bus.run(bus.all_done)
    held = scene.held(2)
    assert (held.step, held.flags & (FINAL | CONVERGED)) == (step, whole.held(1).flags & (FINAL | CONVERGED))
    assert held.centres == whole.held(1).centres
    assert held.ssd == own_part(scene, 2, held.centres)


def test_a_final_of_the_step_before_is_the_end_too():
    """A node gives a step up at max_slots; its neighbours decide it after all, and that ends the run: to go on alone
    would take max_steps times max_slots times its patience.
    """
    settings = {"window": 1, "tolerance": 0, "max_slots": 4, "max_steps": 50}
    whole = new_scene(PAIR, **settings)
    whole.bus.log = []
    whole.finish()
    first = next(payload for topic, payload in whole.bus.log if topic == "dcka/t/commit/1")
    assert peek_commit(first) == (1, 1, 1)
    scene = new_scene(PAIR, **settings)
    bus = scene.bus
    bus.kill(1)
    scene.start()
    while scene.held(2) is None:
        bus.step()
    assert scene.held(2).step == 1 and scene.held(2).flags & UNDECIDED
    final = first[:5] + bytes([first[5] & ~UNDECIDED | FINAL | CONVERGED]) + first[6:]
    bus.perform(2, bus.nodes[2].receive("dcka/t/commit/1", final, bus.now))
    assert bus.run(bus.all_done)
    assert (scene.held(2).step, scene.held(2).flags & (FINAL | CONVERGED)) == (1, FINAL | CONVERGED)


def test_a_node_that_is_done_answers_with_its_commit():
    """A neighbour that goes on has not heard of the end; it would go on alone. Seldom, since all of them may."""
    scene = new_scene(PAIR, window=1, slots=4, max_steps=1)
    shares = recorded(scene)[(2, 0)]
    bus = scene.bus
    node = bus.nodes[1]
    # The fifth byte of a share is its step: the one that is over, and one that node 1 never came to.
    for step, boots in ((0, False), (1, False), (0, True), (1, True)):
        bus.run_for(PATIENCE_MS)
        if boots:
            bus.kill(1)
            bus.boot(1)
            bus.settle()
            node = bus.nodes[1]
        share = shares[-1][:4] + bytes([step]) + shares[-1][5:]
        said = [action[1:] for action in node.receive("dcka/t/x/0/2", share, bus.now) if action[0] == PUBLISH]
        assert ("dcka/t/commit/1", scene.held(1).encode(scene.session(1).run), True) in said, (step, said)
        again = node.receive("dcka/t/x/0/2", share, bus.now)
        assert [action for action in again if action[0] == PUBLISH] == [], step


def test_a_node_that_comes_back_after_the_end_says_its_result():
    scene = new_scene().finish()
    bus = scene.bus
    held = scene.held(3)
    bus.kill(3)
    bus.log = []
    bus.boot(3)
    bus.settle()
    assert scene.session(3).done
    assert (scene.held(3).centres, scene.held(3).flags) == (held.centres, held.flags)
    assert [report["steps"] for report in scene.reports("result", 3)] == [held.step]


def test_a_link_that_fails_for_a_while():
    for node, events in ((1, 25), (4, 70)):
        scene = new_scene(max_steps=5)
        bus = scene.bus
        scene.start()
        for _ in range(events):
            bus.step()
        bus.unplug(node)
        bus.run_for(3 * PATIENCE_MS)
        bus.plug_in(node)
        assert bus.run(bus.all_done, 20000), (node, scene.told())
        assert len({scene.held(other).step for other in bus.nodes}) == 1, node


# ---- what waits ----


def recorded(scene):
    """All shares of a whole run: {(sender, phase): [payload, ...]}."""
    scene.bus.log = []
    scene.finish()
    shares = {}
    for topic, payload in scene.bus.log:
        words = topic.split("/")
        if words[2] == "x":
            shares.setdefault((int(words[4]), int(words[3])), []).append(payload)
    return shares


def test_a_malformed_message_for_a_later_slot_is_dropped():
    """At once, or when its slot has come by `tick`; either way the node goes on."""
    triangle = [[(1, 2), (1, 3), (2, 3)]]
    settings = {"window": 1, "slots": 6, "max_steps": 2}
    shares = recorded(new_scene(triangle, **settings))
    scene = new_scene(triangle, **settings)
    bus = scene.bus
    for node in (2, 3):
        bus.kill(node)
    scene.start()
    bus.settle()
    node = bus.nodes[1]
    assert bus.nodes[1].ledger[0] == 1
    node.receive("dcka/t/x/0/2", shares[(2, 0)][1][:-1], bus.now)
    assert bus.nodes[1].ledger[0] == 1
    bus.run_for(2 * PATIENCE_MS)
    assert node.dropped == {"length": 1}, node.dropped
    assert scene.bus.nodes[1].ledger[0] > 2


def test_only_the_latest_that_waits_is_kept():
    shares = recorded(new_scene(PAIR, window=1, slots=8, max_steps=1))[(2, 0)]
    scene = new_scene(PAIR, window=1, slots=8, max_steps=1)
    bus = scene.bus
    bus.kill(2)
    scene.start()
    bus.settle()
    node = bus.nodes[1]
    # A later slot than ours says that its sender has left this one; so do we, up to where it is.
    bus.perform(1, node.receive("dcka/t/x/0/2", shares[3], bus.now))
    assert scene.bus.nodes[1].ledger[0] == 5, scene.bus.nodes[1].ledger[0]
    bus.perform(1, node.receive("dcka/t/x/0/2", shares[2], bus.now))
    assert node.dropped == {"stale": 1}
    bus.perform(1, node.receive("dcka/t/x/0/2", shares[3], bus.now))
    assert node.dropped == {"stale": 1, "duplicate": 1}
    bus.perform(1, node.receive("dcka/t/x/0/2", shares[7], bus.now))
    assert bus.all_done()


def test_a_node_left_behind_takes_over_the_final_as_it_is():
    """Its neighbours have ended at max_steps, not converged: so does it say."""
    settings = {"window": 1, "max_slots": 3, "max_steps": 2, "tolerance": 0}
    whole = new_scene(PAIR, **settings)
    whole.bus.log = []
    whole.finish()
    commits = [payload for topic, payload in whole.bus.log if topic == "dcka/t/commit/2"]
    assert peek_commit(commits[-1])[2] == 2
    for converged in (0, CONVERGED):
        scene = new_scene(PAIR, **settings)
        bus = scene.bus
        scene.start()
        while scene.held(1) is None:
            bus.step()
        bus.kill(2)
        # The flags follow the head: version and type, run, sender, boot, step of a byte each.
        flags = commits[-1][5] & ~CONVERGED | converged
        payload = commits[-1][:5] + bytes([flags]) + commits[-1][6:]
        bus.perform(1, bus.nodes[1].receive("dcka/t/commit/2", payload, bus.now))
        assert bus.run(bus.all_done)
        assert scene.held(1).flags & (FINAL | CONVERGED) == FINAL | converged
