"""Each way in which a broker can fail has its own class and sentence, in a bounded time (case C30)."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from dcka.broker import (
    BrokerUnavailable,
    BrokerUrl,
    NameUnknown,
    NoAnswer,
    NotAllowed,
    NotListening,
    await_broker,
    probe,
)
from dcka.broker.url import joined

Talk = Callable[[socket.socket], None]


@contextlib.contextmanager
def server(talk: Talk) -> Iterator[BrokerUrl]:
    """A TCP server on loopback that does `talk` with each client, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def serve() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):
                    connection, _ = listener.accept()
                    with connection:
                        if not over.is_set():
                            talk(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        port = listener.getsockname()[1]
        try:
            yield BrokerUrl("127.0.0.1", port)
        finally:
            over.set()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                pass
            thread.join()


def answering(code: int) -> Talk:
    def talk(connection: socket.socket) -> None:
        assert connection.recv(1024)[0] == 0x10  # CONNECT
        connection.sendall(bytes([0x20, 2, 0, code]))
        connection.recv(1024)  # until the client goes

    return talk


def silent(connection: socket.socket) -> None:
    while connection.recv(1024):
        pass


def babbling(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    silent(connection)


def closing(connection: socket.socket) -> None:
    connection.recv(1024)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def failure(url: BrokerUrl, timeout: float = 5.0) -> BrokerUnavailable:
    with pytest.raises(BrokerUnavailable) as caught:
        probe(url, timeout)
    assert str(url) in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_broker_that_accepts() -> None:
    with server(answering(0)) as url:
        assert 0 <= probe(url) < 5


def test_the_client_says_goodbye_after_the_answer() -> None:
    seen: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        connection.recv(1024)
        connection.sendall(bytes([0x20, 2, 0, 0]))
        seen.append(connection.recv(1024))

    with server(talk) as url:
        probe(url)
    assert seen == [bytes([0xE0, 0])]  # DISCONNECT: otherwise a broker would log an error, or publish a will


def test_nobody_listens() -> None:
    error = failure(BrokerUrl("127.0.0.1", free_port()))
    assert isinstance(error, NotListening)
    assert "nothing listens there" in str(error)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a..b", "x" * 64])
def test_an_unknown_name(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_name_server(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    if host.endswith(".invalid"):  # the answer of a real name server would depend on where this runs
        monkeypatch.setattr(socket, "getaddrinfo", no_name_server)
    error = failure(BrokerUrl(host))
    assert isinstance(error, NameUnknown)
    assert f"the name {host} is not found" in str(error)


@pytest.mark.timed
def test_a_name_server_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def slow(*_: object, **__: object) -> list[object]:
        over.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    begun = time.monotonic()
    try:
        error = failure(BrokerUrl("broker.local"), timeout=0.1)
        assert isinstance(error, NameUnknown)
        assert "no name server answers" in str(error)
        assert time.monotonic() - begun < 5
    finally:
        over.set()


@pytest.mark.parametrize("talk", [silent, babbling])
@pytest.mark.timed
def test_a_server_that_never_answers_is_given_up(talk: Talk) -> None:
    with server(talk) as url:
        begun = time.monotonic()
        error = failure(url, timeout=0.2)
        assert isinstance(error, NoAnswer)
        assert time.monotonic() - begun < 5
    if talk is silent:
        assert "takes the connection, but has given no MQTT answer within 0.2 s" in str(error)


def test_a_server_that_hangs_up() -> None:
    with server(closing) as url:
        error = failure(url)
        assert isinstance(error, NoAnswer)
        assert "ended the connection without an MQTT answer" in str(error)


@pytest.mark.parametrize(
    ("code", "username", "password", "kind", "says"),
    [
        (4, "anna", "wrong", NotAllowed, "wrong password for anna"),
        (
            5,
            "anna",
            "wrong",
            NotAllowed,
            "does not let anna in: a wrong password (DCKA",
        ),
        (5, "anna", None, NotAllowed, "wants a password for anna: set DCKA_BROKER_PASSWORD"),
        (5, None, None, NotAllowed, "wants a user name: write mqtt://USER@HOST:PORT"),
        (2, None, None, NotAllowed, "return code 2"),
        (3, None, None, NoAnswer, "not available now"),
    ],
)
def test_a_broker_that_refuses(
    code: int, username: str | None, password: str | None, kind: type[BrokerUnavailable], says: str
) -> None:
    with server(answering(code)) as url:
        error = failure(BrokerUrl(url.host, url.port, username, password))
    assert type(error) is kind
    assert says in str(error)
    assert "wrong" not in str(error).replace("wrong password", "")  # the password itself is not repeated


def test_user_and_password_are_sent() -> None:
    seen: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        seen.append(connection.recv(1024))
        connection.sendall(bytes([0x20, 2, 0, 0]))
        connection.recv(1024)

    with server(talk) as url:
        probe(BrokerUrl(url.host, url.port, "anna", "s3cret"))
    assert seen[0].endswith(b"\x00\x04anna\x00\x06s3cret")


def test_waiting_for_a_broker_that_is_just_starting() -> None:
    asked = threading.Event()
    answers = iter((3, 3, 0))

    def talk(connection: socket.socket) -> None:
        answering(next(answers))(connection)
        asked.set()

    with server(talk) as url:
        assert await_broker(url, limit=10) == url
    assert asked.is_set()
    assert next(answers, None) is None


@pytest.mark.timed
def test_waiting_ends_at_its_limit_and_says_so() -> None:
    begun = time.monotonic()
    with pytest.raises(NotListening, match=r"nothing listens there.*\(tried for 0\.3 s\)$"):
        await_broker(BrokerUrl("127.0.0.1", free_port()), limit=0.3)
    assert 0.1 < time.monotonic() - begun < 5


@pytest.mark.timed
def test_a_refusal_is_not_waited_for() -> None:
    begun = time.monotonic()
    with server(answering(5)) as url, pytest.raises(NotAllowed):
        await_broker(url, limit=60)
    assert time.monotonic() - begun < 10


def test_the_first_of_several_addresses_that_lets_us_in() -> None:
    nobody = BrokerUrl("127.0.0.1", free_port())
    with server(answering(0)) as url:
        assert await_broker(joined([nobody, url]), limit=10) == url


def test_of_several_each_is_named_with_its_own_failure_and_those_that_may_start_are_waited_for() -> None:
    nobody = BrokerUrl("127.0.0.1", free_port())
    with server(answering(5)) as url, pytest.raises(BrokerUnavailable) as caught:
        await_broker(joined([nobody, url]), limit=0.5)
    said = str(caught.value)
    assert type(caught.value) is BrokerUnavailable
    assert said.startswith("none of the broker's 2 addresses can be used: ")
    assert f"{nobody}: nothing listens there" in said
    assert f"{url}: the broker wants a user name" in said
    assert said.endswith("(tried for 0.5 s)")


def test_of_several_that_all_refuse_nothing_is_waited_for() -> None:
    begun = time.monotonic()
    with server(answering(5)) as one, server(answering(5)) as other, pytest.raises(NotAllowed):
        await_broker(joined([one, other]), limit=60)
    assert time.monotonic() - begun < 10


def test_one_that_hangs_leaves_time_for_the_next() -> None:
    with server(silent) as hanging, server(answering(0)) as url:
        assert await_broker(joined([hanging, url]), limit=3) == url
