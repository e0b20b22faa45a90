"""Encrypted brokers, from the host and with whole networks: who is trusted, what is said of who is not, and a run."""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from by_hand import RUNTIMES, ByHand, put_data
from certificates import Authority, Pair
from servers import LIMIT_S, running, silent_server
from tls_servers import mosquitto_with, tls_server

from dcka.broker import BrokerUrl, NoAnswer, NotEncrypted, NotTrusted, probe
from dcka.broker.encryption import broker_context
from dcka.cli import main
from dcka.datasets.nine_gaussians import gaussians
from dcka.emulation.cpython import CPythonNetwork
from dcka.emulation.gate import Gate, Gates
from dcka.emulation.link import Link
from dcka.emulation.loop import Loop
from dcka.emulation.micropython import MicroPythonNetwork
from dcka.errors import UsageError
from dcka.mqtt import Connection, Message, Reconnected
from dcka.reference import tree_run
from dcka.topology import Shape, named
from dcka_core.messages import read_commit
from dcka_core.record import read_run

IDS = (1, 2, 3, 4, 5)
GRAPH = named(IDS, Shape("experiment1"))


@dataclass(frozen=True)
class Trust:
    """`good` is a server's certificate of `ours`, for the name localhost alone."""

    ours: Authority
    theirs: Authority
    good: Pair

    def url(self, port: int) -> BrokerUrl:
        return BrokerUrl("localhost", port, tls=True, ca=self.ours.certificate)


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    folder = tmp_path_factory.mktemp("certificates")
    ours = Authority(folder, "ours")
    return Trust(ours, Authority(folder, "theirs"), ours.server("good", ["localhost"]))


Ask = Callable[[BrokerUrl], str]


def by_probe(url: BrokerUrl) -> str:
    """What `probe` says of a broker that it doesn't want."""
    with pytest.raises(NotEncrypted) as caught:
        probe(url, 5)
    return f"{type(caught.value).__name__} {caught.value}"


def by_gate(url: BrokerUrl) -> str:
    """What the emulated nodes of CPython note; they go on asking, and let no node connect."""
    loop = Loop()
    gate = Gate(loop, url.host, url.port, broker_context(url, 1.0))
    passed: list[str] = []
    gate.ask(passed.append)
    deadline = time.monotonic() + LIMIT_S
    try:
        while not gate.last_error and not passed:
            assert time.monotonic() < deadline
            loop.turn(0.1)
    finally:
        gate.close()
        loop.close()
    assert passed == []
    return gate.last_error


ASKS = [by_probe, by_gate]


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize(
    ("signer", "hosts", "begins", "ends", "says"),
    [
        ("theirs", ["localhost"], -1, 1, "its certificate is not of the authority in {ca}: put the right"),
        (
            "ours",
            ["elsewhere.example"],
            -1,
            1,
            "its certificate is not for localhost: use the name that it is for",
        ),
        ("ours", ["localhost"], -3, -1, "its certificate has expired: the broker needs a new one"),
        ("ours", ["localhost"], 1, 3, "its certificate is not valid yet: is this computer's clock right?"),
    ],
)
def test_a_wrong_certificate_is_told_by_its_fault_and_no_byte_of_mqtt_goes_to_who_shows_it(
    trust: Trust, ask: Ask, signer: str, hosts: list[str], begins: int, ends: int, says: str
) -> None:
    authority: Authority = getattr(trust, signer)
    pair = authority.server(f"wrong-{signer}-{begins}", hosts, timedelta(days=begins), timedelta(days=ends))
    heard: list[bytes] = []

    def listen(client: object) -> None:
        heard.extend(iter(lambda: client.recv(1000), b""))  # type: ignore[attr-defined]

    with tls_server(pair, listen) as port:
        said = ask(trust.url(port))
    assert heard == []
    assert says.format(ca=trust.ours.certificate) in said
    if ask is by_probe:
        assert said.startswith(f"NotTrusted mqtts://localhost:{port}: ")
        if hosts == ["elsewhere.example"]:
            assert said.endswith("use the name that it is for: elsewhere.example")


@pytest.mark.parametrize("ask", ASKS)
def test_tls_to_a_port_without(trust: Trust, ask: Ask) -> None:
    with running("mosquitto") as broker:
        assert "no TLS is spoken there" in ask(trust.url(broker.address.port))


def test_no_tls_to_a_port_with(trust: Trust, tmp_path: Path) -> None:
    with (
        mosquitto_with(trust.good, tmp_path) as broker,
        pytest.raises(NoAnswer, match=r"without an MQTT answer: .* not one for encryption \(mqtts://\)\?"),
    ):
        probe(BrokerUrl("127.0.0.1", broker.tls_port), 5)


def test_a_system_that_knows_no_such_authority_says_what_to_write(trust: Trust) -> None:
    with tls_server(trust.good, lambda client: None) as port, pytest.raises(NotTrusted) as caught:
        probe(replace(trust.url(port), ca=None), 5)
    assert 'name its file with ca = "FILE.pem" under [network]' in str(caught.value)


@pytest.mark.timed
def test_a_silent_server_is_given_up(trust: Trust) -> None:
    begun = time.monotonic()
    with silent_server() as server, pytest.raises(NoAnswer, match="says nothing about encryption"):
        probe(replace(trust.url(server.port), host=server.host), 0.4)
    assert time.monotonic() - begun < 3


