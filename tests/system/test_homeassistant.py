"""`dcka ha` at a real broker: what Home Assistant would find there, and that nothing is left behind."""

import json

import pytest
from lab_folder import caller, lab_folder
from servers import TestClient, wait_until

from dcka.config import State, load, template
from dcka.mqtt.address import broker_of

FILE = {
    "network": {"name": "lab", "nodes": [1, 2, 3]},
    "topology": {"kind": "line"},
    "run": {"k": 2, "latest": True},
}
READINGS = "mote,x\n" + "".join(f"{1 + row % 3},{10 * (row % 2) + row / 10}\n" for row in range(18))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with lab_folder("cpython", tmp_path_factory.mktemp("lab"), FILE, READINGS) as place:
        yield place


@pytest.fixture
def call(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    return caller(capsys)


def retained(folder, *filters):
    """What a client finds that has just come, by topic."""
    config = load(folder / "network.toml")
    found = {}
    with TestClient(broker_of(config, State(folder / ".dcka")), "homeassistant") as client:
        client.subscribe(*filters)
        while True:
            try:
                message = client.next(0.5)
            except Exception as error:
                assert type(error).__name__ == "Empty", error
                return found
            if message.retained and message.payload:
                found[message.topic] = json.loads(message.payload)


def test_devices_come_are_brought_up_to_date_and_go(call, folder):
    assert call("inject", "readings.csv", "--split-by", "mote")[0] == 0
    assert call("run")[0] == 0
    code, out, err = call("ha", "enable", "--unit", "m", "--json")
    assert code == 0, err
    done = json.loads(out)
    found = retained(folder, "homeassistant/#", "dcka/lab/status/+")
    assert sorted(done["devices"]) == sorted(topic for topic in found if topic.startswith("homeassistant/"))
    assert (len(done["devices"]), done["cleared"], done["silent"]) == (3, [], [])
    for node in (1, 2, 3):
        device = found[f"homeassistant/device/dcka_{node}_lab/config"]
        status = found[device["state_topic"]]
        assert device["device"]["sw_version"] == status["firmware"]
        cluster, distance = status["latest"]
        assert cluster in (0, 1) and 0 <= distance < 2

    shown = json.loads(call("ha", "show", "--json")[1])
    assert sorted(shown["devices"]) == sorted(done["devices"])

    (folder / "two.toml").write_text(template(FILE | {"network": {"name": "lab", "nodes": [1, 3]}}))
    again = json.loads(call("ha", "enable", "--network", "two.toml", "--json")[1])
    assert again["cleared"] == ["homeassistant/device/dcka_2_lab/config"]
    wait_until(lambda: len(retained(folder, "homeassistant/#")) == 2, "node 2 is gone")

    code, out, err = call("ha", "disable", "--json")
    assert (code, len(json.loads(out)["cleared"])) == (0, 2)
    wait_until(lambda: retained(folder, "homeassistant/#") == {}, "nothing is left")
    code, out, _ = call("ha", "disable")
    assert (code, out.strip()) == (0, "nothing was announced")


def test_a_prefix_that_is_no_topic_is_refused(call):
    code, _, err = call("ha", "enable", "--prefix", "home/+")
    assert code == 2
    assert "--prefix 'home/+'" in err and "without + and #" in err
