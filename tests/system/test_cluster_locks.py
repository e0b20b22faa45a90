"""A cluster as `dcka broker init --engine nats` writes it: TLS, a user for each node, the rules; with real servers."""

import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from by_hand import RUNTIMES
from running_call import Call
from servers import LIMIT_S, free_port, wait_until

from dcka.broker import BrokerUrl, NotAllowed, NotTrusted, probe
from dcka.broker.cluster import await_all
from dcka.broker.folder import BrokerFolder, door, read_doors
from dcka.cli import main
from dcka.config import Config, load, template
from dcka.datasets import gaussians
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.runs.controller import run
from dcka.runs.plan import plan
from dcka.runs.survey import survey
from dcka.security.members import rotate
from dcka.security.nats_server import SecuredServers

NODES = (1, 2, 3, 4)
PATIENCE_MS = 6000


@dataclass
class Network:
    """A network file, its broker's folder, and the servers that run out of it."""

    file: Path
    config: Config
    place: BrokerFolder
    servers: SecuredServers

    @property
    def url(self) -> BrokerUrl:
        return self.servers.url

    def whole(self) -> None:
        """All servers run."""
        for name in self.servers.ended():
            self.servers.restart(name)
        await_all(self.url.addresses)


def three_servers() -> str:
    return ",".join(f"127.0.0.1:{free_port()}/{free_port()}" for _ in range(3))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    folder = tmp_path_factory.mktemp("locked-cluster")
    file = folder / "network.toml"
    file.write_text(
        template(
            {
                "network": {"name": "locked", "nodes": len(NODES)},
                "run": {"k": 9, "patience_ms": PATIENCE_MS},
                "topology": {"kind": "line"},
            }
        )
    )
    call = ["broker", "init", "--engine", "nats", "--servers", three_servers(), "--bind", "127.0.0.1"]
    assert main([*call, "--network", str(file), "--json"]) == 0
    place = BrokerFolder.beside(file)
    doors = read_doors(place)
    assert doors is not None
    with SecuredServers(place, doors) as servers:
        yield Network(file, load(file), place, servers)


def test_no_secret_lies_about(network: Network) -> None:
    """Passwords and keys are for the owner alone, and no password is in a server's folder."""
    passwords = [file.read_text().strip() for file in network.place.secrets.iterdir()]
    assert len(set(passwords)) == len(NODES) + 2
    for server in network.servers.servers.values():
        assert server.folder.stat().st_mode & 0o077 == 0
        for file in server.folder.glob("*"):
            if file.is_file() and file.name != "broker.lock":
                assert file.stat().st_mode & 0o077 == 0, file
                assert not any(password in file.read_text() for password in passwords)


def test_every_rule_holds_on_every_server(network: Network, capsys: pytest.CaptureFixture[str]) -> None:
    """Users come in at different servers: what one may say or hear holds across them."""
    network.whole()
    call = ["broker", "check", "--nodes", "1-3", "--json", "--network", str(network.file)]
    assert main([*call, "--broker", str(network.url.for_nodes())]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["ok"]
    assert len(record["rows"]) > 100
    assert all(row["ok"] for row in record["rows"])


def test_who_is_not_let_in_at_any_server(network: Network) -> None:
    network.whole()
    for address in network.url.addresses:
        with pytest.raises(NotAllowed):
            probe(replace(address, username=None, password=None))
        with pytest.raises(NotAllowed):
            probe(replace(address, username="n1"))  # with the host's password
        with pytest.raises(NotTrusted):
            probe(replace(address, ca=None))


def test_a_stranger_joins_no_cluster(network: Network) -> None:
    """Between servers each shows a certificate: who has none is sent away, with all else right."""
    context = ssl.create_default_context(cafile=network.place.ca)
    member = network.servers.members[0]
    with (
        socket.create_connection((member.host, member.route_port), LIMIT_S) as plain,
        pytest.raises(ssl.SSLError, match=r"(?i)certificate.required|bad.certificate"),
        context.wrap_socket(plain, server_hostname=member.host) as encrypted,
    ):
        while encrypted.recv(1000):
            pass


@pytest.mark.timeout(180)
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_nodes_log_in_each_as_itself_and_a_server_is_lost(network: Network, runtime: str) -> None:
    network.whole()
    data = gaussians(5, len(NODES), 10)
    with (
        RUNTIMES[runtime]("locked", NODES, network.url) as nodes,
        Connection(network.url, "locked") as connection,
    ):
        send(connection, data)
        found = survey(connection, NODES)
        victim = list(network.servers.servers.values())[1]
        outcomes = []
        for number in (1, 2):
            made = plan(
                network.config, data.record(), found.last_number + number, max_message=found.max_message
            )
            outcome = run(connection, made, ready_s=LIMIT_S)
            assert outcome.finished, outcome.reason
            assert not outcome.missing
            outcomes.append({node: outcome.results[node]["ssd"] for node in NODES})
            if victim.pid is not None:
                victim.kill()
        assert outcomes[0] == outcomes[1]
        assert nodes.failures() == []


def test_a_new_password_for_one_cuts_off_nobody_else(network: Network) -> None:
    """The old one is dead at every server; the others' connections stand."""
    network.whole()
    doors = read_doors(network.place)
    assert doors is not None
    with (
        Connection(network.url, "locked", role="host") as host,
        Connection(network.url.as_node(2), "locked", role="two") as two,
    ):
        before = network.url.as_node(1)
        assert rotate(network.config, network.place, doors, "1").reloaded
        for old in before.addresses:
            wait_until(lambda one=old: not _lets_in(one), "the end of the old password")  # type: ignore[misc]
        for new in network.url.as_node(1).addresses:
            probe(new)
        assert host.connected
        assert two.connected
        host.flush()
        two.flush()
        while (message := two.next(0)) is not None:
            raise AssertionError(f"node 2 was cut off: {message}")


def _lets_in(address: BrokerUrl) -> bool:
    try:
        probe(address)
    except NotAllowed:
        return False
    return True


@pytest.mark.timeout(120)
def test_a_call_for_each_server_and_two_go_on_without_the_third(tmp_path: Path) -> None:
    """As on three computers. The first time all have to be there; then any two let clients in."""
    (tmp_path / "network.toml").write_text(
        template({"network": {"name": "apart", "nodes": 3}, "topology": {"kind": "line"}})
    )
    where = ["--network", str(tmp_path / "network.toml")]
    call = ["broker", "init", "--engine", "nats", "--servers", three_servers(), "--bind", "127.0.0.1"]
    assert main([*call, *where]) == 0
    place = BrokerFolder.beside(tmp_path / "network.toml")
    doors = read_doors(place)
    assert doors is not None
    calls = {
        one.name: Call(tmp_path, "broker", "up", "--json", "--server", one.name) for one in doors.servers
    }
    first, *others = doors.servers
    try:
        assert [list(one.record(60)["servers"]) for one in calls.values()] == [[name] for name in calls]
        url = door(place, doors)
        await_all(url.addresses)
        assert calls.pop(first.name).ended() == 0
        await_all(url.addresses[1:])
        with Connection(url, "apart") as connection:
            assert connection.at.port in [other.port for other in others]
            assert connection.at.port != first.port
    finally:
        codes = [one.ended() for one in calls.values()]
    assert codes == [0, 0]
