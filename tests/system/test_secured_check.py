"""`dcka broker check` on real brokers: a sound one passes, and each planted mistake is found by name."""

import json
import socket
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest
from secured import NETWORK, Secured, free_ports

from dcka.broker import BrokerUrl, await_broker
from dcka.broker.access import HOST, MONITOR
from dcka.broker.embedded import EmbeddedBroker
from dcka.broker.password_files import read_password_file
from dcka.mqtt import Connection
from dcka.processes import ProcessGroup
from dcka.security.prove import Busy, prove, sample
from dcka.security.setup import rights_of


@pytest.fixture
def network(tmp_path):
    return Secured(tmp_path)


def test_a_sound_broker_passes_and_every_kind_of_proof_is_there(tmp_path):
    _require_second_address()
    network = Secured(tmp_path, bind=("127.0.0.1", "127.0.0.2"))  # the second stands for the address of a LAN
    with network.up():
        proof = network.prove()
    assert proof.wrong == []
    assert proof.nodes == (1, 2, 3, 4)
    seen = {
        (row.who, row.action, row.topic.removeprefix(f"dcka/{NETWORK}/"), row.expected) for row in proof.rows
    }
    doors = network.doors
    at = {"nodes": f"mqtts://127.0.0.1:{doors.node_port}", "host": f"mqtts://127.0.0.1:{doors.host_port}"}
    plain = {name: url.replace("mqtts", "mqtt") for name, url in at.items()}
    assert {
        ("host", "connect", f"mqtts://127.0.0.2:{doors.host_port}", "allowed"),
        ("anonymous", "connect", at["nodes"], "refused"),
        ("anonymous", "connect", at["host"], "refused"),
        ("without encryption", "connect", plain["nodes"], "refused"),
        ("without encryption", "connect", plain["host"], "refused"),
        ("with another authority", "connect", at["host"], "refused"),
        ("n2 with the password of n1", "connect", at["nodes"], "refused"),
        ("n1 at the host's door", "connect", at["host"], "refused"),
        ("n1", "take the session of n2", "", "refused"),
        ("n1", "publish", "x/0/1", "allowed"),
        ("n1", "publish", "x/0/2", "refused"),
        ("n1", "read", "x/0/2", "allowed"),
        ("n1", "read", "x/0/3", "refused"),
        ("n1", "read", "commit/4", "allowed"),
        ("n1", "publish", "run", "refused"),
        ("n1", "will", "status/1", "allowed"),
        ("n1", "will", "run", "refused"),
        ("host", "publish", "run", "allowed"),
        ("host", "publish", "x/0/1", "refused"),
        ("monitor", "publish", "run", "refused"),
        ("monitor", "read", "put/1", "refused"),
        ("monitor", "read", "result/1", "allowed"),
    } <= seen


def _require_second_address():
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.2", 0))
        except OSError:
            pytest.skip("this system's loopback has one address alone: ifconfig lo0 alias 127.0.0.2")


@pytest.mark.parametrize(
    ("file", "old", "new", "what", "observed"),
    [
        # C22: the broker says "delivered", and nobody hears it.
        ("acl", "topic write dcka/attic/step/1\n", "", "n1: publish dcka/attic/step/1", "refused"),
        ("acl", "user n1\n", "user n1\ntopic write dcka/attic/x/+/2\n", "n1: publish dcka/attic/x/0/2", "allowed"),
        ("acl", "user n4\n", "user n4\ntopic read dcka/attic/x/+/1\n", "n4: read dcka/attic/x/0/1", "allowed"),
        ("acl", "user monitor\n", "user monitor\ntopic readwrite #\n", "monitor: publish dcka/attic/run", "allowed"),
        ("acl", "readwrite dcka/attic/status/2", "read a", "n2: publish dcka/attic/status/2", "refused"),
        ("mosquitto.conf", "anonymous false", "anonymous true", "anonymous: connect mqtts://127.0.0.1:", "allowed"),
        ("mosquitto.conf", "use_username_as_clientid true", "", "n1: take the session of n2", "allowed"),
    ],
)  # fmt: skip
def test_a_mistake_is_found_and_named(network, file, old, new, what, observed):
    with network.up_with(file, old, new):
        wrong = network.prove().wrong
    assert wrong
    assert wrong[0].sentence().startswith(what)
    assert wrong[0].observed == observed


