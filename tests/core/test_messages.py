"""Messages of types 1 and 2: what is written is read, and no other bytes are."""

from scenes import DATASET
from support import raises

from dcka_core.errors import MessageError
from dcka_core.messages import (
    CONVERGED,
    FINAL,
    GOSSIP,
    KEPT,
    Commit,
    peek_commit,
    peek_run,
    read_commit,
)
from dcka_core.record import read_run
from dcka_core.starts import Stream
from dcka_core.tree_messages import Up, read_up

REASONS = ("run", "stale", "version", "length", "sender", "value", "base")
MEMBERS = [9, 4, 70, 65535, 1]


def run_of(kind="tree", **changes):
    record = {
        "v": 1,
        "run": 300,
        "kind": kind,
        "members": MEMBERS,
        "root": 9,
        "depth": 2,
        "dataset": DATASET.hex(),
        "points": 5000,
        "n": 2,
        "bits": 15,
        "k": 3,
        "init": "shared",
        "seed": 1,
        "max_steps": 9,
        "patience_ms": 100,
        "slots": 0,
        "max_slots": 9,
        "window": 1,
        "tolerance": 0,
    }
    record.update(changes)
    return read_run(record)


def drawn_up(stream, run):
    up = Up()
    up.sender = MEMBERS[stream.below(5)]
    up.boot = stream.below(1 << 20)
    up.step = stream.below(300)
    up.epoch = (stream.below(3), MEMBERS[0], stream.below(200))
    up.start = bytes([stream.below(256) for _ in range(4)])
    up.parent = MEMBERS[stream.below(5)]
    up.contributors = stream.below(32)
    up.sums = []
    for _ in range(run.k):
        count = stream.below(run.points + 1) if stream.below(3) else 0
        up.sums.append(count)
        up.sums.extend([stream.below(count << run.bits) if count else 0 for _ in range(run.n)])
    up.squares = stream.below(1 << 31) << 20
    return up


def drawn_commit(stream, run):
    commit = Commit()
    commit.sender = MEMBERS[stream.below(5)]
    commit.boot = stream.below(1 << 20)
    commit.step = stream.below(300)
    commit.flags = (
        stream.below(4) | (GOSSIP if run.kind == "gossip" else 0) | (KEPT if stream.below(2) else 0)
    )
    commit.epoch = (stream.below(3), MEMBERS[0], stream.below(200))
    commit.contributors = stream.below(32)
    commit.missing = stream.below(32)
    commit.centres = [stream.below(1 << run.bits) for _ in range(run.k * run.n)]
    commit.counts = [stream.below(run.points + 1) for _ in range(run.k)]
    commit.ssd = stream.below(1 << 31) << 20
    return commit


def fields(message):
    names = "sender boot step flags epoch start parent contributors missing sums squares centres counts ssd"
    return [getattr(message, name) for name in names.split() if hasattr(message, name)]


def samples():
    """(payload, reader, run) of every kind."""
    stream = Stream(1, b"messages")
    tree, gossip = run_of(), run_of("gossip")
    for _ in range(4):
        yield bytes(drawn_up(stream, tree).encode(tree)), read_up, tree
        yield bytes(drawn_commit(stream, tree).encode(tree)), read_commit, tree
        yield bytes(drawn_commit(stream, gossip).encode(gossip)), read_commit, gossip


def test_up_and_commit_are_read_as_they_were_written():
    stream = Stream(2, b"messages")
    for kind in ("tree", "gossip"):
        run = run_of(kind)
        for _ in range(20):
            for message, read in ((drawn_up(stream, run), read_up), (drawn_commit(stream, run), read_commit)):
                payload = bytes(message.encode(run))
                assert fields(read(payload, run)) == fields(message), payload.hex()
                assert fields(read(memoryview(payload), run)) == fields(message), payload.hex()


def test_the_head_can_be_read_alone():
    stream = Stream(3, b"messages")
    run = run_of()
    for _ in range(10):
        commit = drawn_commit(stream, run)
        payload = bytes(commit.encode(run))
        assert peek_run(payload) == 300
        assert peek_commit(payload) == (300, commit.sender, commit.step)
        assert peek_run(bytes(drawn_up(stream, run).encode(run))) == 300


