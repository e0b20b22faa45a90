"""The faulty radio between a fake broker and a bare socket for a node: what it may touch, how often, and its end."""

import random
import select
import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest
from certificates import Authority
from fake_broker import LIMIT_S, FakeBroker, Peer, publish

from dcka.emulation.air import MOST_ON_THE_WAY, Counts, Faults
from dcka.emulation.faults import FaultyRadio
from dcka.errors import UsageError

END = publish("dcka/net/run", b"the last one")
MANY = 4000
# Packets of all kinds that are none of the consensus, or that a node reads back.
UNTOUCHED = [
    bytes([0x20, 2, 0, 0]),
    bytes([0x90, 3, 0, 1, 0]),
    bytes([0xD0, 0]),
    *(publish(f"dcka/net/{kind}/3", b"host") for kind in ("status", "step", "result", "rows", "put", "got")),
    publish("dcka/net/run", b"{}"),
    publish("dcka/x/run", b"of a network that is called x"),
    publish("dcka/net/commit/3", b"kept", retained=True),
    publish("dcka/net/x/0/3", b"kept", retained=True),
    publish("x", b"short"),
]


def numbered(count, topic="dcka/net/x/0/1", size=0):
    return [publish(topic, number.to_bytes(4, "big") + bytes(size)) for number in range(count)]


@contextmanager
def air(faults):
    """(radio, the broker's end, the node's end) of one connection."""
    with FakeBroker() as broker, FaultyRadio(lambda: broker.url, faults) as radio, ExitStack() as ends:
        node = connected(radio)
        ends.callback(node.close)
        yield radio, broker.peer(), node


def connected(radio):
    address = radio.address
    return Peer(socket.create_connection((address.host, address.port), LIMIT_S))


def heard(faults, packets):
    """(the packets that a node hears of these, all of the consensus; what was counted)."""
    with air(faults) as (radio, broker, node):
        sender = threading.Thread(target=broker.send, args=(b"".join([*packets, END]),))
        sender.start()
        got = node.until(END)
        if faults.reorder and radio.counts().deliveries:
            # What is held comes behind the mark, which is not.
            counts = radio.counts()
            late = counts.deliveries - counts.lost + counts.doubled - len(got)
            got += [node.packet() for _ in range(late)]
        sender.join(LIMIT_S)
        return got, radio.counts()


def test_without_faults_everything_passes_in_its_order():
    packets = [packet for pair in zip(numbered(200), UNTOUCHED * 20, strict=False) for packet in pair]
    got, counts = heard(Faults(), packets)
    assert got == packets
    assert counts == Counts(deliveries=200)


@pytest.mark.parametrize("kind", ["x/0/1", "commit/1", "epoch/1"])
def test_so_many_are_lost_and_doubled_as_was_asked_for(kind):
    packets = numbered(MANY, f"dcka/net/{kind}")
    got, counts = heard(Faults(loss=0.2, duplicate=0.1), packets)
    assert counts.deliveries == MANY
    assert counts.lost == pytest.approx(0.2 * MANY, rel=0.1)
    assert counts.doubled == pytest.approx(0.1 * 0.8 * MANY, rel=0.2)
    assert len(got) == MANY - counts.lost + counts.doubled
    assert len(set(got)) == MANY - counts.lost
    assert got == sorted(got)  # what is not lost keeps its order, a copy behind its first


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_so_many_are_overtaken_as_was_asked_for_and_none_is_lost(share):
    packets = numbered(MANY)
    got, counts = heard(Faults(reorder=share), packets)
    assert sorted(got) == packets
    # One is overtaken where a later one stands before it.
    overtaken, highest = 0, b""
    for packet in got:
        overtaken += packet < highest
        highest = max(highest, packet)
    assert overtaken == pytest.approx(share * MANY, rel=0.1)
    assert counts.overtaken == pytest.approx(overtaken, abs=5)


def test_one_that_nothing_overtakes_comes_all_the_same():
    with air(Faults(reorder=0.999)) as (radio, broker, node):
        only = numbered(1)[0]
        broker.send(only)
        assert node.packet() == only
        assert radio.counts() == Counts(deliveries=1)


def test_each_node_has_losses_of_its_own_and_again_the_same():
    def twice():
        with FakeBroker() as broker, FaultyRadio(lambda: broker.url, Faults(loss=0.5)) as radio:
            lists = []
            for _ in range(2):
                node = connected(radio)
                broker.peer().send(b"".join([*numbered(100), END]))
                lists.append(node.until(END))
                node.close()
            return lists

    first, second = twice()
    assert first != second
    assert twice() == [first, second]


@pytest.mark.parametrize("faults", [Faults(loss=0.99, duplicate=0.9, reorder=0.9), Faults(delay_ms=10_000)])
def test_what_is_kept_and_what_is_said_to_the_host_is_not_touched(faults):
    got, counts = heard(faults, UNTOUCHED * 50)
    assert got == UNTOUCHED * 50
    assert counts == Counts()


def test_what_a_node_says_is_not_touched():
    with air(Faults(loss=0.9, delay_ms=100)) as (radio, broker, node):
        said = b"".join([*numbered(500), *UNTOUCHED])
        node.send(said)
        assert b"".join(broker.packet() for _ in range(500 + len(UNTOUCHED))) == said
        assert radio.counts() == Counts()


