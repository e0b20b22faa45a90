"""Sums and commits as differences to the last step's: decoded they are the same, without their base nothing, and they
are fewer bytes.
"""

from scenes import FORK, LINE, Scene, cloud
from support import raises
from test_messages import drawn_commit, drawn_up, fields, run_of
from tree_laws import check_laws

from dcka_core.codec import Reader, put_varint
from dcka_core.errors import MessageError
from dcka_core.messages import KEPT, UP, is_change, peek_commit, put_head, read_commit, read_head
from dcka_core.record import read_run
from dcka_core.starts import Stream
from dcka_core.tree_messages import encode_change, put_epoch, put_rows, read_change, read_up

PATIENCE_MS = 100
# Every so many steps all is said in full.
FULL_STEPS = 32
FORM_DELTA = 1
FIELDS = ("sender", "boot", "step", "epoch", "start", "parent", "contributors", "sums", "squares")
FIELDS += ("flags", "missing", "centres", "counts", "ssd")


def like(message, other):
    """`other`, saying what `message` says."""
    for name in FIELDS:
        if hasattr(message, name):
            setattr(other, name, getattr(message, name))
    return other


def drawn_base(stream, run):
    """Sums to which there may be differences: not of the first step."""
    base = drawn_up(stream, run)
    base.step += 1
    return base


def next_up(stream, base, run):
    """What the same node could say one step later: some points have gone from one cluster to another."""
    up = like(base, drawn_up(stream, run))
    up.step = base.step + 1
    up.start = b""
    up.sums = list(base.sums)
    for _ in range(stream.below(4)):
        source = (run.n + 1) * stream.below(run.k)
        target = (run.n + 1) * stream.below(run.k)
        count = up.sums[source] and stream.below(min(up.sums[source] + 1, 4))
        moved = [count]
        for index in range(source + 1, source + run.n + 1):
            # What stays has to be possible for as many points as stay, what goes for as many as go.
            least = max(0, up.sums[index] - ((up.sums[source] - count) << run.bits))
            most = min(up.sums[index], count << run.bits)
            moved.append(least + stream.below(most - least + 1))
        for j in range(run.n + 1):
            up.sums[source + j] -= moved[j]
            up.sums[target + j] += moved[j]
    return up


def started_from(stream, up, run):
    """The commit of the step of `up`."""
    commit = drawn_commit(stream, run)
    commit.epoch, commit.step = up.epoch, up.step
    return commit


def test_sums_as_differences_are_read_as_they_were():
    stream = Stream(1, b"differences")
    run = run_of()
    shorter = 0
    for _ in range(60):
        base = drawn_base(stream, run)
        up = next_up(stream, base, run)
        held = started_from(stream, up, run)
        payload = bytes(up.encode(run, base, held.centres))
        assert fields(read_up(payload, run, {up.sender: base}, held)) == fields(up), payload.hex()
        assert len(payload) < len(base.encode(run)), (len(payload), len(base.encode(run)))
        shorter += len(payload) < 2 * len(base.encode(run)) // 3
    assert shorter > 20, shorter


def test_differences_without_their_base_are_refused():
    stream = Stream(2, b"differences")
    run = run_of()
    for _ in range(20):
        base = drawn_base(stream, run)
        up = next_up(stream, base, run)
        held = started_from(stream, up, run)
        payload = bytes(up.encode(run, base, held.centres))

        def refused(bases, commit, payload=payload):
            return raises(MessageError, read_up, payload, run, bases, commit).reason == "base"

        assert refused(None, held) and refused({up.sender + 1: base}, held)
        assert refused({up.sender: base}, None)
        later = (base.epoch[0] + 1,) + base.epoch[1:]
        for name, value in (
            ("boot", base.boot + 1),
            ("epoch", later),
            ("step", base.step + 1),
            ("step", base.step - 1),
        ):
            other = like(base, drawn_up(stream, run))
            setattr(other, name, value)
            assert refused({up.sender: other}, held), name
        for name, value in (("epoch", later), ("step", held.step - 1), ("step", held.step + 1)):
            other = like(held, drawn_commit(stream, run))
            setattr(other, name, value)
            assert refused({up.sender: base}, other), name


def test_there_are_no_differences_to_a_step_of_own_starts():
    """What stands for the squares there is another number, where nodes have starts of their own."""
    stream = Stream(5, b"differences")
    run = run_of(init="local")
    base = drawn_base(stream, run)
    base.step = 0
    up = next_up(stream, base, run)
    held = started_from(stream, up, run)
    payload = bytes(up.encode(run, base, held.centres))
    assert raises(MessageError, read_up, payload, run, {up.sender: base}, held).reason == "base"


