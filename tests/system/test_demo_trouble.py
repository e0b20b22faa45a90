"""`dcka demo` where things go wrong on purpose, on real nodes of both runtimes: the same bits, or PARTIAL and who."""

import json

import pytest
from by_hand import RUNTIMES
from servers import ENGINES, require_mosquitto

from dcka.cli import main

BOTH = pytest.mark.parametrize("runtime", RUNTIMES)


@pytest.fixture
def demo(tmp_path, capsys):
    """(exit code, the object, what was said) of a demonstration of the exact run."""

    def call(*arguments):
        code = main(["demo", "--json", "--out", str(tmp_path), "--schedule", "tree", *arguments])
        written = capsys.readouterr()
        return code, json.loads(written.out), written.err

    return call


def require_pass(code, record):
    assert (code, record["verdict"], record["missing"]) == (0, "PASS", []), record["reasons"]
    assert record["bit_identical"] is True
    assert record["ssd"] == record["reference_ssd"]


def require_partial(record):
    assert record["verdict"] == "PARTIAL", record["reasons"]
    assert (record["replay_identical"], record["bit_identical"]) == (True, False)
    assert len(record["missing"]) == 1


@BOTH
def test_every_fifth_message_is_lost_and_the_bits_are_the_same(demo, runtime):
    code, record, said = demo("--runtime", runtime, "--loss", "0.2")
    require_pass(code, record)
    counts = record["faults"]["tree"]
    assert 0.1 < counts["lost"] / counts["deliveries"] < 0.3
    assert (counts["doubled"], counts["overtaken"]) == (0, 0)
    assert "the radio between the nodes loses 20 %" in said


@BOTH
def test_all_faults_of_the_radio_at_once(demo, runtime):
    shares = ("--loss", "0.3", "--duplicate", "0.2", "--reorder", "0.2", "--delay-ms", "2")
    code, record, _ = demo("--runtime", runtime, "--data", "suthaharan", *shares)
    require_pass(code, record)
    assert all(record["faults"]["tree"].values())


@BOTH
def test_the_papers_consensus_keeps_its_tolerance(demo, runtime):
    code, record, _ = demo(
        "--runtime", runtime, "--data", "suthaharan", "--schedule", "gossip", "--loss", "0.2"
    )
    assert (code, record["verdict"]) == (0, "PASS"), record["reasons"]
    assert record["gossip"]["max_error"] <= record["gossip"]["tolerance"]


@BOTH
def test_a_node_that_stays_away_is_missing_which_may_be_allowed(demo, runtime):
    allowed, expected = (("--allow-partial",), 0) if runtime == "cpython" else ((), 1)
    code, record, said = demo("--runtime", runtime, "--kill-node", "3", "--at-step", "4", *allowed)
    require_partial(record)
    assert (code, record["missing"]) == (expected, [3])
    assert "node 3 loses its power after step 4" in said
    steps = record["outer_steps"]
    assert record["reasons"][0] == (
        f"tree (exact): node 3: its readings are not in {steps - 4} of {steps} steps, and it gave no result"
    )


@BOTH
def test_a_root_that_stays_away_is_missing_and_another_ends_the_run(demo, runtime):
    code, record, _ = demo("--runtime", runtime, "--kill-node", "ROOT", "--at-step", "4")
    require_partial(record)
    assert code == 1


@pytest.mark.parametrize("node", ["3", "ROOT"])
@BOTH
def test_a_node_that_comes_back_costs_time_and_the_result_only_where_it_was_too_late(demo, runtime, node):
    code, record, said = demo(
        "--runtime", runtime, "--kill-node", node, "--at-step", "4", "--return-after", "1"
    )
    assert "has its power back" in said
    if record["verdict"] == "PARTIAL":
        require_partial(record)
        assert "it gave no result" not in record["reasons"][0]
    else:
        require_pass(code, record)


@pytest.mark.parametrize("engine", ENGINES)
@BOTH
def test_a_broker_that_starts_anew_costs_time_and_not_the_result(demo, runtime, engine):
    if engine == "mosquitto":
        require_mosquitto()
    code, record, said = demo(
        "--runtime", runtime, "--broker-engine", engine, "--restart-broker", "--schedule", "both"
    )
    require_pass(code, record)
    assert record["gossip"]["verdict"] == "PASS"
    assert said.count("the broker is stopped after step 4, and started again") == 2


def test_what_was_to_happen_after_the_end_is_no_pass(demo):
    code, record, _ = demo("--runtime", "cpython", "--restart-broker", "--at-step", "60")
    assert (code, record["verdict"], record["bit_identical"]) == (1, "FAIL", True)
    assert record["reasons"][0].endswith("the run ended after 17 outer steps, and --at-step is 60")
