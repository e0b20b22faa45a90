"""`dcka bench scale`, `faults` and `soak` with real brokers and few nodes."""

import json
import socket
import time
from dataclasses import replace

import pytest
from servers import ENGINES, LIMIT_S, require_mosquitto

from dcka.bench.faults import FAULTS, faults
from dcka.bench.faults.fault import Settings
from dcka.bench.faults.soak import soak
from dcka.bench.proxy import DOWN, UP, Proxy
from dcka.bench.scale import scale
from dcka.broker import NoAnswer, open_broker, parse_broker_url, probe
from dcka.cli import main

KEYS = ("name", "nodes", "bit_identical", "wall_s", "slots_per_s", "ratio_vs_raw", "host_kb_per_node")
LOOPBACK = parse_broker_url("mqtt://127.0.0.1")
ROW = ("fault", "expected", "observed", "nodes_lost", "results_wrong", "recovered_s")


def say(text: str) -> None:
    print(text)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_beside_the_bare_messages_of_it(engine):
    if engine == "mosquitto":
        require_mosquitto()
    record = scale([f"{engine}-200"], say, nodes=12, repeats=1)
    (case,) = record["cases"]
    assert list(case)[: len(KEYS)] == list(KEYS)
    assert (case["nodes"], case["bit_identical"], case["finished"]) == (12, True, True), case
    # How it compares is for a quiet machine to say; here, that both were measured.
    assert case["ratio_vs_raw"] == pytest.approx(case["wall_s"] / case["raw_s"])
    assert case["messages"] >= 2 * case["steps"] and case["slots_per_s"] > 0


@pytest.mark.timeout(180)
def test_one_of_three_servers_is_killed_in_mid_run():
    record = scale(["cluster-1000"], say, nodes=12)
    (case,) = record["cases"]
    assert case["bit_identical"] and case["killed_after_step"] >= 3, case


@pytest.mark.timeout(240)
def test_the_command_prints_one_record(capsys):
    require_mosquitto()
    code = main(["bench", "faults", "--fault", "broker_restart", "--nodes", "6", "--json"])
    captured = capsys.readouterr()
    record = json.loads(captured.out)
    assert code == 0, record
    (row,) = record["faults"]
    assert list(row)[: len(ROW)] != [] and set(ROW) <= set(row)
    assert (row["nodes_lost"], row["results_wrong"]) == (0, 0) and row["recovered_s"] is not None
    assert "broker_restart: begins" in captured.err


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "name", ["broker_paused", "replayed_messages", "spoofed_neighbour", "wrong_ca", "clock_step"]
)
def test_a_fault_is_stood(name):
    require_mosquitto()
    record = faults([name], Settings(nodes=6, pause_s=2.0), say)
    assert record["ok"], record["faults"]


@pytest.mark.timeout(400)
def test_random_and_mutated_messages_change_nothing():
    require_mosquitto()
    record = faults(["fuzz"], Settings(nodes=5, messages=2000, seed=3), say)
    (row,) = record["faults"]
    assert record["ok"] and "2,000 messages, seed 3" in row["observed"], row


def test_a_fault_that_is_not_stood_is_told(monkeypatch):
    require_mosquitto()
    monkeypatch.setitem(FAULTS, "broker_restart", replace(FAULTS["broker_restart"], stands=("no result",)))
    record = faults(["broker_restart"], Settings(nodes=5), say)
    assert not record["ok"] and "NOT AS EXPECTED: the run: P" in record["faults"][0]["observed"]


@pytest.mark.timeout(300)
def test_a_soak_of_some_seconds():
    require_mosquitto()
    record = soak(5.0, Settings(nodes=6, seed=2), say)
    assert record["runs"] >= 6 and record["results_wrong"] == 0 and record["nodes_lost"] == 0, record
    assert set(record["processes"]) == {"host", "nodes", "broker"} and record["seed"] == 2
    assert record["ok"], record


def test_a_proxy_that_is_silent_says_nothing_and_speaks_again():
    with open_broker() as broker, Proxy(lambda: broker.address) as proxy:
        probe(proxy.url)
        proxy.silence(True)
        with pytest.raises(NoAnswer):
            probe(proxy.url, 0.5)
        proxy.silence(False)
        probe(proxy.url)


def test_a_half_open_connection_is_over_once_both_ends_have_given_it_up():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = replace(LOOPBACK, port=server.getsockname()[1])
        with Proxy(lambda: url) as proxy:
            client = socket.create_connection((proxy.url.host, proxy.url.port))
            behind, _ = server.accept()
            client.sendall(b"before")
            assert behind.recv(6) == b"before"
            assert proxy.open == 1
            proxy.half_open(UP, DOWN)
            client.close()
            behind.settimeout(0.3)
            with pytest.raises(TimeoutError):
                behind.recv(1)  # the end of the other is not handed on
            assert proxy.open == 1
            behind.close()
            until = time.monotonic() + LIMIT_S
            while proxy.open and time.monotonic() < until:
                time.sleep(0.01)
            assert proxy.open == 0
