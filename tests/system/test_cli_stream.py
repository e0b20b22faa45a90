"""Streams: real nodes of both runtimes that sense a replay; `dcka stream`, `anomalies` and `check`."""

import json
import os
import time

import numpy as np
import pytest
from lab_folder import RUNTIMES, caller
from servers import running

from dcka.config import State, load, template
from dcka.emulation.cpython import CPythonNetwork
from dcka.emulation.micropython import MicroPythonNetwork, available
from dcka.emulation.network import Additions
from dcka.mqtt import Connection
from dcka.mqtt.address import note_broker
from dcka.runs.outcome import Outcome
from dcka.sensing.replay import replay_files
from dcka.sensing.settings import REPLAY_FILE, sensor_parts, sensor_settings

NODES = (1, 2, 3)
FILE = {
    "network": {"name": "lab", "nodes": list(NODES)},
    "topology": {"kind": "line", "root": 1},
    "run": {"k": 2, "init": "kmeans++", "patience_ms": 300},
}
DEVICES = '[{ driver = "dht22", pin = 4, columns = { temperature = 1, humidity = 1 } }]'
COUNT = 60


def readings():
    """Two clouds in turn; every tenth reading of node 3 is above the range of the file."""
    stream = np.random.default_rng(6)
    rows = []
    for row in range(COUNT):
        warm = row // 3 % 2
        hot = 70.0 if row % 30 == 29 else 18 + 9 * warm + stream.normal() / 3
        rows.append(f"{1 + row % 3},{hot:.1f},{40 + 20 * warm + stream.normal():.1f}")
    return "\n".join(["mote,temperature,humidity", *rows]) + "\n"


def write_files(place):
    (place / "readings.csv").write_text(readings())
    text = template({**FILE, "data": {"split_by": "mote"}, "sensors": {"every_s": 2, "sync_every": 1}})
    text = text.replace("\ndevices = []", f"\ndevices = {DEVICES}")
    ends = "range = { temperature = [0, 50], humidity = [0, 100] }"
    lines = [ends if line.startswith("# range = {") else line for line in text.splitlines()]
    text = "\n".join(lines).replace('window = "24h"', 'window = "10m"').replace("every_s = 2", "every_s = 1")
    (place / "network.toml").write_text(text.replace('driver = "dht22"', 'driver = "adc"') if False else text)


@pytest.fixture(scope="module", params=RUNTIMES)
def lab(request, tmp_path_factory):
    """(folder, network): nodes that sense every two seconds."""
    if request.param == "micropython" and not available():
        pytest.skip(str(available().reason))
    kind = MicroPythonNetwork if request.param == "micropython" else CPythonNetwork
    place = tmp_path_factory.mktemp("lab")
    write_files(place)
    config = load(place / "network.toml")
    contents = replay_files(place / "readings.csv", NODES, config.sensors, config.data)
    additions = Additions(
        sensor_parts(config.sensors, replayed=True),
        sensor_settings(config.sensors, replayed=True),
        {node: {REPLAY_FILE: contents[node]} for node in NODES},
    )
    with (
        running("embedded") as broker,
        kind("lab", NODES, broker.address, folder=place / "nodes", additions=additions) as emulated,
    ):
        note_broker(State(place / ".dcka"), broker.address, os.getpid())
        yield place, emulated
