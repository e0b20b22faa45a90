"""A node's own connection, on MicroPython: whom it trusts, why it says that it failed, and how long it may be held."""

import contextlib
import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from by_hand import ByHand
from certificates import Authority, Pair
from interpreters import LAUNCH
from servers import free_port, running, silent_server, wait_until
from tls_servers import mosquitto_with, tls_server

from dcka.broker import BrokerUrl
from dcka.emulation.micropython import MicroPythonNetwork, available

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("connect_program.py")
# The firmware as sources, and beside them the MQTT client.
PATHS = (ROOT / "firmware", sysconfig.get_path("purelib"))

pytestmark = pytest.mark.skipif(not available(), reason="there is no MicroPython for this platform")


@dataclass(frozen=True)
class Trust:
    """`ours` is trusted by the nodes of these tests; `good` is its server's certificate for loopback."""

    ours: Authority
    theirs: Authority
    good: Pair


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    folder = tmp_path_factory.mktemp("certificates")
    ours = Authority(folder, "ours")
    return Trust(ours, Authority(folder, "theirs"), ours.server("good"))


@contextlib.contextmanager
def started(folder: Path, **wanted: Any) -> Iterator[Callable[[], Any]]:
    """connect_program.py at work in `folder`; call what is given for its answer."""
    command = [sys.executable, "-I", "-S", "-c", LAUNCH, sysconfig.get_path("platlib"), "-X", "heapsize=1M"]
    child = subprocess.Popen(
        [*command, PROGRAM, json.dumps(wanted)],
        cwd=folder,
        env={**os.environ, "MICROPYPATH": os.pathsep.join([".", *map(str, PATHS), ".frozen"])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def answer() -> Any:
        output, _ = child.communicate(timeout=120)
        assert child.returncode == 0, output
        return json.loads(output)

    with child:
        try:
            yield answer
        finally:
            child.kill()


def connect(folder: Path, host: str, port: int, ca: Path | None, attempts: int = 1, **more: Any) -> Any:
    broker: dict[str, object] = {"host": host, "port": port}
    if ca is not None:
        broker["ca"] = str(ca)
    with started(folder, broker=broker, attempts=attempts, **more) as answer:
        return answer()


def failure(answer: Any) -> tuple[str, str]:
    """The one attempt's reason, and what is said besides. It never held the node's loop."""
    assert not answer["up"]
    assert answer["worst_ms"] < 1000
    [(reason, more)] = answer["failures"]
    return reason, more


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_broker_with_the_right_certificate(trust: Trust, tmp_path: Path, host: str) -> None:
    with mosquitto_with(trust.good, tmp_path) as broker:
        answer = connect(tmp_path, host, broker.tls_port, trust.ours.certificate)
    assert answer["up"]
    assert answer["failures"] == []


@pytest.mark.parametrize(
    ("signer", "hosts", "begins", "ends", "says"),
    [
        ("theirs", ["localhost"], -1, 1, "not correctly signed by the trusted CA"),
        ("ours", ["elsewhere.example", "127.0.0.2"], -1, 1, "does not match with the expected CN"),
        ("ours", ["localhost"], -3, -1, "validity has expired"),
        ("ours", ["localhost"], 1, 3, "validity starts in the future; the node's clock says 20"),
    ],
)
def test_a_certificate_that_is_wrong_and_no_byte_of_mqtt_goes_to_who_shows_it(
    trust: Trust, tmp_path: Path, signer: str, hosts: list[str], begins: int, ends: int, says: str
) -> None:
    authority: Authority = getattr(trust, signer)
    pair = authority.server(f"wrong-{signer}-{begins}", hosts, timedelta(days=begins), timedelta(days=ends))
    heard: list[bytes] = []
    with tls_server(pair, lambda client: heard.append(client.recv(1000))) as port:
        reason, more = failure(connect(tmp_path, "localhost", port, trust.ours.certificate))
    assert reason == "certificate"
    assert says in more
    assert heard == []


def test_what_fails_leaves_no_socket_open(trust: Trust, tmp_path: Path) -> None:
    """After a handshake that fails, MicroPython's encrypted socket doesn't close what is below it."""
    with mosquitto_with(trust.theirs.server("theirs"), tmp_path) as broker:
        answer = connect(tmp_path, "localhost", broker.tls_port, trust.ours.certificate, attempts=6)
    assert [reason for reason, _ in answer["failures"]] == ["certificate"] * 6
    assert answer["descriptors"][1] <= answer["descriptors"][0] + 1


def test_tls_to_a_port_without(trust: Trust, tmp_path: Path) -> None:
    with running("mosquitto") as broker:
        reason, more = failure(connect(tmp_path, "127.0.0.1", broker.address.port, trust.ours.certificate))
    assert (reason, more) == ("closed", "is that the port for TLS?")


def test_no_tls_to_a_port_with(trust: Trust, tmp_path: Path) -> None:
    with mosquitto_with(trust.good, tmp_path) as broker:
        reason, _ = failure(connect(tmp_path, "127.0.0.1", broker.tls_port, None))
    assert reason == "closed"


def test_a_silent_server_is_given_up_and_never_holds_the_loop(trust: Trust, tmp_path: Path) -> None:
    with silent_server() as server:
        plain: dict[str, object] = {"host": server.host, "port": server.port}
        encrypted = {**plain, "ca": str(trust.ours.certificate)}
        with (
            started(tmp_path, broker=plain, attempts=1) as one,
            started(tmp_path, broker=encrypted, attempts=1) as other,
        ):
            answers = one(), other()
    for answer in answers:
        assert failure(answer)[0] == "too slow"
        assert 4000 < answer["ms"] < 8000


@pytest.mark.parametrize("encrypted", [False, True])
def test_nobody_listens(trust: Trust, tmp_path: Path, encrypted: bool) -> None:
    ca = trust.ours.certificate if encrypted else None
    reason, more = failure(connect(tmp_path, "127.0.0.1", free_port(), ca))
    assert reason == "refused"
    assert "ECONNREFUSED" in more


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "ENOENT"), ("", "no certificate in ca.pem"), ("hello\n", "no certificate in ca.pem")],
)
def test_without_an_authority_nothing_is_trusted(
    trust: Trust, tmp_path: Path, content: str | None, says: str
) -> None:
    if content is not None:
        (tmp_path / "ca.pem").write_text(content)
    with mosquitto_with(trust.good, tmp_path) as broker:
        reason, more = failure(connect(tmp_path, "localhost", broker.tls_port, Path("ca.pem")))
    assert reason == "certificate"
    assert says in more