def test_a_password_that_the_broker_does_not_know_is_found(network):
    text = "n3:"
    with network.up_with("passwords-nodes", text, "n9:"):
        wrong = network.prove().wrong
    assert wrong[0].sentence().startswith("n3: connect mqtts://127.0.0.1:")
    assert "is refused, and has to be allowed" in wrong[0].sentence()


def test_who_is_online_is_left_alone_and_a_run_is_not_disturbed(network):
    status = {"v": 1, "node": 2, "boot": 1, "nonce": 7, "state": "ready"}
    with network.up(), Connection(network.way().as_node(2), NETWORK, role="node") as node:
        node.subscribe("put/2")
        node.publish("status/2", status, retain=True)
        node.flush()
        with _answering(node):
            proof = network.prove()
            assert proof.left_out == (2,)
            assert 2 not in proof.nodes
            assert proof.wrong == []
            assert node.connected
            with pytest.raises(Busy, match="node 2 is online, and only one can be there under its name"):
                network.prove((1, 2))
            node.publish("status/2", {**status, "state": "running"}, retain=True)
            node.flush()
            with pytest.raises(Busy, match="node 2: a run is going on"):
                network.prove()


@contextmanager
def _answering(node):
    """The node answers a chunk as firmware does, in a thread."""
    over = threading.Event()

    def answer():
        while not over.is_set():
            message = node.next(0.02)
            payload = getattr(message, "payload", b"")
            if len(payload) > 5:
                transfer = int.from_bytes(payload[1:5], "little")
                node.publish("got/2", {"v": 1, "transfer": transfer, "next": 0})

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_the_same_proof_on_nats(network, tmp_path):
    """The rules of the one table as a NATS server has them, and the proof knows no engine."""
    rights = rights_of(network.config, network.doors)
    with _nats(network, rights, tmp_path) as port:
        way = {
            role: BrokerUrl(
                "127.0.0.1", port, role, read_password_file(network.folder.secret(role)), True, network.folder.ca,
                network.folder.secrets,
            )
            for role in (HOST, MONITOR)
        }  # fmt: skip
        await_broker(way[HOST])
        near = network.config.graph.union()
        proof = prove(way[HOST], way[MONITOR], NETWORK, rights, near)
        assert [row.sentence() for row in proof.wrong] == []
        assert {row.action for row in proof.rows} == {"connect", "publish", "read", "will"}
    loose = [
        one
        if one.user != "n1"
        else type(one)(one.user, (*one.publish, "dcka/attic/x/+/2"), one.read, one.node)
        for one in rights
    ]
    with _nats(network, loose, tmp_path) as port:
        moved = {role: replace(url, port=port) for role, url in way.items()}
        await_broker(moved[HOST])
        wrong = prove(moved[HOST], moved[MONITOR], NETWORK, rights, near).wrong
        assert wrong[0].sentence() == "n1: publish dcka/attic/x/0/2: is allowed, and has to be refused"


@contextmanager
def _nats(network, rights, folder):
    """A NATS server with these rights; its MQTT port."""

    def subjects(filters):
        return [one.replace("/", ".").replace("+", "*") for one in filters]

    users = [
        {
            "user": one.user,
            "password": read_password_file(network.folder.secret(one.user)),
            "permissions": {
                "publish": {"allow": subjects(one.publish)} if one.publish else {"deny": [">"]},
                "subscribe": {"allow": [*subjects(one.read), "$MQTT.sub.>"]},
            },
        }
        for one in rights
    ]
    (port,) = free_ports(1)
    configuration = {
        "server_name": "test",
        "listen": "127.0.0.1:-1",
        "jetstream": {"store_dir": str(folder / "nats")},
        "authorization": {"users": users},
        "mqtt": {
            "listen": f"127.0.0.1:{port}",
            "tls": {"cert_file": str(network.folder.certificate), "key_file": str(network.folder.key)},
        },
    }
    file = folder / "nats.conf"
    file.write_text(json.dumps(configuration))
    with ProcessGroup() as group:
        group.start([EmbeddedBroker()._program(), "--config", file])
        yield port


def test_a_sample_has_neighbours_and_strangers():
    line = {node: {node - 1, node + 1} & set(range(1, 101)) for node in range(1, 101)}
    chosen = sample(list(range(1, 101)), line)
    assert chosen == (1, 2, 3, 99, 100)
    assert sample([1, 2, 3], line) == (1, 2, 3)
    apart = {node: set() for node in range(1, 20)}
    assert sample(list(apart), apart) == (1,)