def test_a_message_cut_anywhere_is_refused():
    for payload, read, run in samples():
        for size in range(len(payload)):
            assert raises(MessageError, read, payload[:size], run).reason == "length", (payload.hex(), size)


def test_anything_left_over_is_refused():
    for payload, read, run in samples():
        assert raises(MessageError, read, payload + b"\x00", run).reason == "length"


def test_a_damaged_message_is_refused_or_means_exactly_what_it_says():
    """There is one form only: whatever is read is written as the same bytes."""
    stream = Stream(4, b"damage")
    refused = 0
    for payload, read, run in samples():
        for _ in range(60):
            damaged = bytearray(payload)
            for _ in range(1 + stream.below(2)):
                damaged[stream.below(len(damaged))] = stream.below(256)
            try:
                message = read(bytes(damaged), run)
            except MessageError as error:
                assert error.reason in REASONS, error.reason
                refused += 1
            else:
                assert message.encode(run) == damaged, damaged.hex()
    assert refused > 100, refused


def test_noise_is_refused():
    stream = Stream(5, b"noise")
    run = run_of()
    for length in range(40):
        noise = bytes([0x11 + stream.below(2)] + [stream.below(256) for _ in range(length)])
        for read in (read_up, read_commit):
            assert raises(MessageError, read, noise, run).reason in REASONS, noise


def test_another_version_type_or_run_is_refused():
    for payload, read, run in samples():
        for first, reason in (
            (0x21, "version"),
            (0x01, "version"),
            (0x13, "version"),
            (payload[0] ^ 3, "version"),
        ):
            assert raises(MessageError, read, bytes([first]) + payload[1:], run).reason == reason
        other = run_of(run.kind, run=301)
        assert raises(MessageError, read, payload, other).reason == "run"


def test_what_a_run_cannot_hold_is_refused():
    run = run_of()
    stream = Stream(6, b"bounds")
    for name, value in (
        ("sums", [5001] + [0] * 8),
        ("sums", [1, 1 << 16, 0] + [0] * 6),
        ("contributors", 1 << 5),
    ):
        up = drawn_up(stream, run)
        setattr(up, name, value)
        assert raises(MessageError, read_up, up.encode(run), run).reason == "value", (name, value)
    for name, value in (
        ("counts", [0, 5001, 0]),
        ("centres", [0, 0, 0, 0, 0, 32768]),
        ("missing", 1 << 5),
        ("contributors", 1 << 5),
        ("flags", GOSSIP),
        ("flags", 64),
    ):
        commit = drawn_commit(stream, run)
        setattr(commit, name, value)
        assert raises(MessageError, read_commit, commit.encode(run), run).reason == "value", (name, value)


def test_a_commit_of_gossip_may_count_all_points_at_every_node():
    run = run_of("gossip")
    commit = drawn_commit(Stream(7, b"counts"), run)
    commit.counts = [5 * 5000, 0, 1]
    assert read_commit(commit.encode(run), run).counts == commit.counts
    commit.counts = [5 * 5000 + 1, 0, 1]
    assert raises(MessageError, read_commit, commit.encode(run), run).reason == "value"


def commit_of(flags=0, step=1, missing=0, epoch=(0, 9, 0)):
    commit = Commit()
    commit.flags, commit.step, commit.missing, commit.epoch = flags, step, missing, epoch
    return commit


def test_the_greater_commit_by_rule_12():
    """From the least to the greatest: rank, step, fewest ever missing, epoch."""
    order = [
        commit_of(step=1),
        commit_of(step=1, epoch=(0, 9, 1)),
        commit_of(step=1, epoch=(0, 10, 0)),
        commit_of(step=1, epoch=(1, 4, 0)),
        commit_of(step=2, missing=0b111),
        commit_of(step=2, missing=0b10000),
        commit_of(step=2, missing=0b10000, epoch=(5, 9, 0)),
        commit_of(step=2),
        commit_of(FINAL | CONVERGED, step=3, missing=0b11),
        commit_of(FINAL, step=5, missing=0b1),
        commit_of(FINAL | CONVERGED, step=2),
        commit_of(FINAL, step=4),
    ]
    for low in range(len(order)):
        assert order[low].beats(None)
        assert not order[low].beats(order[low])
        for high in range(low + 1, len(order)):
            assert order[high].beats(order[low]) and not order[low].beats(order[high]), (low, high)
