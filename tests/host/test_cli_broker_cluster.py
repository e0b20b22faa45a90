"""`dcka broker init --engine nats`: what it writes, what it keeps, and what it refuses; no server is started."""

import json
from pathlib import Path

import pytest

from dcka.broker.folder import BrokerFolder, door, read_doors, with_credentials
from dcka.broker.url import parse_broker_url
from dcka.cli import main
from dcka.config import template


@pytest.fixture
def init(tmp_path, monkeypatch):
    """`init(…)`: a call of it in a folder with a network file; its exit code."""
    monkeypatch.chdir(tmp_path)
    Path("network.toml").write_text(
        template({"network": {"name": "net", "nodes": 3}, "topology": {"kind": "line"}})
    )
    return lambda *arguments: main(["broker", "init", *arguments])


def files(name):
    return {file.name: file.read_bytes() for file in Path("broker/servers", name).iterdir() if file.is_file()}


def test_a_folder_for_each_server(init, capsys):
    assert init("--engine", "nats", "--servers", "a,b:9000,c", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["engine"] == "nats"
    assert record["servers"] == ["a", "b", "c"]
    assert record["names"] == ["a", "b", "c", "localhost", "127.0.0.1"]
    for name in record["servers"]:
        assert set(files(name)) == {"nats.conf", "users.conf", "server.crt", "server.key", "ca.pem"}
    assert files("a")["users.conf"] == files("b")["users.conf"]
    doors = read_doors(BrokerFolder(Path("broker")))
    assert [(one.host, one.port) for one in doors.servers] == [("a", 8883), ("b", 9000), ("c", 8883)]


def test_called_again_it_keeps_servers_authority_and_passwords(init):
    assert init("--engine", "nats", "--servers", "a,b,c") == 0
    before = files("b")
    assert init() == 0
    assert files("b") == before
    assert init("--servers", "a,b,c,d,e") == 0
    after = files("b")
    assert after["ca.pem"] == before["ca.pem"]
    assert after["users.conf"] == before["users.conf"]
    assert after["server.crt"] != before["server.crt"]
    assert b"d:6222" in after["nats.conf"]


def test_the_way_to_it_has_all_addresses_and_each_user_its_password(init):
    assert init("--engine", "nats", "--servers", "a,b,c") == 0
    folder = BrokerFolder(Path("broker"))
    url = door(folder, read_doors(folder))
    assert str(url) == "mqtts://host@a:8883,mqtts://host@b:8883,mqtts://host@c:8883"
    assert len({one.password for one in url.addresses}) == 1
    node = url.as_node(1)
    assert str(node) == "mqtts://n1@b:8883,mqtts://n1@c:8883,mqtts://n1@a:8883"
    assert {one.password for one in node.addresses} == {Path("broker/secrets/n1").read_text().strip()}
    some = with_credentials(parse_broker_url("mqtts://c,mqtts://a", {}), folder)
    assert [(one.host, one.username) for one in some.addresses] == [("c", "host"), ("a", "host")]


def test_a_stranger_among_the_addresses_gets_no_password(init):
    assert init("--engine", "nats", "--servers", "a,b,c") == 0
    folder = BrokerFolder(Path("broker"))
    url = with_credentials(parse_broker_url("mqtts://a,mqtts://stranger", {}), folder)
    assert all(one.username is None and one.password is None for one in url.addresses)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--engine", "nats"], "name its servers"),
        (["--servers", "a,b,c"], "write --engine nats"),
        (["--engine", "mosquitto", "--servers", "a,b,c"], "write --engine nats"),
        (["--engine", "nats", "--servers", "a,b"], "3, 5 or 7 servers"),
        (["--engine", "nats", "--servers", "a,b,c", "--name", "x"], "one server's"),
        (["--engine", "nats", "--servers", "a,b,c!"], "neither a host's name nor an address"),
        (["--engine", "nats", "--servers", "a,b,c", "--bind", "127.0.0.1", "--bind", "::1"], "one --bind"),
    ],
)
def test_what_is_refused_writes_nothing(init, arguments, says, capsys):
    assert init(*arguments) == 2
    assert says in capsys.readouterr().err
    assert not Path("broker").exists()


def test_one_folder_has_one_engine(init, capsys):
    assert init("--engine", "nats", "--servers", "a,b,c") == 0
    assert init("--engine", "mosquitto") == 2
    assert "name another folder" in capsys.readouterr().err


def test_a_server_that_is_not_the_clusters_is_not_started(init, capsys):
    assert init("--engine", "nats", "--servers", "a,b,c") == 0
    assert main(["broker", "up", "--server", "d"]) == 2
    assert "the servers of this cluster are a, b, c" in capsys.readouterr().err
