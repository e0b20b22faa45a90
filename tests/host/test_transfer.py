"""A transfer: every node ends with exactly its file, or keeps its old one and is named."""

import json
import random

import numpy as np
import pytest
from bus_connection import host, retained

from dcka.inject.dataset import from_values
from dcka.inject.transfer import TransferError, send
from dcka.mqtt.readiness import NotReady
from dcka_core.actions import APPEND

__all__ = ["host"]

ROWS = {1: 700, 2: 40, 3: 0}


def dataset(seed=1, rows=None):
    stream = np.random.default_rng(seed)
    values = {node: stream.normal(size=(count, 2)) for node, count in (rows or ROWS).items()}
    return from_values("made", ("x", "y"), values)


@pytest.fixture
def nodes(host):
    """Three nodes without data."""
    for node in ROWS:
        host.bus.add(node, None)
    return host


def stored(host, node):
    return host.bus.flash[node].get("data.bin")


def puts(host, node):
    return [payload for suffix, payload, _ in host.sent if suffix == f"put/{node}"]


def test_every_node_has_its_file_and_then_the_record_is_kept(nodes):
    data = dataset()
    progress = []
    results = send(nodes, data, on_progress=lambda *told: progress.append(told))
    for node, rows in ROWS.items():
        assert stored(nodes, node) == data.data_file(node)
        assert nodes.bus.nodes[node].session is None
        assert (results[node].rows, results[node].bytes) == (rows, len(data.data_file(node)))
        assert (results[node].error, results[node].resent, results[node].skipped) == ("", 0, False)
    assert json.loads(retained(nodes, "dataset")) == data.record()
    assert [suffix for suffix, _, _ in nodes.sent][-1] == "dataset"
    assert {told[0] for told in progress} == set(ROWS)
    assert all(done <= total for _, done, total in progress)
    assert nodes.rejected.total() == 0


def test_a_chunk_fills_what_the_node_takes(nodes):
    send(nodes, dataset(rows={1: 5000, 2: 40, 3: 0}))
    most = 4096  # of the nodes on the bus
    sizes = [len(payload) for payload in puts(nodes, 1)]
    assert max(sizes) <= most
    assert sizes[0] > most - 4


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_lost_the_same_bits_arrive(nodes, seed):
    stream = random.Random(seed)
    nodes.on_way = lambda suffix, payload: None if stream.random() < 0.2 and suffix != "dataset" else payload
    nodes.lose = lambda suffix, payload: suffix.startswith("got/") and stream.random() < 0.2
    data = dataset(seed, {node: rows * 30 for node, rows in ROWS.items()})
    results = send(nodes, data)
    for node in ROWS:
        assert stored(nodes, node) == data.data_file(node)
    assert sum(result.resent for result in results.values()) > 0


def test_an_answer_that_comes_twice_is_answered_once(nodes):
    undisturbed = dataset(rows={1: 9000, 2: 1, 3: 1})
    chunks = send(nodes, undisturbed)[1].chunks
    arrive = nodes.arrive

    def twice(suffix, payload, retained=False):
        arrive(suffix, payload, retained)
        if suffix.startswith("got/"):
            arrive(suffix, payload, retained)

    nodes.arrive = twice
    again = send(nodes, dataset(2, rows={1: 9000, 2: 1, 3: 1}))
    assert again[1].chunks == chunks


def test_a_node_that_has_its_file_is_skipped(nodes):
    data = dataset()
    send(nodes, data)
    nodes.sent.clear()
    results = send(nodes, data)
    assert all(result.skipped for result in results.values())
    assert [suffix for suffix, _, _ in nodes.sent] == ["dataset"]


def test_without_the_brokers_record_nobody_is_skipped(nodes):
    data = dataset()
    send(nodes, data)
    del nodes.bus.retained["dcka/lab/dataset"]
    nodes.forget()
    assert not any(result.skipped for result in send(nodes, data).values())


def test_another_data_set_takes_the_place_of_the_old(nodes):
    send(nodes, dataset(1))
    other = dataset(2)
    send(nodes, other)
    assert {node: stored(nodes, node) for node in ROWS} == {node: other.data_file(node) for node in ROWS}


