"""`message_bound`: no message of a run is larger, neither the worst that can be written nor those that are."""

from scenes import FORK, SWITCHED, Scene, cloud, gossip_rows

from dcka_core.bounds import message_bound, varint_bytes
from dcka_core.codec import put_varint
from dcka_core.gossip import Gossip
from dcka_core.messages import Commit
from dcka_core.record import read_rows, read_run
from dcka_core.spread import Spread
from dcka_core.tree_messages import Up

# What the bound allows numbers that grow slowly: five bytes.
LARGE = (1 << 35) - 1


def record_of(kind, ids, k, n, bits, points):
    return {
        "v": 1,
        "run": LARGE,
        "kind": kind,
        "members": ids,
        "root": ids[0],
        "depth": 2,
        "dataset": "0001020304050607",
        "points": points,
        "n": n,
        "bits": bits,
        "k": k,
        "init": "shared",
        "seed": 1,
        "max_steps": 1 << 20,
        "patience_ms": 100,
        "slots": 0,
        "max_slots": 1 << 20,
        "window": 1,
        "tolerance": 0,
    }


def alternating(size):
    """The set that takes the most ranges."""
    return sum([1 << index for index in range(0, size, 2)])


SHAPES = (
    (1, 1, 1, 15, 1),
    (2, 9, 2, 15, 1800),
    (20, 3, 8, 14, 100000),
    (150, 2, 1, 15, 1 << 18),
    (3, 200, 1, 15, 7),
)


def test_varint_bytes():
    for value in (0, 1, 127, 128, 16383, 16384, (1 << 63) - 1, (1 << 64) - 1):
        out = bytearray()
        put_varint(out, value)
        assert varint_bytes(value) == len(out), value


def test_the_largest_messages_of_a_tree():
    for size, k, n, bits, points in SHAPES:
        run = read_run(record_of("tree", list(range(65536 - size, 65536)), k, n, bits, points))
        up = Up()
        up.sender = up.parent = 65535
        up.boot = up.step = LARGE
        up.epoch = (LARGE, 65535, LARGE)
        up.start = bytes(4)
        up.contributors = alternating(size)
        up.sums = ([points] + [points << bits] * n) * k
        up.squares = (1 << 64) - 1
        assert len(up.encode(run)) <= message_bound(run), (size, k, n)
        # Differences of which none is small: everything goes away, against the centres that explain it.
        base = Up()
        base.sums, up.sums = up.sums, [0] * len(up.sums)
        assert len(up.encode(run, base, [0] * (k * n))) <= message_bound(run), (size, k, n)
        base.sums, up.sums = ([0] + [points << bits] * n) * k, ([points] + [0] * n) * k
        assert len(up.encode(run, base, [(1 << bits) - 1] * (k * n))) <= message_bound(run), (size, k, n)
        assert len(largest_commit(run, size, 15, points).encode(run)) <= message_bound(run), (size, k, n)


def largest_commit(run, size, flags, count):
    commit = Commit()
    commit.sender = 65535
    commit.boot = commit.step = LARGE
    commit.epoch = (LARGE, 65535, LARGE)
    commit.flags = flags
    commit.contributors = commit.missing = alternating(size)
    commit.centres = [(1 << run.bits) - 1] * (run.k * run.n)
    commit.counts = [count] * run.k
    commit.ssd = (1 << 64) - 1
    return commit


def test_the_largest_messages_of_a_survey():
    """Counts are of all readings at most, and sums of 4095 times as many; the shape of each row is the survey's."""
    for size, n, bits, points in ((1, 1, 15, 1), (20, 3, 14, 100000), (150, 2, 15, 1 << 18), (3, 200, 11, 7)):
        for bins in (2, 4, 16):
            for scale in ("minmax", "std"):
                record = record_of("survey", list(range(65536 - size, 65536)), 1, n, bits, points)
                record.update({"bins": bins, "tail_ppm": 0, "scale": scale})
                run = read_run(record)
                for rows, most in ((2 * (bins - 1), points), (3 if scale == "std" else 0, 4095 * points)):
                    up = Up()
                    up.sender = up.parent = 65535
                    up.boot = up.step = LARGE
                    up.epoch = (LARGE, 65535, LARGE)
                    up.start = bytes(4)
                    up.contributors = alternating(size)
                    up.sums = ([points] + [most] * n) * rows + [0] * (run.k - rows) * (n + 1)
                    up.squares = 0
                    case = (size, n, bins, scale, len(up.encode(run)))
                    assert len(up.encode(run)) <= message_bound(run), case
                commit = largest_commit(run, size, 15, points)
                assert len(commit.encode(run)) <= message_bound(run), (size, n, bins, scale)


def window_bytes(run, largest):
    """A window's part of a message: with all that can be in it, or of a node without points."""
    spread = Spread(run.k, run.n, len(run.members))
    spread.begin([0] * run.rows, 0, True)
    if largest:
        spread.ready = alternating(len(run.members))
        spread.lacking = alternating(run.k)
        # Four bytes each, for the lower end and for the distance to the upper one.
        spread.low = [1 << 22] * (run.k * run.n)
        spread.high = [1 << 23] * (run.k * run.n)
    out = bytearray()
    spread.put(out, True)
    return len(out)


def test_the_largest_messages_of_gossip():
    for size, k, n, bits, points in SHAPES:
        ids = list(range(65536 - size, 65536))
        run = read_run(record_of("gossip", ids, k, n, bits, points))
        for groups in (1, 3):
            others = ids[1:] or [7]
            row = {"share": [[9, 1]] * groups, "hear": [[others[0], 0]]}
            rows = read_rows({"v": 1, "run": LARGE, "near": others, "phases": [row]})
            node = Gossip(run, rows, ids[0], LARGE)
            node.begin(LARGE, [0] * run.rows, True)
            node.enter_slot()
            # Every message of a run has the same head and sums; only slot and window grow.
            size_now = len(node.message(0)) + 4 - window_bytes(run, False) + window_bytes(run, True)
            assert size_now <= message_bound(run, groups), (size, k, n, groups)
        assert len(largest_commit(run, size, 31, size * points).encode(run)) <= message_bound(run), (
            size,
            k,
            n,
        )


def test_the_messages_of_real_runs():
    seen = {"x": 0, "commit": 0}
    for links, ids in ((FORK, list(FORK)), (SWITCHED, [1, 2, 3, 4])):
        scene = Scene({node: cloud(node, 5) for node in ids}, links, max_steps=2, max_slots=20)
        scene.bus.log = []
        scene.finish()
        run = read_run(scene.record())
        rows = gossip_rows(1, ids, links) if scene.kind == "gossip" else {}
        groups = max([1] + [len(phase["share"]) for node in rows for phase in rows[node]["phases"]])
        for topic, payload in scene.bus.log:
            kind = topic.split("/")[2]
            if kind in seen:
                seen[kind] += 1
                assert len(payload) <= message_bound(run, groups), (topic, len(payload))
    assert seen["x"] > 20 and seen["commit"] > 8, seen
