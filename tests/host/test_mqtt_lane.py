"""Messages past paho: whole PUBLISH packets are taken as they come, all else is left to paho, byte for byte."""

import socket
from collections.abc import Iterator

import pytest

from dcka.emulation.shared import Members, SharedParts
from dcka.mqtt.lane import Lane
from dcka_core.errors import CoreError
from dcka_core.record import read_run

PING = b"\xd0\x00"
RUN = {
    "v": 1,
    "run": 3,
    "kind": "tree",
    "members": [7, 300, 9],
    "root": 7,
    "depth": 1,
    "points": 30,
    "n": 2,
    "dataset": "00112233aabbccdd",
    "bits": 15,
    "k": 2,
    "init": "shared",
    "seed": 5,
    "max_steps": 9,
    "patience_ms": 500,
}


class Both:
    """A lane, and the other end of its connection."""

    def __init__(self) -> None:
        self.mine, self.theirs = socket.socketpair()
        self.heard: list[tuple[bytes, bytes, int, bool]] = []
        self.lane = Lane(lambda *message: self.heard.append(message))
        self.lane.enter(self.mine)

    def left(self) -> bytes:
        """What paho would read next."""
        self.mine.setblocking(False)
        return self.mine.recv(1 << 16)


@pytest.fixture
def both() -> Iterator[Both]:
    made = Both()
    yield made
    made.mine.close()
    made.theirs.close()


def packet(topic: str, payload: bytes, retain: bool = False) -> bytes:
    """As a lane writes it."""
    mine, theirs = socket.socketpair()
    lane = Lane(lambda *_: None)
    with mine, theirs:
        lane.enter(mine)
        lane.write(topic, payload, retain)
        lane.flush()
        return theirs.recv(1 << 16)


def test_a_packet_is_the_standards() -> None:
    assert packet("a/b", b"xyz") == b"\x30\x08\x00\x03a/bxyz"
    assert packet("a/b", b"", retain=True) == b"\x31\x05\x00\x03a/b"
    assert packet("t", bytes(200))[:6] == b"\x30\xcb\x01\x00\x01t"


@pytest.mark.parametrize("size", [0, 1, 122, 123, 124, 16_378, 16_379, 40_000])
def test_what_is_written_is_read(both: Both, size: int) -> None:
    payload = bytes(range(256)) * (size // 256 + 1)
    sent = packet("dcka/n/x/0/3", payload[:size])
    both.theirs.sendall(sent)
    assert both.lane.read() is False
    assert both.heard == [(b"dcka/n/x/0/3", payload[:size], len(sent), False)]


def test_all_that_has_come_is_taken_up_to_what_is_paho_s(both: Both) -> None:
    both.theirs.sendall(packet("a", b"1") + packet("b", b"2", retain=True) + PING + packet("c", b"3"))
    assert both.lane.read() is True
    assert [(topic, retained) for topic, _, _, retained in both.heard] == [(b"a", False), (b"b", True)]
    assert both.mine.recv(2) == PING
    assert both.lane.read() is False
    assert both.heard[-1][:2] == (b"c", b"3")


@pytest.mark.parametrize("cut", [1, 2, 3, 5, 9])
def test_a_packet_that_is_not_whole_yet_is_paho_s_and_so_is_all_until_it_has_told_of_it(
    both: Both, cut: int
) -> None:
    whole = packet("abc", b"payload")
    both.theirs.sendall(whole[:cut])
    assert both.lane.read() is True
    assert both.left() == whole[:cut]
    both.theirs.sendall(whole[cut:] + packet("next", b""))
    assert both.lane.read() is True and both.heard == []
    assert both.mine.recv(len(whole) - cut) == whole[cut:]
    both.lane.boundary()
    assert both.lane.read() is False
    assert both.heard[0][0] == b"next"


@pytest.mark.parametrize(
    "other",
    [
        b"\x32\x07\x00\x01a\x00\x01zz",  # QoS 1
        b"\x38\x04\x00\x01az",  # a duplicate
        b"\x30\x03\x00\x09a",  # a topic longer than the packet
        b"\x30\x00",
        b"\x30\xff\xff\xff\xff\x01",  # no length at all
    ],
)
def test_what_is_odd_is_paho_s(both: Both, other: bytes) -> None:
    both.theirs.sendall(other)
    assert both.lane.read() is True
    assert both.heard == [] and both.left() == other


def test_the_end_of_the_connection_is_paho_s(both: Both) -> None:
    both.theirs.close()
    assert both.lane.read() is True


def test_a_full_socket_is_written_to_when_it_takes_more(both: Both) -> None:
    both.mine.setblocking(False)
    payload = bytes(300_000)
    while not both.lane.cut:
        both.lane.write("t", payload, False)
        both.lane.flush()
    assert both.lane.waiting
    got = 0
    both.theirs.setblocking(False)
    while both.lane.waiting:
        got += len(both.theirs.recv(1 << 20))
        both.lane.flush()
    assert not both.lane.cut
    while got % (300_000 + 3 + 1 + 3):  # 1 byte of type, 3 of length, 2 + 1 of topic
        got += len(both.theirs.recv(1 << 20))


def test_what_a_connection_had_not_written_is_lost_with_it(both: Both) -> None:
    both.lane.write("t", b"old", False)
    both.lane.leave()
    assert not both.lane.open and not both.lane.waiting
    both.lane.enter(both.mine)
    both.lane.flush()
    both.theirs.setblocking(False)
    with pytest.raises(BlockingIOError):
        both.theirs.recv(10)


def test_nodes_share_a_run_that_reads_as_each_ones_own() -> None:
    parts = SharedParts()
    shared, own = parts("record").read_run(dict(RUN)), read_run(dict(RUN))
    assert parts.read_run(dict(RUN)) is shared
    assert vars(shared) == vars(own)
    assert [shared.members.index(node) for node in own.members] == [0, 1, 2]
    assert 300 in shared.members and 301 not in shared.members
    with pytest.raises(ValueError, match="301"):
        shared.members.index(301)
    assert parts.read_run({**RUN, "run": 4}) is not shared
    assert parts("tree").__name__ == "dcka_core.tree"


@pytest.mark.parametrize("wrong", [{"run": True}, {"v": 1.0}, {"k": True}, {"members": [7, True]}])
def test_what_is_equal_but_no_number_is_refused_after_the_right_one(wrong: dict[str, object]) -> None:
    parts = SharedParts()
    parts.read_run({**RUN, "run": 1, "k": 1})
    with pytest.raises(CoreError):
        parts.read_run({**RUN, "run": 1, "k": 1, **wrong})
    assert Members([5]) == [5]