def test_packets_may_be_cut_anywhere():
    stream = random.Random(3)
    packets = [
        publish("dcka/net/x/0/1", stream.randbytes(size)) for size in (0, 1, 100, 111, 112, 113, 300, 20_000)
    ]
    whole = b"".join([*packets, *UNTOUCHED, END])
    with air(Faults(duplicate=0.999)) as (_, broker, node):
        place = 0
        while place < len(whole):
            size = stream.choice((1, 1, 1, 2, 3, 1000))
            broker.send(whole[place : place + size])
            place += size
        got = node.until(END)
    assert got == [*[packet for one in packets for packet in (one, one)], *UNTOUCHED]


def test_a_delay_keeps_the_order_and_lasts_so_long():
    with air(Faults(delay_ms=80, loss=0.3)) as (radio, broker, node):
        began = time.monotonic()
        packets = numbered(300)
        broker.send(b"".join([*packets, END]))
        assert node.packet() == END  # what is not touched is not late either
        got = [node.packet() for _ in range(len(packets) - radio.counts().lost)]
        assert time.monotonic() - began >= 0.08
    assert 150 < len(got) < 250
    assert got == sorted(got)


@pytest.mark.parametrize("delay_ms", [0, 10_000])
def test_a_node_that_does_not_read_keeps_the_broker_from_sending(delay_ms):
    block = b"".join(numbered(100, size=1000))
    with air(Faults(duplicate=0.1, delay_ms=delay_ms)) as (_, broker, _):
        broker.socket.setblocking(False)
        taken = 0
        while select.select([], [broker.socket], [], 0.5)[1] and taken < 100_000_000:
            taken += broker.socket.send(block)
    assert taken < 3 * MOST_ON_THE_WAY * 1000 + 30_000_000  # and the system's buffers


def test_a_broker_that_goes_ends_the_connection_and_one_that_comes_elsewhere_is_found():
    brokers = []
    with FaultyRadio(lambda: brokers[-1].url, Faults(loss=0.1)) as radio:
        with FakeBroker() as first:
            brokers.append(first)
            node = connected(radio)
            first.peer().send(END)
            assert node.packet() == END
        assert node.packet() == b""
        node.close()
        early = connected(radio)
        assert early.packet() == b""  # there is nobody
        early.close()
        with FakeBroker() as second:
            brokers.append(second)
            node = connected(radio)
            second.peer().send(END)
            assert node.packet() == END
            node.close()


def test_a_node_that_goes_is_gone_for_the_broker_too():
    with air(Faults(delay_ms=5000)) as (_, broker, node):
        node.send(bytes([0xE0, 0]))
        broker.send(b"".join(numbered(10)))
        node.close()
        assert broker.packet() == bytes([0xE0, 0])
        assert broker.packet() == b""


@pytest.mark.parametrize("faults", [Faults(loss=0.1), Faults(delay_ms=10_000), Faults(reorder=0.9)])
@pytest.mark.timed
def test_its_end_is_soon_and_whole_whatever_is_on_its_way(faults):
    before = threading.active_count()
    with FakeBroker() as broker:
        with FaultyRadio(lambda: broker.url, faults) as radio:
            nodes = [connected(radio) for _ in range(5)]
            for _ in nodes:
                broker.peer().send(b"".join(numbered(2000, size=1000)))
            began = time.monotonic()
        assert time.monotonic() - began < 3
        for node in nodes:
            node.close()
    assert threading.active_count() == before


def test_an_encrypted_broker_is_spoken_to_encrypted_and_verified(tmp_path):
    ours, other = Authority(tmp_path, "ours"), Authority(tmp_path, "other")
    with FakeBroker(ours.server("broker")) as broker:
        url = replace(broker.url, tls=True, ca=ours.certificate)
        with FaultyRadio(lambda: url, Faults(loss=0.5)) as radio:
            assert (radio.address.tls, radio.address.ca) == (False, None)
            node = connected(radio)
            peer = broker.peer()
            peer.send(b"".join([*numbered(100), END]))
            assert len(node.until(END)) == 100 - radio.counts().lost
            node.close()
            assert peer.packet() == b""
        with FaultyRadio(lambda: replace(url, ca=other.certificate), Faults(loss=0.5)) as radio:
            node = connected(radio)
            assert node.packet() == b""
            node.close()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"loss": 1.0}, "--loss is a share of the deliveries, from 0 to less than 1, not 1"),
        ({"loss": float("nan")}, "not nan"),
        ({"duplicate": -0.1}, "--duplicate"),
        ({"reorder": 2}, "--reorder"),
        ({"delay_ms": -1}, "--delay-ms is a number from 0 to 10000, not -1"),
        ({"delay_ms": 1e9}, "--delay-ms"),
    ],
)
def test_faults_that_cannot_be_are_named_as_they_were_given(wrong, words):
    with pytest.raises(UsageError, match=words):
        Faults(**wrong)


def test_faults_in_words():
    assert str(Faults(loss=0.2, delay_ms=50)) == "loses 20 %, delays by 50 ms"
    assert str(Faults(duplicate=0.015, reorder=0.1)) == "doubles 1.5 %, reorders 10 %"
    assert not Faults()


def test_counts_since_an_earlier_moment():
    assert Counts(10, 4, 3, 2).since(Counts(6, 3, 2, 1)) == Counts(4, 1, 1, 1)