def test_a_byte_that_changed_on_the_way_is_sent_again(nodes):
    spoilt = []

    def spoil_once(suffix, payload):
        if suffix == "put/1" and not spoilt and len(payload) > 100:
            spoilt.append(payload)
            return payload[:-1] + bytes([payload[-1] ^ 1])
        return payload

    nodes.on_way = spoil_once
    data = dataset()
    send(nodes, data)
    assert spoilt
    assert stored(nodes, 1) == data.data_file(1)


def test_a_file_that_never_arrives_whole_is_given_up_and_the_old_one_stays(nodes):
    old = dataset(1)
    send(nodes, old)
    nodes.on_way = lambda suffix, payload: (
        payload[:-1] + bytes([payload[-1] ^ 1]) if suffix == "put/1" else payload
    )
    with pytest.raises(TransferError, match="node 1: its data did not arrive whole in 3 attempts") as caught:
        send(nodes, dataset(2))
    assert stored(nodes, 1) == old.data_file(1)
    assert [node for node, result in caught.value.results.items() if result.error] == [1]
    assert json.loads(retained(nodes, "dataset")) == old.record()


def test_a_node_that_restarts_in_mid_transfer_gets_all_of_it(nodes):
    restarts = []

    def restart_once(suffix, payload):
        if suffix == "put/1" and len(puts(nodes, 1)) == 2 and not restarts:
            restarts.append(1)
            nodes.bus.kill(1)
            nodes.bus.boot(1)
        return payload

    nodes.on_way = restart_once
    data = dataset(rows={1: 5000, 2: 40, 3: 0})
    results = send(nodes, data)
    assert restarts and results[1].error == ""
    assert stored(nodes, 1) == data.data_file(1)


def test_a_node_that_goes_is_named_and_the_others_have_theirs(nodes):
    def kill(suffix, payload):
        if suffix == "put/2" and 2 in nodes.bus.nodes:
            nodes.bus.kill(2)
            nodes.bus.publish("dcka/lab/status/2", json.dumps(will(2)), True)
        return payload

    nodes.on_way = kill
    data = dataset()
    with pytest.raises(TransferError, match=r"node 2 went offline, 0 of 220 bytes of its data have arrived"):
        send(nodes, data)
    assert stored(nodes, 1) == data.data_file(1)
    assert retained(nodes, "dataset") is None


def will(node):
    return {"v": 1, "node": node, "boot": 1, "state": "offline", "nonce": node * 1000 + 1}


def test_a_node_that_is_silent_is_named(nodes):
    nodes.on_way = lambda suffix, payload: None if suffix == "put/3" else payload
    with pytest.raises(TransferError, match="node 3 does not answer any more, 0 of 56 bytes"):
        send(nodes, dataset())


def test_a_node_that_is_absent_is_named_before_a_byte_is_sent(nodes):
    nodes.bus.retained["dcka/lab/status/2"] = json.dumps(will(2)).encode()
    with pytest.raises(
        NotReady, match=r"nodes 2 and 4 of network lab are not online .*\(node 2 had been\)"
    ) as caught:
        send(nodes, dataset(rows={**ROWS, 4: 3}))
    assert caught.value.nodes == (2, 4)
    assert nodes.sent == []


def test_a_node_in_a_run_is_named_before_a_byte_is_sent(nodes):
    send(nodes, dataset())
    status = json.loads(retained(nodes, "status/2"))
    nodes.bus.retained["dcka/lab/status/2"] = json.dumps(status | {"state": "running"}).encode()
    nodes.sent.clear()
    with pytest.raises(TransferError, match=r"node 2 is in a run that has not ended: .*dcka run --stop"):
        send(nodes, dataset(2))
    assert nodes.sent == []


def test_a_node_that_says_busy_or_refuses_is_named(nodes):
    def answer(suffix, payload):
        if suffix in ("put/1", "put/2"):
            error = "busy" if suffix == "put/1" else "the data can't be stored: 28"
            said = {"v": 1, "transfer": int.from_bytes(payload[1:5], "little"), "next": 0, "error": error}
            nodes.arrive(suffix.replace("put", "got"), json.dumps(said).encode())
            return None
        return payload

    nodes.on_way = answer
    with pytest.raises(TransferError) as caught:
        send(nodes, dataset())
    assert str(caught.value).split("; ") == [
        "node 1 is in a run that has not ended: wait for its end, or end it with dcka run --stop",
        "node 2 refuses its data: the data can't be stored: 28",
    ]


