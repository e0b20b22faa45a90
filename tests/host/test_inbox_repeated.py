"""Statuses that the next one repeats: passed over where, and only where, nothing is lost by it."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.monitor import NetworkState
from dcka.mqtt import Message, Reconnected
from dcka.mqtt.inbox import without_repeated
from dcka.mqtt.statuses import PayloadError, read_status


def status(node, step=0, **more):
    record = {"v": 1, "node": node, "boot": 1, "nonce": 7, "state": "running", "run": 1, "step": step}
    record |= {"heap": 1000 + step, "free": 9, "ledger": [step] * 7} | more
    return json.dumps(record, separators=(",", ":")).encode()


def message(payload, node=1, retained=False, at=0.0):
    return Message(f"status/{node}", payload, retained, at)


SAYINGS = st.builds(
    lambda node, step, more, retained: message(status(node, step, **more), node, retained),
    st.integers(1, 3),
    st.integers(0, 5),
    st.sampled_from(
        [{}, {"state": "done"}, {"state": "offline"}, {"problem": '"step":3,'}, {"dropped": {"stale": 1}},
         {"dropped": {"stale": True}}, {"boot": True}, {"heap": -1}, {"heap": True}, {"twin": True}]
    ),
    st.sampled_from([False, False, False, True]),
)  # fmt: skip


def outcome(messages):
    """What was told of each node, and what is known; what is told twice in a row counts once."""
    state, told = NetworkState("n"), {}
    for at, one in enumerate(messages):
        node = int(one.suffix[7:])
        try:
            texts = [event.text for event in state.take(node, one, float(at))]
        except PayloadError as error:
            texts = [str(error)]
        for text in texts:
            if told.setdefault(node, [])[-1:] != [text]:
                told[node].append(text)
    return told, {
        node: (view.status, view.figures, view.counters.dropped) for node, view in state.nodes.items()
    }


@settings(max_examples=50, deadline=None)
@given(st.lists(SAYINGS, max_size=12))
def test_whoever_passes_over_repeated_statuses_knows_and_tells_the_same(messages):
    assert outcome(without_repeated(messages)) == outcome(messages)


def test_of_many_that_say_the_same_the_last_is_kept_and_an_outage_parts_them():
    many = [message(status(1, step), at=float(step)) for step in range(5)]
    assert without_repeated(many) == many[-1:]
    retained = [many[0], message(status(1), retained=True), many[1]]
    assert without_repeated(retained) == retained
    parted = [*many[:2], Reconnected(3.0), *many[2:]]
    assert without_repeated(parted) == [many[1], parted[2], many[-1]]


@settings(max_examples=50, deadline=None)
@given(st.lists(SAYINGS, min_size=1, max_size=6))
def test_a_status_is_read_the_same_with_the_one_before_and_without(messages):
    before = {}
    for one in messages:
        node = int(one.suffix[7:])
        try:
            alone = read_status(node, one.payload)
        except PayloadError as error:
            try:
                read_status(node, one.payload, before.get(node))
            except PayloadError as again:
                assert str(again) == str(error)
                continue
            raise AssertionError(one.payload) from None
        assert read_status(node, one.payload, before.get(node)) == alone
        before[node] = alone
