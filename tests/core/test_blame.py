"""Whose fault a message is that can't be right, and whose it is not; floods, and `gossip`."""

from liars import Liar, suspects
from scenes import FORK, SQUARE, Scene, cloud

from dcka_core.messages import UNDECIDED

PATIENCE_MS = 100


def honest_end(scene, liar):
    sessions = [scene.session(node) for node in scene.bus.nodes if node != liar]
    return not [session for session in sessions if session is None or not session.done]


def test_one_mistake_is_forgiven():
    """Four are too many; what was damaged on its way may be three."""
    scene = Scene({node: cloud(node, 8 + node) for node in FORK}, FORK)
    expected = Scene(scene.data, FORK).finish().final()
    bus = scene.bus
    damaged = []
    publish = bus.publish

    def spoil(topic, payload, retain=False):
        if topic == "dcka/t/x/0/9" and len(damaged) < 3:
            damaged.append(topic)
            payload = payload[:-1]
        publish(topic, payload, retain)

    bus.publish = spoil
    scene.finish()
    assert scene.final() == expected
    assert scene.dropped(2)["length"] == 3
    assert scene.session(2).struck == {}


def test_noise_is_nobodys_fault():
    """What does not name its sender may have come from anybody."""
    scene = Scene({node: cloud(node, 8 + node) for node in FORK}, FORK)
    scene.start()
    bus = scene.bus
    bus.run(lambda: scene.session(2) is not None)
    for _ in range(5):
        for payload in (
            b"",
            b"\x11",
            b"\x11\x01",
            b"\x11\x01\x08\x01\x00\x00",
            b"\x11\x02\x09\x01\x00\x00",
            b"\xff" * 30,
        ):
            bus.perform(2, bus.nodes[2].receive("dcka/t/x/0/9", payload, bus.now))
    assert bus.run(bus.all_done)
    assert scene.session(2).struck == {}
    assert scene.session(2).held.missing == 0


def test_answers_are_few_however_often_one_asks():
    """A node that answers is not made to flood others."""
    scene = Scene({node: cloud(node, 8 + node) for node in FORK}, FORK)
    bus = scene.bus
    bus.log = []
    scene.finish()
    asked = next(payload for topic, payload in bus.log if topic == "dcka/t/x/0/9")
    bus.sleep(PATIENCE_MS)
    before = len(bus.log)
    for _ in range(50):
        bus.perform(2, bus.nodes[2].receive("dcka/t/x/0/9", asked, bus.now))
    assert len([topic for topic, _ in bus.log[before:] if topic == "dcka/t/commit/2"]) == 1


def test_a_flood_is_found_whatever_it_is_of():
    """The same commit, ever and again, is no mistake in itself."""
    scene = Scene({node: cloud(node, 8 + node) for node in FORK}, FORK)
    bus = scene.bus
    scene.start()
    assert bus.run(lambda: scene.held(2) is not None)
    payload = bytes(scene.held(4).encode(scene.session(4).run))
    count = 0
    while not scene.session(2).struck and count < 9000:
        count += 1
        bus.perform(2, bus.nodes[2].receive("dcka/t/commit/4", payload, bus.now))
    assert scene.session(2).struck == {"4": "flood"}
    assert count > 100


def gossip_scene():
    return Scene(
        {node: cloud(node, 12) for node in (1, 2, 3, 4)},
        SQUARE,
        Liar("malformed"),
        k=2,
        max_steps=3,
        max_slots=40,
    )


def test_gossip_without_a_neighbour_is_flagged():
    scene = gossip_scene()
    scene.bus.liar = 3
    scene.start()
    assert scene.bus.run(lambda: honest_end(scene, 3), 60000), scene.told()
    assert suspects(scene) == [3]
    for node in (2, 4):
        assert scene.session(node).struck == {"3": "malformed"}
        assert scene.held(node).flags & UNDECIDED


def test_a_share_of_more_than_all_there_is_is_left_out_and_flagged():
    scene = gossip_scene()
    bus = scene.bus
    scene.start()
    bus.run(lambda: scene.session(1) is not None and scene.session(2) is not None)
    session = scene.session(1)
    before = list(session._gossip.mass)
    neighbour = scene.session(2)._gossip
    run = session.run
    phase = session._gossip.phase
    assert 2 in session._gossip._heard[phase]
    for group in neighbour._given[phase]:
        group[0] = (run.points + 1) << run.fraction
    session.receive(phase, 2, neighbour.message(phase), bus.now)
    assert session._gossip.doubtful or session._gossip.step
    assert sum(before) >= sum(session._gossip.mass)
    assert bus.run(bus.all_done, 60000)
    bus.settle()
    assert scene.dropped(1)["points"] == 1
    # Nobody is blamed: where a node has lost its power, its neighbours may be right.
    assert suspects(scene) == []