def test_differences_that_lead_out_of_bounds_are_refused():
    run = run_of()
    stream = Stream(3, b"differences")
    base = drawn_base(stream, run)
    base.sums = [100, 50, 50] + [0] * 6
    up = like(base, drawn_up(stream, run))
    up.step = base.step + 1
    held = started_from(stream, up, run)
    for sums in (
        [5001, 50, 50] + [-4901, 0, 0] + [0] * 3,
        [101, 50, 50] + [-1, 0, 0] + [0] * 3,
        [99, -1, 50] + [1, 51, 0] + [0] * 3,
        [99, 50, 51] + [1, 0, -1] + [0] * 3,
        [100, 49, 50] + [0, 1, 0] + [0] * 3,
        [1, (1 << 15) + 1, 50] + [99, 49 - (1 << 15), 0] + [0] * 3,
    ):
        up.sums = sums
        payload = in_differences(up, base, run, held)
        assert raises(MessageError, read_up, payload, run, {up.sender: base}, held).reason == "value", sums
    up.sums = base.sums
    payload = in_differences(up, base, run, held)
    assert fields(read_up(payload, run, {up.sender: base}, held))[-2] == base.sums
    # A fourth cluster of three.
    damaged = payload[:-1] + bytes([8])
    assert raises(MessageError, read_up, damaged, run, {up.sender: base}, held).reason == "value"


def in_differences(up, base, run, held):
    """The form of differences, though it may be longer, or no good."""
    out = put_head(UP, run.number, up.sender, up.boot, up.step)
    put_epoch(out, FORM_DELTA, up.epoch, run)
    put_varint(out, up.parent)
    put_rows(out, up.sums, base.sums, run.n + 1, held.centres)
    return bytes(out)


def next_commit(stream, base, run):
    commit = drawn_commit(stream, run)
    commit.step, commit.epoch = base.step + 1, base.epoch
    commit.contributors, commit.missing = base.contributors, base.missing
    commit.centres = [max(0, value - stream.below(3)) if stream.below(2) else value for value in base.centres]
    commit.counts = [max(0, value - stream.below(9)) for value in base.counts]
    commit.ssd = max(0, base.ssd - stream.below(1 << 20))
    return commit


def test_a_change_makes_the_commit_that_was_meant():
    stream = Stream(4, b"changes")
    run = run_of()
    for _ in range(60):
        base = drawn_commit(stream, run)
        commit = next_commit(stream, base, run)
        payload = encode_change(commit, base, run)
        assert payload is not None and is_change(payload) and len(payload) < len(commit.encode(run))
        assert fields(read_change(bytes(payload), run, base)) == fields(commit)
        for size in range(len(payload)):
            assert raises(MessageError, read_change, payload[:size], run, base).reason in ("length", "base")
        assert raises(MessageError, read_change, bytes(payload) + b"\x00", run, base).reason == "length"


def test_a_change_of_another_commit_is_refused():
    stream = Stream(5, b"changes")
    run = run_of()
    for _ in range(20):
        base = drawn_commit(stream, run)
        payload = bytes(encode_change(next_commit(stream, base, run), base, run))
        assert raises(MessageError, read_change, payload, run, None).reason == "base"
        for name, value, reason in (
            ("step", base.step - 1, "base"),
            ("step", base.step + 1, "stale"),
            ("epoch", (base.epoch[0] + 1,) + base.epoch[1:], "base"),
            ("centres", [base.centres[0] ^ 1] + base.centres[1:], "hash"),
        ):
            other = like(base, drawn_commit(stream, run))
            setattr(other, name, value)
            assert raises(MessageError, read_change, payload, run, other).reason in (reason, "value"), name


def test_a_commit_is_said_in_full_where_others_lack_its_base():
    stream = Stream(6, b"changes")
    run = run_of()
    base = drawn_commit(stream, run)
    for name, value in (
        ("step", base.step + 2),
        ("epoch", (base.epoch[0] + 1,) + base.epoch[1:]),
        ("contributors", base.contributors ^ 1),
        ("missing", base.missing ^ 1),
    ):
        commit = next_commit(stream, base, run)
        setattr(commit, name, value)
        assert encode_change(commit, base, run) is None, name


def test_a_change_that_is_no_shorter_is_not_made():
    run = run_of(n=2, k=3, points=5000)
    stream = Stream(7, b"changes")
    base = drawn_commit(stream, run)
    commit = next_commit(stream, base, run)
    base.centres, commit.centres = [0] * 6, [32767] * 6
    base.counts, commit.counts = [0, 0, 5000], [5000, 0, 0]
    base.flags = commit.flags = KEPT
    base.ssd, commit.ssd = (1 << 63), 0
    assert encode_change(commit, base, run) is None


# ---- in runs ----


class Traffic:
    """What goes over the bus, by form."""

    def __init__(self, bus):
        self.bytes = 0
        self.differences = self.whole = 0
        bus.watch = self.saw

    def saw(self, topic, payload):
        kind = topic.split("/")[2]
        if kind == "x":
            self.count(payload, is_difference(payload))
        elif kind == "commit":
            self.count(payload, is_change(payload))

    def count(self, payload, difference):
        self.bytes += len(payload)
        self.differences += difference
        self.whole += not difference


def is_difference(payload):
    """Whether sums are differences: the form is the byte after five fields."""
    at = 1
    for _ in range(4):
        while payload[at] & 0x80:
            at += 1
        at += 1
    return bool(payload[at] & FORM_DELTA)