@pytest.mark.timed
def test_a_silent_server_holds_no_emulated_node(trust: Trust) -> None:
    with silent_server() as server:
        url = replace(trust.url(server.port), host=server.host)
        loop = Loop()
        gate = Gate(loop, url.host, url.port, broker_context(url, 1.0))
        gate.ask(lambda _: None)
        worst = 0.0
        try:
            while not gate.last_error:
                begun = time.monotonic()
                loop.turn(0.05)
                worst = max(worst, time.monotonic() - begun)
        finally:
            gate.close()
            loop.close()
    assert gate.last_error == "no answer"
    assert worst < 0.5


def test_the_host_speaks_encrypted_and_comes_back_after_an_outage(trust: Trust, tmp_path: Path) -> None:
    with mosquitto_with(trust.good, tmp_path) as broker, Connection(trust.url(broker.tls_port), "t") as host:
        host.subscribe("status/+")
        host.publish("status/7", b"x" * 50_000)
        message = host.next(LIMIT_S)
        assert isinstance(message, Message)
        assert message.payload == b"x" * 50_000
        broker.again()
        assert isinstance(host.next(LIMIT_S), Reconnected)
        host.publish("status/7", b"y")
        answer = host.next(LIMIT_S)
        assert isinstance(answer, Message)
        assert answer.payload == b"y"


def test_what_comes_in_one_record_is_taken_at_once_by_an_emulated_node(trust: Trust) -> None:
    """No selector tells of what is decrypted already: six packets in one record of TLS, and then silence."""
    connack, publish = bytes([0x20, 2, 0, 0]), bytes([0x30, 4, 0, 1]) + b"ab"
    over = threading.Event()

    def talk(client: object) -> None:
        if client.recv(1000):  # type: ignore[attr-defined]
            client.sendall(connack + 5 * publish)  # type: ignore[attr-defined]
            over.wait(LIMIT_S)

    loop = Loop()
    with tls_server(trust.good, talk) as port:
        url = trust.url(port)
        settings = {
            "network": "t",
            "node": 1,
            "broker": {"host": url.host, "port": port},
            "max_message": 1024,
            "keepalive": 10,
        }
        gates = Gates(loop, url, 1.0)
        link = Link(settings, ("w", "x"), loop, gates, lambda: None)
        link.open()
        deadline = time.monotonic() + LIMIT_S
        try:
            while not link.inbox:
                assert time.monotonic() < deadline
                loop.turn(0.05)
            assert link.inbox == [("a", b"b")] * 5
        finally:
            over.set()
            link.cut()
            gates.close()
            loop.close()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_exact_run_over_encrypted_connections_has_the_bits_of_the_reference(
    runtime: str, trust: Trust, tmp_path: Path
) -> None:
    dataset = gaussians(seed=3, nodes=5, per_gaussian=20)
    put_data(dataset, tmp_path / "flash")
    with (
        mosquitto_with(trust.good, tmp_path) as broker,
        RUNTIMES[runtime]("t", IDS, trust.url(broker.tls_port), folder=tmp_path / "flash") as nodes,
        closing(ByHand(broker.plain, "t")) as driver,
    ):
        driver.online(IDS)
        record = driver.prepare(1, "tree", dataset, GRAPH)
        driver.finish(record)
        assert nodes.failures() == []
        points = [dataset.points[node] for node in record["members"]]
        reference = tree_run(points, record["members"], 9, "local", 1, dataset.grid.extents, 100)
        for node in IDS:
            assert driver.results[node]["steps"] == len(reference.steps)
            commit = read_commit(driver.commits[node], read_run(record))
            assert commit.centres == [int(value) for value in np.ravel(reference.centres)]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_node_comes_back_after_an_outage(runtime: str, trust: Trust, tmp_path: Path) -> None:
    with (
        mosquitto_with(trust.good, tmp_path) as broker,
        RUNTIMES[runtime]("t", [1], trust.url(broker.tls_port)) as nodes,
    ):
        with closing(ByHand(broker.plain, "t")) as driver:
            driver.online([1])
        broker.again()
        with closing(ByHand(broker.plain, "t")) as driver:
            driver.online([1])
        assert nodes.failures() == []


def test_a_micropython_node_without_an_authority_is_refused_and_one_of_cpython_asks_the_system() -> None:
    url = BrokerUrl("localhost", 8883, tls=True)
    with pytest.raises(UsageError, match="knows no certificate authorities"):
        MicroPythonNetwork("t", [1], url)
    CPythonNetwork("t", [1], url)


@pytest.mark.timed
def test_the_command_line_reads_the_authority_beside_the_network_file(
    trust: Trust, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ca.pem").write_bytes(trust.theirs.certificate.read_bytes())
    with mosquitto_with(trust.good, tmp_path) as broker:
        (tmp_path / "network.toml").write_text(
            f'[network]\nbroker = "mqtts://localhost:{broker.tls_port}"\nca = "ca.pem"\n'
        )
        begun = time.monotonic()
        assert main(["run"]) == 1
        assert time.monotonic() - begun < 5
    said = capsys.readouterr().err.strip()
    assert said == (
        f"dcka: mqtts://localhost:{broker.tls_port}: its certificate is not of the authority in ca.pem:"
        " put the right authority's file there"
    )