def test_two_nodes_of_one_id_are_found_out(nodes):
    status = json.loads(retained(nodes, "status/1"))
    for nonce in (1, 2, 1):
        nodes.arrive("status/1", json.dumps(status | {"nonce": nonce}).encode())
    with pytest.raises(NotReady, match="node 1: two devices or processes use the same id"):
        send(nodes, dataset())


@pytest.mark.parametrize(
    "garbage",
    [b"{", b"", b"\xff\xfe", b"[]", b'{"v":1}', b'{"v":1,"transfer":1,"next":-5}', b'{"v":1,"transfer":"1"}'],
)
def test_garbage_for_an_answer_is_counted_and_changes_nothing(nodes, garbage):
    disturbed = []

    def disturb(suffix, payload):
        if suffix == "put/1":
            nodes.arrive("got/1", garbage)
            disturbed.append(suffix)
        return payload

    nodes.on_way = disturb
    data = dataset()
    send(nodes, data)
    assert stored(nodes, 1) == data.data_file(1)
    assert nodes.rejected.total() == len(disturbed)
    assert {topic for topic, _ in nodes.rejected} == {"got/1"}


def test_an_outage_loses_nothing(nodes):
    outages = []

    def break_once(suffix, payload):
        if suffix == "put/1" and len(puts(nodes, 1)) == 2 and not outages:
            outages.append(1)
            nodes.outage()
            return None
        return payload

    nodes.on_way = break_once
    data = dataset(rows={1: 9000, 2: 1, 3: 1})
    send(nodes, data)
    assert outages
    assert stored(nodes, 1) == data.data_file(1)


# ---- flash without room ----


def full(nodes, node, left=lambda flash: "data.bin" not in flash):
    """The flash of a node has room for one data set only, until `left` says otherwise."""
    perform = nodes.bus.perform

    def refusing(who, actions):
        for action in actions:
            if action[0] == APPEND and who == node and action[3] == 0 and not left(nodes.bus.flash[node]):
                error = "the data can't be stored: no room: 1568 KB needed, 300 KB free"
                perform(who, nodes.bus.nodes[who].data_failed(error, nodes.bus.now))
            else:
                perform(who, [action])

    nodes.bus.perform = refusing


def test_without_room_at_one_node_nobodys_data_change(nodes):
    old = dataset(1)
    send(nodes, old)
    full(nodes, 2)
    with pytest.raises(TransferError) as caught:
        send(nodes, dataset(2))
    assert str(caught.value) == (
        "node 2 has no room for the new data beside the old (1568 KB needed, 300 KB free); nothing was written. With "
        "--replace the nodes remove their old data first, and have none until all of the new are there"
    )
    assert {node: stored(nodes, node) for node in ROWS} == {node: old.data_file(node) for node in ROWS}
    assert json.loads(retained(nodes, "dataset")) == old.record()


@pytest.mark.parametrize("seed", range(3))
def test_with_replace_the_old_data_go_first(nodes, seed):
    send(nodes, dataset(1))
    full(nodes, 2)
    stream = random.Random(seed)
    nodes.on_way = lambda suffix, payload: None if stream.random() < 0.2 and suffix != "dataset" else payload
    nodes.lose = lambda suffix, payload: suffix.startswith("got/") and stream.random() < 0.2
    other = dataset(2)
    send(nodes, other, replace=True)
    assert {node: stored(nodes, node) for node in ROWS} == {node: other.data_file(node) for node in ROWS}


def test_without_room_for_the_new_data_alone_it_is_said(nodes):
    full(nodes, 2, left=lambda flash: False)
    with pytest.raises(TransferError, match="node 2 has no room for its data, even without its old ones"):
        send(nodes, dataset(), replace=True)


def test_who_has_the_data_already_keeps_them_with_replace(nodes):
    data = dataset()
    send(nodes, data)
    nodes.sent.clear()
    assert all(result.skipped for result in send(nodes, data, replace=True).values())
    assert not [suffix for suffix, _, _ in nodes.sent if suffix.startswith("put/")]