def whole_bytes(scene):
    """What the same run takes where everything is said in full."""
    run = read_run(scene.record())
    total = 0
    last = {}
    held = {}
    newest = None
    for topic, payload in scene.bus.log:
        kind = topic.split("/")[2]
        sender = int(topic.split("/")[-1]) if kind in ("x", "commit") else 0
        if kind == "x":
            last[sender] = read_up(payload, run, last, newest)
            last[sender].start = last[sender].start or bytes(4)
            total += len(last[sender].encode(run))
        elif kind == "commit":
            held[sender] = newest = (
                read_change(payload, run, held[sender]) if is_change(payload) else read_commit(payload, run)
            )
            total += len(held[sender].encode(run))
    return total


def test_bytes_fall():
    for parents, points in ((FORK, 60), (LINE, 200)):
        scene = Scene({node: cloud(node, points) for node in parents}, parents, k=9, max_steps=40)
        scene.bus.log = []
        traffic = Traffic(scene.bus)
        scene.finish()
        whole = whole_bytes(scene)
        assert traffic.differences > traffic.whole, (traffic.differences, traffic.whole)
        assert traffic.bytes < 0.75 * whole, (traffic.bytes, whole)


def test_every_thirty_second_step_is_said_in_full():
    """Whoever comes late, or has lost what the differences are added to, waits no longer than that."""
    # Readings in a row, and all centres at one end of it: these take their time.
    data = {node: [300 * (3 * number + node) for number in range(30)] for node in LINE}
    scene = Scene(data, LINE, n=1, k=8, init="given", centres=list(range(8)), max_steps=60)
    scene.bus.log = []
    scene.finish()
    assert scene.held(1).step > FULL_STEPS
    ups = commits = 0
    for topic, payload in scene.bus.log:
        if "/x/" in topic:
            sender = int(topic.split("/")[-1])
            step = read_head(Reader(payload), UP)[3]
            if step % FULL_STEPS == 0:
                ups += step > 0
                assert not is_difference(payload), sender
        elif "/commit/" in topic and peek_commit(payload)[2] == FULL_STEPS:
            commits += 1
            assert not is_change(payload)
    assert (ups, commits) == (3, 3)


def test_a_lost_base_costs_a_patience_and_no_more():
    """One message of sums, or one commit, is lost on its way; every time another."""
    steps = Scene({node: cloud(node, 30) for node in FORK}, FORK, k=5).finish().final()[0]
    expected = Scene({node: cloud(node, 30) for node in FORK}, FORK, k=5).finish().final()
    assert steps > 5
    for kind, sender in (("x", 9), ("x", 2), ("commit", 4), ("commit", 2)):
        for which in range(steps - 2):
            scene = Scene({node: cloud(node, 30) for node in FORK}, FORK, k=5)
            scene.bus.trace = []
            loser = LoseOne("dcka/t/%s%d" % ("x/0/" if kind == "x" else "commit/", sender), which)
            scene.bus.lose = loser
            assert scene.finish().final() == expected, (kind, sender, which)
            assert loser.lost, (kind, sender, which)
            # Whoever waits says it again after a patience, in full; a lost commit is answered in full.
            assert scene.bus.elapsed <= PATIENCE_MS, (kind, sender, which, scene.bus.elapsed)
            check_laws(scene)


class LoseOne:
    """The n-th different message on a topic is lost, once on its way to each receiver."""

    def __init__(self, topic, which):
        self.topic = topic
        self.which = which
        self.seen = []
        self.lost = []

    def __call__(self, topic, node, payload):
        if topic != self.topic:
            return False
        if payload not in self.seen:
            self.seen.append(payload)
        if len(self.seen) != self.which + 1 or node in self.lost:
            return False
        self.lost.append(node)
        return True


def test_sums_of_two_starts_in_a_step_are_no_base():
    """A node that has said sums of another start in this step says the next step's in full: its parent may have
    either.
    """
    scene = Scene({node: cloud(node, 30) for node in LINE}, LINE, k=5)
    bus = scene.bus
    bus.trace = []
    scene.start()
    assert bus.run(lambda: scene.held(3) and scene.held(3).step == 2)
    session = scene.session(3)
    run = session.run
    own = bytes(session.held.encode(run))
    better = read_commit(own, run)
    # The same step of a later epoch, with centres of its own.
    better.sender, better.epoch = 2, (1, 2, 1)
    better.centres = [value ^ 1 for value in better.centres]
    bus.nodes[3].receive("dcka/t/commit/2", bytes(better.encode(run)), bus.now)
    assert scene.held(3).epoch == better.epoch and scene.held(3).step == 2
    after = read_commit(bytes(better.encode(run)), run)
    after.step += 1
    actions = bus.nodes[3].receive("dcka/t/commit/2", bytes(after.encode(run)), bus.now)
    actions += bus.nodes[3].tick(bus.now + PATIENCE_MS)
    spoken = [bytes(action[2]) for action in actions if action[1] == "dcka/t/x/0/3"]
    assert spoken and [payload for payload in spoken if is_difference(payload)] == []
