"""Nodes that sleep deeply between two runs: their processes end and begin anew, as boards do. Real interpreters."""

import contextlib
import json
import time
from contextlib import closing

import pytest
from by_hand import ByHand
from servers import running

from dcka.check import check
from dcka.config import Config, from_mapping
from dcka.datasets.nine_gaussians import gaussians
from dcka.emulation import deep_sleep
from dcka.emulation.micropython import MicroPythonNetwork, available
from dcka.emulation.network import Additions
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.runs import pace as pacing
from dcka.runs.controller import run
from dcka.runs.plan import plan
from dcka.sensing.settings import REPLAY_FILE, sensor_parts, sensor_settings

pytestmark = [pytest.mark.system, pytest.mark.skipif(not available(), reason="no MicroPython here")]

IDS = (1, 2, 3)
# Slow enough for a loaded machine to wake in time: a wake takes it seconds.
EVERY_S = 25
SLEEP = {"cap_s": 20, "hold": 10}
# Their oscillators are off by 5 %, either way.
OFF = {1: 50_000, 2: -50_000, 3: 10_000}


def config(name: str) -> Config:
    return from_mapping(
        {
            "network": {"name": name, "nodes": list(IDS)},
            "topology": {"kind": "complete"},
            "run": {"k": 5, "seed": 7, "init": "shared", "max_steps": 30},
        }
    )


def test_two_runs_with_a_deep_sleep_between_are_bit_identical_and_nobody_is_told_offline() -> None:
    dataset = gaussians(seed=5, nodes=3, per_gaussian=20)
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(running("mosquitto"))
        stack.enter_context(pacing.timekeeping(broker.address, "t"))
        connection = stack.enter_context(Connection(broker.address, "t"))
        driver = stack.enter_context(closing(ByHand(broker.address, "t")))
        nodes = stack.enter_context(
            MicroPythonNetwork("t", IDS, broker.address, sleep=SLEEP, sleep_clocks=OFF)
        )
        driver.online(IDS)
        send(connection, dataset)
        pids = {node: nodes.node(node).pid for node in IDS}

        first = run(connection, plan(config("t"), dataset.record(), 1))
        pacing.publish(connection, pacing.pace_of(EVERY_S, pacing.seconds(time.time()) + EVERY_S, 15))
        asleep = lambda: all(driver.statuses[node]["state"] == "asleep" for node in IDS)  # noqa: E731
        driver.until(asleep, "everybody asleep")
        before = {node: driver.statuses[node]["boot"] for node in IDS}
        kept = [nodes.node(node).folder / deep_sleep.RTC_FILE for node in IDS]
        driver.until(lambda: all(file.exists() for file in kept), "RTC memory")
        assert all(0 < file.stat().st_size <= 2048 for file in kept)

        # An ordinary run: it waits for those who sleep.
        second = run(connection, plan(config("t"), dataset.record(), 2), limit_s=120)
        driver.until(asleep, "everybody asleep again")
        assert nodes.failures() == []
        assert {node: nodes.node(node).pid for node in IDS} == pids

    for outcome in (first, second):
        verdict = check(outcome, dataset)
        assert verdict.passed, verdict.reasons
        assert verdict.figures["bit_identical"] is True
    assert {node: result["ssd"] for node, result in first.results.items()} == {
        node: result["ssd"] for node, result in second.results.items()
    }
    for node in IDS:
        own = [status for status in driver.all_statuses if status["node"] == node]
        assert "offline" not in {status["state"] for status in own}
        # Each wake with the radio is a boot, and nothing else is.
        assert second.results[node]["boot"] > before[node] == 1
        until = [status["until_ms"] for status in own if status["state"] == "asleep"]
        assert until and all(0 < ms <= 1100 * EVERY_S for ms in until)
    assert json.dumps(second.record) != json.dumps(first.record)


def sensed(every_s: int) -> Additions:
    """What a node has that replays 100 readings of one column."""
    device = {"driver": "bme280", "sda": 21, "scl": 22, "columns": {"temperature": 2}}
    section = from_mapping({"sensors": {"devices": [device], "every_s": every_s}}).sensors
    rows = b"".join(row.to_bytes(4, "little") for row in range(100))
    return Additions(
        sensor_parts(section, replayed=True),
        sensor_settings(section, replayed=True),
        {1: {REPLAY_FILE: rows}},
    )


def test_it_samples_asleep_without_a_word_and_a_power_cut_leaves_what_is_on_flash() -> None:
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(running("mosquitto"))
        connection = stack.enter_context(Connection(broker.address, "t"))
        driver = stack.enter_context(closing(ByHand(broker.address, "t")))
        pacing.publish(connection, pacing.pace_of(3600, pacing.seconds(time.time()) + 3600, 15))
        stack.enter_context(pacing.timekeeping(broker.address, "t"))
        nodes = stack.enter_context(
            MicroPythonNetwork("t", (1,), broker.address, sleep={"cap_s": 20, "hold": 2}, additions=sensed(5))
        )
        folder = nodes.node(1).folder
        driver.online((1,))
        driver.until(lambda: driver.statuses[1]["state"] == "asleep", "asleep")
        # It asks what time it is long before the hour is over: nothing is known of its oscillator yet.
        assert 60_000 < driver.statuses[1]["until_ms"] < 3_600_000
        said = len(driver.all_statuses)

        def stored() -> bytes:
            return b"".join(file.read_bytes() for file in sorted(folder.glob("segments/*")))

        driver.until(lambda: len(stored()) > 0, "readings on flash")
        first = stored()
        driver.until(lambda: len(stored()) > len(first), "more of them")
        # Four wakes at least, and nobody has heard of one; nor was a boot counted.
        assert (folder / "boots.txt").read_text() == "1"
        assert {status["state"] for status in driver.all_statuses[said:]} <= {"asleep"}
        assert nodes.failures() == []

        before = stored()
        nodes.restart(1)
        driver.until(lambda: driver.statuses[1]["boot"] == 2, "the node is back")
        assert stored().startswith(before)
        driver.until(lambda: driver.statuses[1]["state"] == "asleep", "asleep again")
        assert driver.statuses[1]["nights"]["drift_ppm"] == 0
        assert nodes.failures() == []
