"""What a run has cost its nodes: read with care, summed as the core counts it, and a charge worked out by hand."""

import json

import numpy as np
import pytest
from bus_connection import host
from run_network import NODES, equipped, planned
from runs_samples import outcome, result

from dcka.inject.dataset import from_values
from dcka.mqtt import Message
from dcka.mqtt.statuses import PayloadError
from dcka.runs.collector import Collector
from dcka.runs.controller import run
from dcka.runs.ledgers import PLACES, ledgers, worst_node
from dcka.runs.summary import summary, text

__all__ = ["host"]

SPENT = [0, 1, 8, 320, 8, 300, 40]
BOARD = {"runtime": "micropython 1.29.0 esp32"}
DESKTOP = {"runtime": "micropython 1.29.0 linux"}


def counted(node, spent=SPENT, ms=10_730, **changes):
    return result(node) | {"ledger": list(spent), "boot": 3, "ms": ms} | changes


def record():
    return from_values("made", ("a", "b"), {1: np.array([[10.0, -5.0], [10.0 + 32767 / 2, -5.0]])}).record()


def test_a_charge_by_hand():
    """One association, then awake for 10 s: 16 frames each way, the ACKs among them, under topics of 17 bytes."""
    found = ledgers(outcome(results={1: counted(1)}))[1]
    headers = 8 * (4 + 17 + 40) + 8 * 40
    assert found.record() == {
        "boot": 3, "slots_awake": 0, "associations": 1, "broadcasts": 8, "payload_sent": 320, "deliveries": 8,
        "payload_heard": 300, "computing_ms": 40, "awake_ms": 10_730, "wire_sent": 320 + headers,
        "wire_heard": 300 + headers, "modelled_mah": found.mah,
    }  # fmt: skip
    sent_s, heard_s = (
        0.021632,
        0.021472,
    )  # (1,128 + 16 · 36) and (1,108 + 16 · 36) bytes at 1 Mbit/s, 16 · 0.5 ms
    charge_mc = 100 + 30 * 10 + 210 * sent_s + 70 * heard_s + 38 * 0.040
    assert found.mah == pytest.approx(charge_mc / 3600)


def test_slots_do_not_change_what_the_time_costs():
    """They are as long as the run's time makes them."""
    with_slots = ledgers(outcome(results={1: counted(1, [20, *SPENT[1:]])}))[1]
    assert with_slots.mah == pytest.approx(ledgers(outcome(results={1: counted(1)}))[1].mah)
    assert with_slots.ledger.awake_ms == pytest.approx(10_000)


def test_a_run_shorter_than_its_associations_and_its_computing():
    """A desktop joins nothing, and is quick: the charge is that of what an ESP32 would have had to do."""
    found = ledgers(outcome(results={1: counted(1, ms=12)}))[1]
    assert (found.awake_ms, found.ledger.awake_ms, found.ledger.computing_ms) == (12, 0, 0)
    assert found.mah > 100 / 3600


def test_the_worst_node_is_the_one_with_the_largest_charge():
    found = ledgers(outcome(results={1: counted(1), 2: counted(2, [0, 1, 9, 400, 8, 300, 40])}))
    assert worst_node(found) == 2
    assert worst_node(ledgers(outcome(results={1: counted(1), 2: counted(2)}))) == 1


def test_nodes_without_a_ledger_are_left_out():
    """Of an older version, or with a result that was lost."""
    made = summary(outcome(results={1: result(1), 2: counted(2)}), record())
    assert set(made["ledger"]) == {"2"} and made["worst_node"] == 2
    none = summary(outcome(), record())
    assert (none["ledger"], none["worst_node"], none["worst_node_mah"]) == ({}, None, None)
    assert "mAh" not in text(none)


@pytest.mark.parametrize("last", [BOARD, DESKTOP, {}])
def test_a_charge_is_called_modelled_and_a_desktop_s_times_what_they_are(last):
    made = summary(outcome(results={1: counted(1), 2: counted(2)}, statuses={1: BOARD, 2: last}), record())
    said = text(made).splitlines()[2]
    assert said.startswith("modelled charge of the run: 0.1132 mAh at node 1, the worst")
    assert made["board_times"] is (last is BOARD)
    assert ("desktop" in said) is (last is not BOARD)
    json.dumps(made, allow_nan=False)


@pytest.mark.parametrize("kind", ["tree", "gossip"])
def test_the_ledgers_of_a_run_sum_up_to_its_counters(host, kind):
    data = equipped(host)
    made = summary(run(host, planned(data, schedule=kind)), data.record())
    table = made["ledger"].values()
    assert set(made["ledger"]) == {str(node) for node in NODES}
    assert sum(entry["broadcasts"] for entry in table) == made["broadcasts"]
    assert sum(entry["payload_sent"] for entry in table) == made["payload_bytes"]
    assert max(entry["slots_awake"] for entry in table) == made["slots"]
    assert all(entry["deliveries"] and entry["payload_heard"] for entry in table)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ledger": SPENT[:-1]}, "ledger has less than 7 numbers"),
        ({"ledger": [-1, *SPENT[1:]]}, "ledger is no list"),
        ({"ledger": [0.5, *SPENT[1:]]}, "ledger is no list"),
        ({"ledger": None}, "ledger is no list"),
        ({"ledger": SPENT, "boot": "3"}, "boot is no whole number"),
    ],
)
def test_what_is_no_ledger_is_refused(host, changes, reason):
    collector = Collector(planned(equipped(host)))
    with pytest.raises(PayloadError, match=reason):
        collector.take_result(1, message(counted(1, **changes)))


def test_a_longer_ledger_is_a_newer_node_s(host):
    collector = Collector(planned(equipped(host)))
    assert collector.take_result(1, message(counted(1, [*SPENT, 77]))) is not None
    assert set(ledgers(outcome(results=collector.results))[1].counts) == set(PLACES)


def message(entry):
    return Message("result/1", json.dumps(entry | {"run": 1}).encode(), False, 0.0)
