"""A broker with locks in use: credentials change or die while everybody else stays connected, and what it refuses."""

import json
import re
import ssl
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from secured import NETWORK, Secured, free_ports
from servers import LIMIT_S, wait_until

from dcka.broker import BrokerError, NotAllowed, NotTrusted, probe
from dcka.broker.access import MONITOR
from dcka.broker.folder import door
from dcka.config import State, load
from dcka.errors import UsageError
from dcka.mqtt import Connection, Message
from dcka.security.backup import Places, backup, places_of, restore
from dcka.security.members import remove, rotate, user_named
from dcka.security.server import reload, running_pid
from dcka.security.setup import Wishes, init, renew


@pytest.fixture
def network(tmp_path):
    return Secured(tmp_path, nodes=3)


@contextmanager
def _connected(network, *nodes):
    """Connections of host and nodes, by user."""
    with ExitStack() as stack:
        made = {"host": stack.enter_context(Connection(network.way(), NETWORK))}
        for node in nodes:
            way = network.way().as_node(node)
            made[f"n{node}"] = stack.enter_context(Connection(way, NETWORK, role=f"node-{node}"))
        yield made


def _undisturbed(connection):
    """Whether it has never been lost: what it says arrives, and it has not come back from an outage."""
    connection.flush()
    seen = []
    while (one := connection.next(0)) is not None:
        seen.append(one)
    return connection.connected and all(isinstance(one, Message) for one in seen)


def test_rotation_ends_the_old_password_and_disturbs_nobody_else(network):
    with network.up(), _connected(network, 1, 2) as there:
        old = network.way().as_node(1)
        done = rotate(network.config, network.folder, network.doors, "1")
        assert (done.user, done.reloaded, done.let_in_again) == ("n1", True, False)
        with pytest.raises(NotAllowed):
            probe(old)
        probe(network.way().as_node(1))
        wait_until(lambda: not there["n1"].connected, "the old session is ended")
        assert _undisturbed(there["host"])
        assert _undisturbed(there["n2"])
    with network.up():  # it stays dead
        with pytest.raises(NotAllowed):
            probe(old)
        assert network.prove().wrong == []


def test_a_node_that_is_cut_off_is_offline_for_everybody(network):
    status = {"v": 1, "node": 1, "boot": 3, "nonce": 7}
    with network.up(), _connected(network, 1) as there:
        there["n1"].publish("status/1", {**status, "state": "ready", "step": 4}, retain=True)
        there["n1"].flush()
        rotate(network.config, network.folder, network.doors, "1")
        there["host"].subscribe("status/1")
        said = there["host"].next(LIMIT_S)
        assert isinstance(said, Message)
        assert said.retained
        assert json.loads(said.payload) == {**status, "state": "offline"}


def test_roles_can_be_rotated_too(network):
    with network.up(), _connected(network, 2) as there:
        for role in (MONITOR, "host"):
            old = network.way(role)
            assert rotate(network.config, network.folder, network.doors, role).reloaded
            with pytest.raises(NotAllowed):
                probe(old)
            probe(network.way(role))
        assert _undisturbed(there["n2"])
        assert network.prove((1, 3)).wrong == []


def test_without_a_broker_here_it_counts_from_the_next_start(network):
    old = network.way().as_node(1)
    assert not rotate(network.config, network.folder, network.doors, "n1").reloaded
    assert not reload(network.folder)
    with network.up():
        with pytest.raises(NotAllowed):
            probe(old)
        probe(network.way().as_node(1))


def test_a_lost_node_is_shut_out_and_nothing_of_it_is_left(network):
    with network.up(), _connected(network, 1, 2) as there:
        old = network.way().as_node(2)
        host, lost = there["host"], there["n2"]
        host.publish("rows/2", b"{}", retain=True)
        for suffix in ("status/2", "commit/2", "result/2", "step/2", "x/0/2", "epoch/2"):
            lost.publish(suffix, b"left", retain=True)
        there["n1"].publish("status/1", b"stays", retain=True)
        lost.flush()
        host.flush()
        there["n1"].flush()
        done = remove(network.config, network.folder, network.doors, "2")
        assert done.cleared == ("commit/2", "result/2", "rows/2", "status/2", "step/2")
        assert (done.reloaded, done.in_network_file) == (True, True)
        assert network.doors.removed == (2,)
        assert not network.folder.secret("n2").exists()
        with pytest.raises(NotAllowed):
            probe(old)
        wait_until(lambda: not lost.connected, "its connection is ended")
        assert _undisturbed(host)
        assert _undisturbed(there["n1"])
        assert _retained(host, "+/+") == {"status/1"}
        init(network.config, network.folder, Wishes())
        assert not network.folder.secret("n2").exists()
        assert rotate(network.config, network.folder, network.doors, "2").let_in_again
        # As a node of the network again it is heard again: its neighbours would see what it had left among its sums.
        assert _retained(there["n1"], "x/0/2", "epoch/2", "commit/2") == set()
    with network.up():
        remove(network.config, network.folder, network.doors, "2")
        proof = network.prove()
        assert (proof.nodes, proof.wrong) == ((1, 3), [])


def test_a_node_that_is_no_more_in_the_network_file_is_cleared_all_the_same(network):
    with network.up(), _connected(network, 3) as there:
        there["n3"].publish("status/3", b"left", retain=True)
        there["n3"].flush()
        network.config = network.config.replaced("network", nodes=2)
        done = remove(network.config, network.folder, network.doors, "3")
        assert (done.cleared, done.reloaded, done.in_network_file) == (("status/3",), True, False)
        wait_until(lambda: not there["n3"].connected, "its connection is ended")
        assert _retained(there["host"], "status/3") == set()
        assert network.doors.removed == ()


