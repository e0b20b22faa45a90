"""The messages of `tests/vectors/messages.json`, typed by hand, field by field: read, and written to the same bytes."""

from hashlib import sha256
from json import load

from support import raises, vector_path

from dcka_core.codec import Reader
from dcka_core.epochs import read_place, write_place
from dcka_core.errors import MessageError
from dcka_core.gossip import Gossip
from dcka_core.messages import Commit, is_change, peek_commit, peek_run, read_commit
from dcka_core.record import read_rows, read_run
from dcka_core.spread import Spread
from dcka_core.tree_messages import (
    Up,
    encode_change,
    read_change,
    read_up,
)


def vectors(kind):
    with open(vector_path("messages.json")) as file:
        return load(file)[kind]


def payload_of(vector):
    return bytes.fromhex(vector["hex"].replace(" ", ""))


def mask(indices):
    return sum([1 << index for index in indices])


def test_up():
    """In full, and as differences to the vector that comes before it; sums, offers of a seeding, a score's."""
    for name, count in (("tree", 6), ("seeding", 2), ("score", 1)):
        kind = vectors(name)
        assert len(kind["ups"]) == count
        check_ups(read_run(kind["run"]), kind["ups"])


def check_ups(run, ups):
    read = []
    for vector in ups:
        payload = payload_of(vector)
        base = read[vector["after"]] if "after" in vector else None
        held = Commit()
        held.epoch, held.step, held.centres = tuple(vector["epoch"]), vector["step"], vector.get("centres")
        up = read_up(payload, run, {vector["sender"]: base} if base else None, held)
        read.append(up)
        for key in ("sender", "boot", "step", "parent", "sums", "squares"):
            assert getattr(up, key) == vector[key], (vector["name"], key, getattr(up, key))
        assert list(up.epoch) == vector["epoch"], vector["name"]
        assert up.start.hex() == vector["start"], vector["name"]
        assert up.contributors == mask(vector["contributors"]), vector["name"]
        assert peek_run(payload) == 300
        assert written_up(vector, run, base) == payload, vector["name"]
        if base:
            assert raises(MessageError, read_up, payload, run, None, held).reason == "base", vector["name"]


def written_up(vector, run, base):
    up = Up()
    for key in ("sender", "boot", "step", "parent", "sums", "squares"):
        setattr(up, key, vector[key])
    up.epoch = tuple(vector["epoch"])
    up.start = bytes.fromhex(vector["start"])
    up.contributors = mask(vector["contributors"])
    return bytes(up.encode(run, base, vector.get("centres")))


def test_the_hash_of_the_start():
    for vector in vectors("tree")["ups"] + vectors("seeding")["ups"] + vectors("score")["ups"]:
        if "seed" in vector:
            text = b"local" + vector["seed"].to_bytes(8, "little")
        else:
            text = b"".join([value.to_bytes(2, "little") for value in vector["centres"]])
        said = sha256(text).digest()[:4].hex()
        assert vector["start"] == ("" if "after" in vector else said), vector["name"]


def test_commit():
    seen = 0
    for kind in ("tree", "gossip", "seeding", "score"):
        run = read_run(vectors(kind)["run"])
        for vector in vectors(kind)["commits"]:
            payload = payload_of(vector)
            commit = read_commit(payload, run)
            for key in ("sender", "boot", "step", "flags", "centres", "counts", "ssd"):
                assert getattr(commit, key) == vector[key], (vector["name"], key, getattr(commit, key))
            assert list(commit.epoch) == vector["epoch"], vector["name"]
            assert commit.contributors == mask(vector["contributors"]), vector["name"]
            assert commit.missing == mask(vector["missing"]), vector["name"]
            assert peek_commit(payload) == (300, vector["sender"], vector["step"])
            assert bytes(commit_of(vector).encode(run)) == payload, vector["name"]
            seen += 1
    assert seen == 5


def test_epoch():
    kind = vectors("tree")
    run = read_run(kind["run"])
    for vector in kind["epochs"]:
        payload = payload_of(vector)
        epoch = tuple(vector["epoch"])
        said = (vector["sender"], vector["step"], epoch, vector["parent"])
        assert read_place(payload, run) == said, vector["name"]
        written = write_place(run, vector["sender"], vector["boot"], vector["step"], epoch, vector["parent"])
        assert bytes(written) == payload, vector["name"]
        assert peek_run(payload) == 300


def test_change():
    """What makes one commit out of another."""
    kind = vectors("tree")
    run = read_run(kind["run"])
    for vector in kind["changes"]:
        payload = payload_of(vector)
        base = read_commit(payload_of(kind["commits"][vector["after"]]), run)
        assert is_change(payload) and not is_change(base.encode(run))
        made = read_change(payload, run, base)
        wanted = commit_of(vector)
        for key in COMMIT_KEYS:
            assert getattr(made, key) == getattr(wanted, key), (vector["name"], key, getattr(made, key))
        assert peek_commit(payload) == (300, vector["sender"], vector["step"])
        assert bytes(encode_change(wanted, base, run)) == payload, vector["name"]
        assert raises(MessageError, read_change, payload, run, None).reason == "base", vector["name"]
        assert raises(MessageError, read_change, payload, run, made).reason == "stale", vector["name"]


COMMIT_KEYS = [
    "sender",
    "boot",
    "step",
    "flags",
    "epoch",
    "contributors",
    "missing",
    "centres",
    "counts",
    "ssd",
]


def commit_of(vector):
    commit = Commit()
    for key in ("sender", "boot", "step", "flags", "centres", "counts", "ssd"):
        setattr(commit, key, vector[key])
    commit.epoch = tuple(vector["epoch"])
    commit.contributors = mask(vector["contributors"])
    commit.missing = mask(vector["missing"])
    return commit


def at_the_first_slot(kind, node, vector, put):
    gossip = Gossip(read_run(kind["run"]), read_rows(kind["rows"][str(node)]), node, vector["boot"])
    gossip.begin(vector["step"], put, vector["moved"] == 1)
    gossip.enter_slot()
    return gossip


def test_share_is_written():
    kind = vectors("gossip")
    assert len(kind["shares"]) == 2
    for vector in kind["shares"]:
        sender = at_the_first_slot(kind, vector["sender"], vector, vector["put"])
        assert bytes(sender.message(0)) == payload_of(vector), vector["name"]
        assert sender.mass == vector["kept"], vector["name"]


def test_share_is_taken():
    kind = vectors("gossip")
    for vector in kind["shares"]:
        for node in vector["gives"]:
            receiver = at_the_first_slot(kind, int(node), vector, [0] * 4)
            receiver.take(vector["sender"], 0, payload_of(vector))
            assert receiver.mass == vector["gives"][node], (vector["name"], node)
            assert receiver.waiting() == [], (vector["name"], node)


def test_the_window_of_a_share():
    kind = vectors("gossip")
    run = read_run(kind["run"])
    for vector in kind["shares"]:
        # Two blanks separate the parts: head, numbers, two groups, then the window.
        window = bytes.fromhex("".join(vector["hex"].split("  ")[4:]).replace(" ", ""))
        spread = Spread(run.k, run.n, len(run.members))
        reader = Reader(window)
        spread.read(reader, True)
        reader.end()
        assert (spread.low, spread.high) == (vector["low"], vector["high"]), vector["name"]
        assert spread.ready == mask(vector["ready"]) and spread.lacking == mask(vector["lacking"]), vector[
            "name"
        ]
        assert spread.moved == (vector["moved"] == 1), vector["name"]
        out = bytearray()
        spread.put(out, True)
        assert bytes(out) == window, vector["name"]
