"""The loop that all nodes of a process live by, and the gate through which they find their broker."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from dcka.emulation import gate as gates
from dcka.emulation.gate import Gate
from dcka.emulation.loop import EVENT_READ, EVENT_WRITE, Loop

LIMIT_S = 60.0


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


def turn_until(loop: Loop, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        loop.turn(0.5)


@pytest.mark.timed
def test_deadlines_are_called_once_and_in_time(loop: Loop) -> None:
    called: list[float] = []
    due = time.monotonic() + 0.05
    loop.at(lambda: called.append(time.monotonic()), due)
    loop.turn(0)
    assert called == []
    turn_until(loop, lambda: bool(called))
    assert 0 <= called[0] - due < 1
    loop.turn(0)
    assert len(called) == 1


def test_a_deadline_can_be_put_off_and_dropped_also_by_another_that_is_due(loop: Loop) -> None:
    called: list[str] = []

    def second() -> None:
        called.append("second")

    def third() -> None:
        called.append("third")

    def first() -> None:
        called.append("first")
        loop.at(second, time.monotonic() + 3600)
        loop.at(third, None)

    past = time.monotonic() - 1
    for callback in (first, second, third):
        loop.at(callback, past)
    loop.turn(0)
    assert called == ["first"]


def test_a_callback_may_forget_another_that_has_something_to_read(loop: Loop) -> None:
    pairs = [socket.socketpair() for _ in range(2)]
    read: list[int] = []

    def reader(mine: int) -> Callable[[], None]:
        def ready() -> None:
            read.append(mine)
            for end, _ in pairs:
                loop.forget(end)
                end.close()

        return ready

    for number, (end, other) in enumerate(pairs):
        loop.watch(end, EVENT_READ, reader(number))
        other.send(b"x")
    loop.turn(1)
    loop.turn(0)
    assert len(read) == 1
    for _, other in pairs:
        other.close()


def test_what_is_watched_for_can_change(loop: Loop) -> None:
    end, other = socket.socketpair()
    with end, other:
        called: list[str] = []
        loop.watch(end, EVENT_READ, lambda: called.append("read"))
        loop.turn(0)
        loop.watch(end, EVENT_READ | EVENT_WRITE, lambda: called.append("write"))
        loop.turn(0)
        assert called == ["write"]
        loop.forget(end)
        loop.forget(end)
        loop.turn(0)
        assert called == ["write"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "RETRY_S", 0.002)
    monkeypatch.setattr(gates, "RETRY_CAP_S", 0.02)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.usefixtures("quick")
def test_all_who_ask_are_let_through_once_the_port_is_open(loop: Loop) -> None:
    port = free_port()
    gate = Gate(loop, "localhost", port)  # on many machines ::1 first, where nobody will listen
    through: list[str] = []
    callbacks = [lambda address, who=who: through.append(f"{who} {address}") for who in "abc"]
    for callback in callbacks:
        gate.ask(callback)
    gate.withdraw(callbacks[1])
    turn_until(loop, lambda: gate.last_error == "ECONNREFUSED")
    assert through == []
    with socket.create_server(("127.0.0.1", port)):
        turn_until(loop, lambda: bool(through))
        assert through == ["a 127.0.0.1", "c 127.0.0.1"]
        gate.ask(callbacks[1])
        turn_until(loop, lambda: len(through) == 3)
        loop.turn(0.01)
    assert through[2:] == ["b 127.0.0.1"]
    gate.close()


@pytest.mark.usefixtures("quick")
def test_a_name_without_an_address_is_asked_for_again(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    known = False
    through: list[str] = []

    def look_up(host: str, port: int, type: int) -> list[object]:
        if not known:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(gates.socket, "getaddrinfo", look_up)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        gate = Gate(loop, "broker.example", listener.getsockname()[1])
        gate.ask(through.append)
        turn_until(loop, lambda: gate.last_error != "")
        assert gate.last_error == "Name or service not known"
        known = True
        turn_until(loop, lambda: through == ["127.0.0.1"])
        gate.close()


def test_a_port_that_never_answers_is_given_up_and_tried_again(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listener whose backlog is full: the kernel drops what knocks, as a machine that is off does."""
    monkeypatch.setattr(gates, "ANSWER_S", 0.02)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        through: list[str] = []
        gate = Gate(loop, "127.0.0.1", listener.getsockname()[1])
        gate.ask(through.append)
        turn_until(loop, lambda: gate.last_error == "no answer")
        assert through == []
        gate.close()
        for filler in fillers:
            filler.close()


def test_a_gate_that_is_shut_sends_on_who_has_another_and_keeps_who_has_not() -> None:
    """Who has nowhere else to go waits until it opens."""
    with contextlib.closing(Loop()) as loop, socket.create_server(("127.0.0.1", 0)) as elsewhere:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            shut = listener.getsockname()[1]
        gate = Gate(loop, "127.0.0.1", shut)
        other = Gate(loop, "127.0.0.1", elsewhere.getsockname()[1])
        came: list[str] = []
        gate.ask(lambda address: came.append("stayed"))
        gate.ask(
            lambda address: came.append("first"), lambda: other.ask(lambda address: came.append("second"))
        )
        deadline = time.monotonic() + 10
        while not came:
            assert time.monotonic() < deadline
            loop.turn(0.05)
        assert came == ["second"]
        with socket.create_server(("127.0.0.1", shut)):
            while len(came) == 1:
                assert time.monotonic() < deadline
                loop.turn(0.05)
        assert came == ["second", "stayed"]
        gate.close()
        other.close()
