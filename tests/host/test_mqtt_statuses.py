"""Statuses: whatever comes on the topic is a status or is refused with a reason; the newest of each node counts."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.mqtt.statuses import NodeStatus, PayloadError, Statuses, read_status

WHOLE = {
    "v": 1, "node": 3, "boot": 2, "nonce": 77, "state": "running", "run": 5, "step": 4, "prepared": 5,
    "dataset": "00112233445566aa", "rows": 900, "heap": 60_000, "free": 50_000, "max_message": 1024,
    "firmware": "0.1.0", "runtime": "micropython 1.29.0 linux", "dropped": {"run": 2}, "waiting": [1],
    "problem": "no data", "twin": True,
}  # fmt: skip


def status(**changes):
    record = {name: value for name, value in (WHOLE | changes).items() if value is not None}
    return json.dumps(record).encode()


def test_every_field_is_read():
    read = read_status(3, status())
    told = {name: getattr(read, name) for name in WHOLE if name != "v"}
    assert told == {
        name: tuple(value) if name == "waiting" else value for name, value in WHOLE.items() if name != "v"
    }
    assert read.record == WHOLE
    assert read.online


def test_a_sleeper_is_there_until_it_has_overslept():
    """Its last word is retained, and comes again with every subscription: that makes it no younger."""
    now = [100.0]
    statuses = Statuses(clock=lambda: now[0])
    statuses.take(3, status(state="asleep", until_ms=20_000))
    assert (statuses.online(3), statuses.by_node[3].until_ms) == (True, 20_000)
    now[0] += 20 * 1.1 + 4.9
    statuses.take(3, status(state="asleep", until_ms=20_000), retained=True)
    assert statuses.online(3)
    now[0] += 0.2
    assert not statuses.online(3)
    statuses.take(3, status(state="running"))
    assert statuses.online(3)


def test_a_will_says_little_and_is_enough():
    will = {"v": 1, "node": 3, "boot": 2, "state": "offline", "nonce": 77}
    read = read_status(3, json.dumps(will).encode())
    assert not read.online
    assert (read.run, read.dataset, read.waiting, read.dropped) == (0, "", (), {})


def test_fields_that_nobody_knows_yet_are_passed_over():
    assert read_status(3, status(battery=3.7, colours={"led": "red"})).rows == 900


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"{", "no JSON"),
        (b"", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"A" * 2_000_000, "no JSON"),
        (b"[]", "no JSON object"),
        (b"17", "no JSON object"),
        (b'{"run":1}', "another version"),
        (status(v=2), "another version"),
        (status(v=True, node=4), "node is not the topic's"),
        (status(node=4), "node is not the topic's"),
        (status(node="3"), "node is not the topic's"),
        (status(state="sleeping"), "state is unknown"),
        (status(state=["ready"]), "state is unknown"),
        (status(boot=None), "boot is no whole number"),
        (status(nonce=None), "nonce is no whole number"),
        (status(boot=-5), "boot is no whole number"),
        (status(rows="250"), "rows is no whole number"),
        (status(heap=1.5), "heap is no whole number"),
        (status(run=1 << 64), "run is no whole number"),
        (status(step=True), "step is no whole number"),
        (status(dataset=7), "dataset is no text"),
        (status(problem="x" * 1001), "problem is no text"),
        (status(waiting=3), "waiting is no list"),
        (status(waiting=[1, "2"]), "waiting is no list"),
        (status(dropped=[1]), "dropped is no table"),
        (status(dropped={"run": "2"}), "dropped is no table"),
    ],
)
def test_what_is_no_status_is_refused_with_the_reason(payload, reason):
    with pytest.raises(PayloadError) as caught:
        read_status(3, payload)
    assert str(caught.value).startswith(reason)
    statuses = Statuses()
    statuses.take(3, status())
    with pytest.raises(PayloadError):
        statuses.take(3, payload)
    assert statuses.get(3) == read_status(3, status())


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None, derandomize=True)
@given(st.dictionaries(st.sampled_from(sorted(WHOLE)), anything))
def test_whatever_the_fields_hold_it_is_a_status_or_a_reason(changes):
    try:
        read = read_status(3, json.dumps(WHOLE | changes).encode())
    except PayloadError as error:
        assert str(error)
    else:
        assert isinstance(read, NodeStatus)
        assert {type(getattr(read, name)) for name in ("boot", "run", "rows", "heap")} == {int}


def test_the_newest_counts():
    statuses = Statuses()
    assert not statuses.online(3)
    statuses.take(3, status(state="ready"))
    statuses.take(3, status(state="done"))
    assert statuses.get(3).state == "done"
    assert statuses.online(3)
    statuses.take(3, status(state="offline"))
    assert not statuses.online(3)


def test_a_will_of_a_session_before_does_not_put_a_node_offline():
    statuses = Statuses()
    statuses.take(3, status(nonce=1, twin=False))
    statuses.take(3, status(nonce=2, boot=3, twin=False))
    assert statuses.take(3, status(nonce=1, state="offline", twin=False)) is None
    assert statuses.online(3)
    statuses.take(3, status(nonce=2, state="offline", twin=False))
    assert not statuses.online(3)


def test_a_broker_that_knows_less_than_before_is_passed_over():
    statuses = Statuses()
    statuses.take(3, status(nonce=1, rows=1, twin=False))
    statuses.take(3, status(nonce=2, rows=2, twin=False))
    assert statuses.take(3, status(nonce=1, rows=1, twin=False), retained=True) is None
    assert statuses.get(3).rows == 2
    assert not statuses.twins


def test_a_node_that_restarts_is_one_and_two_that_take_turns_are_two():
    statuses = Statuses()
    for nonce in (1, 2, 3):
        statuses.take(3, status(nonce=nonce, twin=False))
    assert not statuses.twins
    statuses.take(3, status(nonce=2, twin=False))
    assert statuses.twins == {3}


def test_a_node_that_has_met_its_twin_says_so_itself():
    statuses = Statuses()
    statuses.take(3, status(twin=True))
    assert statuses.twins == {3}