def test_of_several_authorities_each_is_trusted(trust: Trust, tmp_path: Path) -> None:
    both = trust.theirs.certificate.read_text() + "\nfor people: ours\n" + trust.ours.certificate.read_text()
    (tmp_path / "ca.pem").write_text(both)
    with mosquitto_with(trust.good, tmp_path) as broker:
        assert connect(tmp_path, "localhost", broker.tls_port, Path("ca.pem"))["up"]


def test_a_name_is_looked_up_again_until_it_is_found_and_then_kept(tmp_path: Path) -> None:
    closed = free_port()
    answer = connect(tmp_path, "broker.example", 1883, None, attempts=5, names=[None, None, closed])
    assert [reason for reason, _ in answer["failures"]] == ["unknown host"] * 2 + ["refused"] * 3
    assert answer["asked"] == 3


def test_after_five_attempts_the_name_is_looked_up_anew_for_the_broker_may_have_moved(tmp_path: Path) -> None:
    closed = free_port()
    answer = connect(tmp_path, "broker.example", 1883, None, attempts=9, names=[closed, None])
    # The second look-up fails: then the old address is the best there is, and asked five times more.
    assert answer["asked"] == 2
    assert [reason for reason, _ in answer["failures"]] == ["refused"] * 9
    with running("mosquitto") as broker:
        there = broker.address.port
        answer = connect(tmp_path, "broker.example", 1883, None, attempts=9, names=[closed, there])
    assert answer["up"]
    assert len(answer["failures"]) == 5


# The clock (case C33). A board boots in 2000, where every certificate is one of the future.

BOARD_CLOCK = """\
from utime import *
from utime import gmtime as _gmtime
known = False
def gmtime(*when):
    return _gmtime(*when) if known or when else (2000, 1, 1, 0, 0, 0, 5, 1)
"""
TIME_SERVER = """\
import os, time
def settime():
    try:
        os.stat("time-server-answers")
    except OSError:
        raise OSError(110)
    time.known = True
"""


