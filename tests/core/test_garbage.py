"""Garbage on every topic (case C26): counted, and neither the node's state nor the run's outcome changes."""

from json import dumps

from scenes import SQUARE, Scene, cloud

from dcka_core.starts import Stream

TREE = {1: 0, 2: 1, 3: 1}
KNOWN = [
    "run",
    "base",
    "stale",
    "version",
    "length",
    "stranger",
    "sender",
    "epoch",
    "hash",
    "overlap",
    "conflict",
    "duplicate",
    "parent",
    "value",
    "set",
    "points",
    "root",
    "json",
    "oversize",
    "twin",
]
# The case's list, and its like: no JSON, no object, an object of other things, wrong types, brackets without end.
TEXTS = (
    b"{",
    b"\xff\xfe",
    b"[]",
    b"null",
    b"7",
    b'"run"',
    b"{}",
    b'{"run":1}',
    b'{"v":1}',
    b'{"v":1,"run":"250"}',
    b'{"v":1,"run":-5}',
    b'{"v":1,"run":99}',
    b'{"v":1,"run":99.5,"kind":"tree"}',
    b'{"v":1,"run":99,"kind":"tree","members":[1,2,3]}',
    b'{"v":1,"run":99,"kind":"trees"}',
    b'{"v":2,"run":99,"kind":"idle"}',
    b'{"v":1,"run":99,"near":[2],"phases":7}',
    b'{"v":1,"run":99,"near":[2],"parent":"1","children":[]}',
    b'{"v":1,"run":' + b"9" * 30 + b"}",
    b"A" * 5000,
    b"[" * 3000,
    b'{"a":' * 2000,
    bytes(40),
)


def tree_scene():
    return Scene({node: cloud(node, 6 + node) for node in TREE}, TREE)


def gossip_scene():
    return Scene({node: cloud(node, 6) for node in (1, 2, 3, 4)}, SQUARE, k=2, max_steps=2)


def bad_records(record):
    """The run record, each time with one thing wrong."""
    for key, value in (
        ("points", -5),
        ("points", "250"),
        ("k", 0),
        ("members", []),
        ("init", "given"),
        ("dataset", "00"),
        ("max_steps", None),
        ("patience_ms", 1.5),
        ("v", 2),
    ):
        wrong = dict(record)
        wrong[key] = value
        yield dumps(wrong).encode()
    centres = [1] * (record["k"] * record["n"])
    # One centre too few.
    wrong = dict(record)
    wrong["init"], wrong["centres"] = "given", centres[record["n"] :]
    yield dumps(wrong).encode()


def outcome(scene):
    return [
        (scene.held(node).centres, scene.held(node).counts, scene.held(node).flags)
        for node in sorted(scene.data)
    ]


def counted(node):
    for reason in node.dropped:
        assert reason in KNOWN, reason
    return sum([node.dropped[reason] for reason in node.dropped])


def check(scene, feed, expected):
    """Feed every node in mid-run: each message is counted once, the session is the same, and so is the outcome.

    feed: (topic, payload) by node.
    """
    bus = scene.bus
    scene.start()
    while [node for node in bus.nodes if scene.session(node) is None]:
        bus.step()
    for _ in range(7):
        bus.step()
    assert not bus.all_done()
    for node in sorted(bus.nodes):
        machine = bus.nodes[node]
        session, held, listens = machine.session, scene.held(node), list(bus.topics[node])
        for topic, payload in feed(node):
            before = counted(machine)
            bus.perform(node, machine.receive(topic, payload, bus.now))
            assert counted(machine) == before + 1, (topic, payload[:40], machine.dropped)
            assert machine.session is session, (topic, payload[:60])
            assert scene.held(node) is held, (topic, payload[:60])
            assert bus.topics[node] == listens, (topic, payload[:60])
    assert bus.run(bus.all_done), scene.told()
    assert outcome(scene) == expected


def json_topics(node):
    return ("dcka/t/run", "dcka/t/rows/%d" % node, "dcka/t/status/%d" % node)


def test_garbage_instead_of_json():
    for new_scene in (tree_scene, gossip_scene):
        expected = outcome(new_scene().finish())
        check(
            new_scene(),
            lambda node: [(topic, text) for topic in json_topics(node) for text in TEXTS],
            expected,
        )


def test_run_records_with_one_thing_wrong():
    for new_scene in (tree_scene, gossip_scene):
        scene = new_scene()
        expected = outcome(new_scene().finish())
        check(
            scene,
            lambda node, scene=scene: [("dcka/t/run", wrong) for wrong in bad_records(scene.record(9))],
            expected,
        )


def binary_topics(scene, node):
    """What the node listens to in this run."""
    return [topic for topic in scene.bus.topics[node] if "/x/" in topic or "/commit/" in topic]


