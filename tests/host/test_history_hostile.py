"""Whatever a node or a stranger says, the history takes it as text or not at all, and goes on with what is right."""

import json

import pytest
from history_scene import T0, Heard, Writer, hand_over, told
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dcka.history import open_history

NASTY = [
    "<script>alert(1)</script>",
    "\x1b[2J",
    "a\x00b",
    "\ud800",
    "';DROP TABLE runs;--",
    "%s%n",
    "\u202e",
    "x" * 900,
]


@pytest.fixture(scope="module", params=["tree", "gossip"])
def heard(request):
    return Heard(request.param)


def status(node=1, **more):
    return {"v": 1, "node": node, "boot": 1, "nonce": 5, "state": "ready", **more}


def garbage(run):
    """Messages that say nothing right about a run."""
    step = {
        "v": 1,
        "run": run,
        "node": 1,
        "step": 0,
        "ssd": 5,
        "flags": 0,
        "moved": True,
        "slots": 3,
        "put": "0" * 16,
    }
    centres = [0] * 6
    for wrong in (
        {}, {"step": 1 << 62}, {"step": -1}, {"ssd": float("nan")}, {"ssd": 1 << 70}, {"ssd": True}, {"flags": 99},
        {"node": 9}, {"centres": "abc"}, {"centres": [0] * 5}, {"centres": [70_000] * 6}, {"centres": [None] * 6},
        {"centres": [0.5] * 6}, {"epoch": [1, 2]}, {"epoch": [1 << 62, 1, 1]}, {"missing": [9]}, {"missing": {"a": 1}},
    ):  # fmt: skip
        yield "step/9" if wrong.get("node") else "step/1", {**step, "centres": centres[:5], **wrong}
    result = {
        "v": 1,
        "run": run,
        "node": 1,
        "steps": 3,
        "converged": True,
        "ssd": 5,
        "flags": 3,
        "missing": [],
    }
    for wrong in (
        {},
        {"missing": [77]},
        {"steps": "3"},
        {"converged": 1},
        {"quarantined": []},
        {"rebuilt": 1},
    ):
        yield "result/1", {**result, **wrong}
    yield "commit/1", b""
    yield "commit/1", b"\x12\xff\xff"
    yield "commit/2", bytes(range(40))
    for record in (
        {"v": 1, "run": run + 1, "kind": "tree"},
        {"v": 1, "run": "x"},
        [],
        {"v": 1, "run": 1 << 80},
    ):
        yield "run", record
    yield "dataset", {"v": 1, "dataset": "../../etc", "name": "\x00"}
    yield "dataset", {"v": 1, "dataset": "00" * 8, "name": "<b>\ud800", "bits": 1, "nodes": {}}


def test_what_is_wrong_changes_nothing_of_a_run(history, heard):
    writer = Writer(history)
    hand_over(writer, heard.messages)
    writer.write()
    before = told(history.run("last"))
    state = None
    for suffix, record in garbage(1):
        payload = record if isinstance(record, bytes) else json.dumps(record).encode()
        state = hand_over(writer, [*heard.messages[:0], (suffix, payload)], at=T0 + 5, state=state)
        writer.write()
    writer.close()
    assert told(history.run(1)) == before
    assert len(history.runs()) == 1


def test_hostile_texts_are_kept_as_texts(history, heard):
    writer = Writer(history)
    state = hand_over(writer, heard.messages)
    for place, text in enumerate(NASTY):
        said = status(
            problem=text, firmware=text, step=place, dropped={text: place}, boot=place + 2, nonce=place + 9
        )
        hand_over(writer, [("status/1", json.dumps(said).encode())], state=state, at=T0 + 0.01 * place)
    writer.write()
    writer.close()
    run = history.run("last")
    kept = [status_.record["problem"] for status_ in run.statuses if "problem" in status_.record]
    assert kept == NASTY
    assert all(event.text.isprintable() for event in run.events)
    json.dumps(run.record())


def test_a_megabyte_of_status_takes_little_room_and_no_other_with_it(history, heard):
    writer = Writer(history)
    state = hand_over(writer, heard.messages)
    huge = status(node=2, boot=9, nonce=9, dropped={f"reason {number}": number for number in range(50_000)})
    assert len(json.dumps(huge)) > 1_000_000
    hand_over(
        writer, [("status/2", json.dumps(huge).encode()), ("status/3", b"\xff\xfe")], state=state, at=T0 + 0.5
    )
    writer.write()
    writer.close()
    last = [one for one in history.run("last").statuses if one.node == 2][-1]
    assert len(json.dumps(last.record)) < 20_000 and last.record["boot"] == 9


def test_a_flood_of_useless_messages_is_told_of_some_times(history, heard):
    writer = Writer(history, each=10_000)
    state = hand_over(writer, heard.messages)
    hand_over(writer, [("step/1", b"{")] * 500, state=state)
    writer.write()
    writer.close()
    assert 1 <= len([event for event in history.run("last").events if event.kind == "rejected"]) <= 20


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(
        ["run", "dataset", "status/1", "step/1", "commit/1", "result/1", "step/99", "x", ""]
    ),
    payload=st.one_of(
        st.binary(max_size=80),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
            ),
            max_leaves=9,
        ).map(lambda value: json.dumps(value).encode()),
        st.fixed_dictionaries(
            {"v": st.just(1), "run": st.integers(0, 3), "node": st.integers(0, 5)},
            optional={
                name: st.none() | st.integers() | st.lists(st.integers(), max_size=7) | st.text(max_size=5)
                for name in (
                    "step",
                    "ssd",
                    "flags",
                    "centres",
                    "missing",
                    "epoch",
                    "kind",
                    "steps",
                    "converged",
                )
            },
        ).map(lambda value: json.dumps(value).encode()),
    ),
)
def test_nothing_that_is_said_can_end_the_writer(tmp_path_factory, heard, kind, payload):
    with open_history(_one_file(tmp_path_factory)) as history:
        writer = Writer(history)
        state = hand_over(writer, heard.messages[:4])
        hand_over(writer, [(kind, payload)], state=state)
        writer.write()
        writer.close()
        assert isinstance(history.runs(limit=None), list)


_FILES = {}


def _one_file(factory):
    if "one" not in _FILES:
        _FILES["one"] = str(factory.mktemp("hostile") / "history.sqlite")
    return _FILES["one"]