def _retained(connection, *filters):
    connection.subscribe(*filters)
    connection.flush()
    found = set()
    while (one := connection.next(0.3)) is not None:
        if isinstance(one, Message) and one.retained:
            found.add(one.suffix)
    return found


def test_who_can_be_removed_or_rotated(network):
    assert user_named("n3", network.config) == ("n3", 3)
    for name in ("x", "n", "1.5", "", "-1"):
        with pytest.raises(UsageError, match="is neither a node's id nor host nor monitor"):
            rotate(network.config, network.folder, network.doors, name)
    with pytest.raises(UsageError, match=r"there is no node 9 in"):
        rotate(network.config, network.folder, network.doors, "9")
    with pytest.raises(UsageError, match=r"there is no node 9 in .*, and it has no password"):
        remove(network.config, network.folder, network.doors, "9")
    with pytest.raises(UsageError, match="host is no node: dcka broker rotate host shuts out"):
        remove(network.config, network.folder, network.doors, "host")


def test_a_renewed_certificate_is_served_at_once_and_no_connection_ends(network):
    with network.up(), _connected(network, 1) as there:
        before, authority = _served(network), network.folder.ca.read_bytes()
        renew(network.folder, network.doors, 90)
        assert reload(network.folder)
        wait_until(lambda: _served(network) != before, "the new certificate")
        assert _served(network) == network.folder.certificate.read_text()
        assert network.folder.ca.read_bytes() == authority
        probe(network.way())  # who trusts the authority needs nothing new
        assert _undisturbed(there["host"])
        assert _undisturbed(there["n1"])


def _served(network):
    return ssl.get_server_certificate((network.doors.here, network.doors.host_port), timeout=LIMIT_S)


def test_another_authority_is_not_taken_for_ours(network, tmp_path):
    (tmp_path / "other").mkdir()
    other = Secured(tmp_path / "other")
    with network.up(), pytest.raises(NotTrusted, match="its certificate is not of the authority in"):
        probe(replace(network.way(), ca=other.folder.ca))


def test_an_expired_certificate_is_told_before_anything_starts(network):
    long_ago = datetime.now(UTC) - timedelta(days=500)
    network.folder.certificate.unlink()
    init(network.config, network.folder, Wishes(), now=long_ago)
    with pytest.raises(UsageError, match=r"broker\.crt expired on .*: dcka broker renew"), network.up():
        pass
    renew(network.folder, network.doors, 10)
    with network.up():
        probe(network.way())


def test_one_broker_to_a_folder_and_to_a_port(network, tmp_path):
    with network.up() as broker:
        assert running_pid(network.folder) == broker.pid
        with (
            pytest.raises(BrokerError, match=r"a broker runs out of .* already: use that one, or stop it"),
            network.up(),
        ):
            pass
        (tmp_path / "other").mkdir()
        other = Secured(tmp_path / "other")
        init(other.config, other.folder, Wishes(port=network.doors.node_port, host_port=free_ports(1)[0]))
        taken = (
            f"port {network.doors.node_port} on 127.0.0.1: address already in use: stop what listens there"
        )
        with pytest.raises(BrokerError, match=re.escape(taken)), other.up():
            pass
        kept = places_of(network.config, State(network.home / ".dcka"), network.folder)
        archive = tmp_path / "kept.tgz"
        backup(network.config, kept, archive)
        with pytest.raises(UsageError, match=r"a broker runs out of .*: stop it first"):
            restore(archive, kept, force=True)
        probe(network.way())
    assert running_pid(network.folder) is None


def test_a_broken_configuration_is_told_with_the_servers_words(network):
    words = r"mosquitto ended at once \(exit code \d+\); it said: .*nonsense"
    wrong = network.up_with("mosquitto.conf", "persistence true", "nonsense true")
    with pytest.raises(BrokerError, match=words), wrong:
        pass


def test_what_is_retained_outlives_the_broker_and_goes_with_a_backup(network, tmp_path):
    with network.up(), Connection(network.way(), NETWORK) as host:
        host.publish("run", b'{"v":1}', retain=True)
        host.flush()
    archive = tmp_path / "kept.tgz"
    backup(network.config, places_of(network.config, State(network.home / ".dcka"), network.folder), archive)
    home = tmp_path / "elsewhere"
    places = Places(home / "network.toml", home / ".dcka", home / "broker")
    restore(archive, places)
    moved = replace_home(network, home)
    with moved.up(), Connection(moved.way(), NETWORK) as host:
        assert _retained(host, "run") == {"run"}
        assert moved.prove().wrong == []


def replace_home(network, home):
    """The same network in the folder to which it was restored."""
    moved = object.__new__(Secured)
    moved.home, moved.file = home, home / "network.toml"
    moved.config = load(moved.file)
    moved.folder = type(network.folder).beside(moved.file)
    return moved


def test_the_network_file_has_changed_since(network):
    network.config = network.config.replaced("network", nodes=4)
    with (
        pytest.raises(
            UsageError,
            match=r"n4 has no password in .*: dcka broker init makes one",
        ),
        network.up(),
    ):
        pass
    init(network.config, network.folder, Wishes())
    with network.up():
        probe(door(network.folder, network.doors, address=network.doors.here).as_node(4))


def test_sizes_and_connections_are_limited(network):
    with network.up(), _connected(network, 1) as there:
        small = bytes(1000)
        there["n1"].publish("result/1", small)
        assert _undisturbed(there["n1"])
        there["n1"].publish("result/1", bytes((1 << 20) + 4096))
        wait_until(lambda: not there["n1"].connected, "who sends too much is disconnected")
        assert _undisturbed(there["host"])