def noise(seed):
    """Random bytes, some of them with a good beginning: version and type, run, a sender."""
    stream = Stream(seed, b"noise")
    for length in (1, 2, 7, 30, 200):
        yield bytes([stream.below(256) for _ in range(length)])
        head = [0x11 + stream.below(3), 1, 1 + stream.below(4)]
        yield bytes(head + [stream.below(8) for _ in range(length)])


def test_noise_instead_of_consensus():
    for new_scene in (tree_scene, gossip_scene):
        expected = outcome(new_scene().finish())
        for seed in range(2):
            scene = new_scene()

            def feed(node, scene=scene, seed=seed):
                topics = binary_topics(scene, node)
                texts = [text for text in TEXTS if text[:1] != b"A"] if seed else []
                return [(topic, payload) for topic in topics for payload in list(noise(seed)) + texts]

            check(scene, feed, expected)


def test_topics_that_nobody_has():
    topics = (
        "dcka/t/x/0/9",
        "dcka/t/x/0/99999999999999999999",
        "dcka/t/x/7/2",
        "dcka/t/x/a/b",
        "dcka/t/x/0",
        "dcka/t/x/-1/2",
        "dcka/t/commit/x",
        "dcka/t/commit/9",
        "dcka/t/commit",
        "dcka/t/got/1",
        "dcka/t/hello",
        "dcka/t/",
        "dcka/tt/run",
        "hello",
        "",
    )
    # A good commit of this run, as far as its head goes, of nobody near.
    payload = bytes.fromhex("12010901010000000000")
    for new_scene in (tree_scene, gossip_scene):
        expected = outcome(new_scene().finish())
        check(new_scene(), lambda node: [(topic, payload) for topic in topics], expected)


def test_empty_messages():
    """On most topics they are what clears a retained message; on x, they are too short."""
    for new_scene in (tree_scene, gossip_scene):
        scene = new_scene()
        expected = outcome(new_scene().finish())
        bus = scene.bus
        scene.start()
        while [node for node in bus.nodes if scene.session(node) is None]:
            bus.step()
        for node in sorted(bus.nodes):
            machine = bus.nodes[node]
            session = machine.session
            for topic in list(json_topics(node)) + binary_topics(scene, node):
                before = counted(machine)
                bus.perform(node, machine.receive(topic, b"", bus.now))
                assert counted(machine) == before + ("/x/" in topic), (topic, machine.dropped)
                assert machine.session is session
        assert bus.run(bus.all_done)
        assert outcome(scene) == expected


def test_real_messages_with_a_byte_flipped():
    """Of a real run, in order, each also damaged: the damaged ones never stop it, nor crash a node."""
    stream = Stream(3, b"flips")
    for new_scene in (tree_scene, gossip_scene):
        scene = new_scene()
        bus = scene.bus
        scene.start()
        for _ in range(4000):
            if bus.all_done():
                break
            if bus.queue and "/x/" in bus.queue[0][0] and stream.below(2):
                topic, node, payload = bus.queue[0]
                damaged = bytearray(payload)
                damaged[stream.below(len(damaged))] ^= 1 << stream.below(8)
                # Not the head: a sender that lies about the step it is in is believed.
                if damaged[:9] == payload[:9] and node in bus.nodes:
                    machine = bus.nodes[node]
                    bus.perform(
                        node, machine.receive(topic, bytes(damaged[: stream.below(len(damaged))]), bus.now)
                    )
            bus.step()
        assert bus.all_done(), scene.told()


def test_garbage_before_there_is_a_run():
    scene = tree_scene()
    for node in TREE:
        machine = scene.bus.nodes[node]
        for topic in list(json_topics(node)) + ["dcka/t/put/%d" % node, "dcka/t/x/0/2", "dcka/t/commit/3"]:
            for payload in list(TEXTS) + list(noise(node)):
                scene.bus.perform(node, machine.receive(topic, payload, 0))
        assert machine.session is None
    scene.finish(100)
    assert scene.final() == tree_scene().finish().final()


def test_early_messages_that_are_too_large_are_not_kept():
    scene = tree_scene()
    scene.prepare()
    machine = scene.bus.nodes[1]
    large = bytes([0x11, 1, 2, 1, 0]) + bytes(4096)
    assert machine.receive("dcka/t/x/0/2", large, 0) == []
    assert machine.dropped == {"oversize": 1}


def test_early_messages_that_are_malformed_are_counted_when_the_run_begins():
    scene = tree_scene()
    scene.prepare()
    machine = scene.bus.nodes[1]
    machine.receive("dcka/t/x/0/2", bytes([0x11, 1, 2, 1, 0]), 0)
    machine.receive("dcka/t/x/0/3", bytes([0x11, 1, 4, 1, 0]) + bytes(60), 0)
    assert machine.dropped == {}
    scene.bus.publish("dcka/t/run", dumps(scene.record()), True)
    assert scene.bus.run(scene.bus.all_done)
    assert machine.dropped == {"length": 2}
    assert scene.final() == tree_scene().finish().final()
