"""Following boards: on real ptys, with a list of ports and a clock of the test's own."""

import os
import pty
from collections.abc import Callable, Iterator, Sequence

import pytest

from dcka.boards.errors import PortBusy, PortMissing
from dcka.boards.listening import Listener
from dcka.boards.logs import QUIET_S, SCAN_S, Event, Follower
from dcka.boards.ports import PortInfo
from dcka.boards.whose import Identity

BOOT = b"dcka: node 3 of greenhouse, boot 1, firmware 0.1.0\r\n"


class Bench:
    """Boards of this test: ptys under names of the test's choice, and what the system would list."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.listed: list[PortInfo] = []
        self.masters: dict[str, int] = {}
        self.slaves: dict[str, str] = {}
        self.refused: dict[str, Exception] = {}
        self.guesses: dict[str, Identity] = {}

    def plug(self, path: str, serial: str | None = None, location: str | None = None) -> PortInfo:
        master, slave = pty.openpty()
        self.masters[path], self.slaves[path] = master, os.ttyname(slave)
        os.close(slave)
        self.listed.append(PortInfo(path, "CP2102", 0x10C4, 0xEA60, serial, location))
        return self.listed[-1]

    def unplug(self, path: str) -> None:
        os.close(self.masters.pop(path))
        self.listed = [info for info in self.listed if info.path != path]

    def open(self, path: str) -> Listener:
        if path in self.refused:
            raise self.refused[path]
        if path not in self.masters:
            raise PortMissing(f"there is no port {path}")
        return Listener(self.slaves[path])

    def say(self, path: str, data: bytes) -> None:
        os.write(self.masters[path], data)

    def follower(self, wanted: Sequence[PortInfo], all_: bool = False) -> Follower:
        who: Callable[[PortInfo], Identity] = lambda info: self.guesses.get(info.path, Identity())  # noqa: E731
        names = {"dcka_core.tree": {"_7": "dcka_core.tree:._take_sums"}}
        return Follower(wanted, all_, lambda: self.listed, self.open, who, names, lambda: self.now)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    for master in made.masters.values():
        os.close(master)


def told(events: Sequence[Event]) -> list[tuple[str, str, int | None, bool, str]]:
    return [
        (event.kind, event.port, event.identity.node, event.identity.sure, event.text) for event in events
    ]


def test_lines_have_the_node_from_the_registry_until_it_tells_itself(bench: Bench):
    bench.guesses["A"] = Identity(2, "aa:bb:cc:00:00:01")
    follower = bench.follower([bench.plug("A")])
    assert told(follower.start()) == [("opened", "A", 2, False, "CP2102")]
    bench.say("A", b"hello\r\n" + BOOT + b"dcka: ready\n")
    assert told(follower.turn(5)) == [
        ("line", "A", 2, False, "hello"),
        ("line", "A", 3, True, BOOT.decode().strip()),
        ("line", "A", 3, True, "dcka: ready"),
    ]
    follower.close()


def test_a_board_that_comes_back_under_another_name_is_the_same_board(bench: Bench):
    follower = bench.follower([bench.plug("A", "S1"), bench.plug("B", "S2")])
    follower.start()
    bench.say("A", BOOT)
    follower.turn(5)
    bench.say("A", b"last wor")
    assert follower.turn(5) == []
    bench.unplug("A")
    assert [event.text for event in follower.turn(5)] == [
        "last wor",
        "unplugged or reset; waiting for it to come back",
    ]
    bench.plug("C", "S1")
    assert follower.turn(0) == []  # ports are listed twice a second
    bench.now += SCAN_S
    bench.say("C", b"again\n")
    events = follower.turn(5) + follower.turn(0)
    assert told(events) == [("opened", "C", 3, True, "CP2102"), ("line", "C", 3, True, "again")]
    follower.close()


def test_two_boards_that_swap_ports_keep_their_names(bench: Bench):
    follower = bench.follower([bench.plug("A", "S1"), bench.plug("B", "S2")])
    follower.start()
    bench.say("A", BOOT)
    bench.say("B", BOOT.replace(b"3", b"4"))
    follower.turn(5), follower.turn(0)
    bench.unplug("A"), bench.unplug("B")
    follower.turn(5), follower.turn(0)
    bench.plug("A", "S2"), bench.plug("B", "S1")
    bench.now += SCAN_S
    opened = {(event.port, event.identity.node) for event in follower.turn(0)}
    assert opened == {("A", 4), ("B", 3)}
    follower.close()


def test_without_a_serial_number_the_socket_counts_and_the_node_is_a_guess_again(bench: Bench):
    follower = bench.follower([bench.plug("A", location="1-1")])
    follower.start()
    bench.say("A", BOOT)
    follower.turn(5)
    bench.unplug("A")
    follower.turn(5)
    bench.plug("B", location="1-2")
    bench.now += SCAN_S
    assert follower.turn(0) == []
    bench.plug("C", location="1-1")
    bench.now += SCAN_S
    assert told(follower.turn(0)) == [("opened", "C", None, False, "CP2102")]
    follower.close()


def test_with_all_what_is_plugged_in_later_is_followed_too(bench: Bench):
    follower = bench.follower([bench.plug("A", "S1")], all_=True)
    follower.start()
    bench.unplug("A")
    follower.turn(5)
    bench.plug("A", "S9")  # another board, where the first one was
    bench.now += SCAN_S
    assert [event.kind for event in follower.turn(0)] == ["opened"]
    bench.plug("B", "S1")
    bench.now += SCAN_S
    assert [event.port for event in follower.turn(0)] == ["B"]
    follower.close()


def test_without_all_only_what_was_asked_for_is_ever_opened(bench: Bench):
    wanted = bench.plug("B")
    bench.plug("A")
    bench.refused["A"] = AssertionError("it was not asked for")
    follower = bench.follower([wanted])
    follower.start()
    bench.now += SCAN_S
    assert follower.turn(0) == []
    follower.close()


def test_a_busy_port_is_told_once_and_waited_for(bench: Bench):
    infos = [bench.plug("A"), bench.plug("B")]
    bench.refused["A"] = PortBusy("A is in use by minicom (pid 7)")
    follower = bench.follower(infos)
    assert [event.kind for event in follower.start()] == ["waiting", "opened"]
    bench.now += SCAN_S
    assert follower.turn(0) == []
    bench.refused.clear()
    bench.now += SCAN_S
    assert [(event.kind, event.port) for event in follower.turn(0)] == [("opened", "A")]
    follower.close()


def test_where_nothing_can_be_opened_the_first_reason_is_raised(bench: Bench):
    infos = [bench.plug("A"), bench.plug("B")]
    bench.refused = {"A": PortBusy("busy"), "B": PortMissing("missing")}
    with pytest.raises(PortBusy, match="busy"):
        bench.follower(infos).start()


def test_a_prompt_is_shown_after_a_while_although_its_line_has_no_end(bench: Bench):
    follower = bench.follower([bench.plug("A")])
    follower.start()
    bench.say("A", b">>> ")
    assert follower.turn(5) == []
    bench.now += QUIET_S
    assert [event.text for event in follower.turn(0)] == [">>> "]
    bench.say("A", b"dcka: rea")
    follower.turn(5)
    assert [event.text for event in follower.close()] == ["dcka: rea"]


def test_each_board_has_its_own_lines_and_its_own_traceback(bench: Bench):
    follower = bench.follower([bench.plug("A"), bench.plug("B")])
    follower.start()
    bench.say("A", b"Traceback (most recent call last):\n")
    bench.say("B", b"_7 of ")
    follower.turn(5), follower.turn(0)
    bench.say("A", b'  File "dcka_core.tree", line 1, in _7\n')
    bench.say("B", b"B\n\xff\n")
    events = follower.turn(5) + follower.turn(0)
    assert {(event.port, event.text) for event in events} == {
        ("A", '  File "dcka_core.tree", in _take_sums'),
        ("B", "_7 of B"),
        ("B", "\\xff"),
    }
    follower.close()


def test_listening_writes_nothing_and_keeps_others_out(bench: Bench):
    info = bench.plug("A")
    listener = Listener(bench.slaves[info.path])
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(listener.fileno(), b"\x03")
    with pytest.raises(PortBusy):
        Listener(bench.slaves[info.path])
    os.set_blocking(bench.masters["A"], False)
    with pytest.raises(BlockingIOError):
        os.read(bench.masters["A"], 1)
    listener.close(), listener.close()
    Listener(bench.slaves[info.path]).close()