def test_without_the_date_no_connection_is_made_and_with_it_the_node_comes(
    trust: Trust, tmp_path: Path
) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "time.py").write_text(BOARD_CLOCK)
    (tmp_path / "1" / "ntptime.py").write_text(TIME_SERVER)
    heard: list[int] = []
    with tls_server(trust.good, lambda client: heard.append(1)) as port:
        reason, more = failure(connect(tmp_path / "1", "localhost", port, trust.ours.certificate))
    assert reason == "clock"
    assert more.startswith("the date is not known")
    assert heard == []
    with mosquitto_with(trust.good, tmp_path) as broker, closing(ByHand(broker.plain, "t")) as driver:
        url = BrokerUrl("localhost", broker.tls_port, tls=True, ca=trust.ours.certificate)
        with MicroPythonNetwork("t", [1], url, folder=tmp_path) as nodes:
            wait_until(lambda: (tmp_path / "1" / "boots.txt").is_file(), "the node has booted")
            (tmp_path / "1" / "time-server-answers").touch()
            begun = time.monotonic()
            driver.online([1])
            assert time.monotonic() - begun < 30
            assert nodes.failures() == []


def test_without_a_time_server_of_its_own_a_build_says_so(trust: Trust, tmp_path: Path) -> None:
    (tmp_path / "time.py").write_text(BOARD_CLOCK)
    reason, more = failure(connect(tmp_path, "localhost", free_port(), trust.ours.certificate))
    assert reason == "clock"
    assert "ntptime" in more


def test_a_time_server_that_tells_nonsense_is_not_believed(trust: Trust, tmp_path: Path) -> None:
    (tmp_path / "time.py").write_text(BOARD_CLOCK)
    (tmp_path / "ntptime.py").write_text("def settime():\n    pass\n")
    reason, more = failure(connect(tmp_path, "localhost", free_port(), trust.ours.certificate))
    assert (reason, more) == ("clock", "the time server says 2000")


# Several addresses: whoever finds nobody at one goes on to the next, and the names of both are verified.


def connect_to_several(folder: Path, places: list[tuple[str, int]], ca: Path | None, attempts: int) -> Any:
    (host, port), *others = places
    broker: dict[str, object] = {"host": host, "port": port, "others": others}
    if ca is not None:
        broker["ca"] = str(ca)
    with started(folder, broker=broker, attempts=attempts) as answer:
        return answer()


@pytest.mark.parametrize("encrypted", [False, True])
def test_each_address_has_its_turn(trust: Trust, tmp_path: Path, encrypted: bool) -> None:
    ca = trust.ours.certificate if encrypted else None
    with mosquitto_with(trust.good, tmp_path) as broker:
        port = broker.tls_port if encrypted else broker.plain.port
        places = [("127.0.0.1", free_port()), ("127.0.0.1", free_port()), ("localhost", port)]
        answer = connect_to_several(tmp_path, places, ca, 9)
    assert answer["up"]
    assert [reason for reason, _ in answer["failures"]] == ["refused", "refused"]


def test_where_all_are_away_each_is_tried_again_and_again(trust: Trust, tmp_path: Path) -> None:
    answer = connect_to_several(tmp_path, [("127.0.0.1", free_port()) for _ in range(3)], None, 7)
    assert not answer["up"]
    assert [reason for reason, _ in answer["failures"]] == ["refused"] * 7
    assert answer["worst_ms"] < 1000


def test_the_certificate_has_to_be_for_the_name_of_that_very_address(trust: Trust, tmp_path: Path) -> None:
    other = trust.ours.server("for-another-name", ["elsewhere.example"])
    with mosquitto_with(other, tmp_path) as wrong, mosquitto_with(trust.good, tmp_path) as right:
        places = [("localhost", wrong.tls_port), ("localhost", right.tls_port)]
        answer = connect_to_several(tmp_path, places, trust.ours.certificate, 9)
    assert answer["up"]
    [(reason, more)] = answer["failures"]
    assert reason == "certificate"
    assert "expected CN" in more
