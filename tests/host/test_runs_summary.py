"""A summary: in the user's units, complete where the run is, and honest where it is not."""

import json

import numpy as np
import pytest
from bus_connection import host
from run_network import equipped, planned, will
from runs_samples import RECORD, commit, outcome, result

from dcka.inject.dataset import from_values
from dcka.runs.controller import run
from dcka.runs.summary import summary, text
from dcka_core.messages import read_commit
from dcka_core.record import read_run

__all__ = ["host"]

KEYS = (
    "run", "kind", "nodes", "finished", "steps", "slots", "ssd", "broadcasts", "payload_bytes", "wall_s", "heap_bytes",
    "centres", "missing", "waiting", "reason",
)  # fmt: skip


def record():
    """A grid with offset (10, -5) and a step of half a unit."""
    return from_values("made", ("a", "b"), {1: np.array([[10.0, -5.0], [10.0 + 32767 / 2, -5.0]])}).record()


def test_it_has_the_keys_that_scripts_read_and_is_json():
    made = summary(outcome(), record())
    assert set(KEYS) <= set(made)
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_centres_and_ssd_are_in_the_users_units():
    made = summary(outcome(), record())
    assert made["centres"] == [[10.5, -4.0], [25.0, 15.0]]
    assert made["counts"] == [3, 4]
    assert made["ssd"] == 99 * 0.25
    assert (made["broadcasts"], made["payload_bytes"], made["heap_bytes"]) == (16, 640, 60_000)
    assert (made["steps"], made["nodes"], made["converged"]) == (4, 2, True)


def test_who_was_missing_is_in_the_headline():
    whole = summary(outcome(), record())
    assert (whole["missing"], "without" in text(whole)) == ([], False)
    partial = summary(outcome(results={2: result(2)}, commits={2: commit(2).hex()}, absent=[1]), record())
    assert partial["missing"] == [1]
    assert text(partial).splitlines()[0].endswith("SSD 24.75, without node 1 in all of it or a part")


def test_the_ssd_of_gossip_is_the_sum_of_the_nodes_parts():
    gossip = outcome(kind="gossip", results={1: result(1), 2: result(2) | {"ssd": 1}})
    assert summary(gossip, record())["ssd"] == 100 * 0.25


def test_it_is_that_of_the_readings(host):
    data = equipped(host)
    for kind in ("tree", "gossip"):
        made = summary(run(host, planned(data, {"tree": 1, "gossip": 2}[kind], schedule=kind)), data.record())
        readings = np.concatenate(list(data.values.values()))
        centres = np.array(made["centres"])
        ssd = ((readings[:, None, :] - centres[None]) ** 2).sum(axis=2).min(axis=1).sum()
        assert made["ssd"] == pytest.approx(ssd, rel=1e-3)
        assert sum(made["counts"]) == len(readings)


def test_counters_of_lost_results_are_not_made_up():
    lost = {
        name: value
        for name, value in result(2).items()
        if name in ("node", "steps", "converged", "ssd", "flags")
    }
    one = outcome(results={1: result(1), 2: lost | {"rebuilt": True}})
    assert summary(one, record())["broadcasts"] == 8
    both = outcome(results={1: lost | {"rebuilt": True}, 2: lost | {"rebuilt": True}})
    made = summary(both, record())
    assert (made["broadcasts"], made["payload_bytes"], made["slots"], made["heap_bytes"]) == (
        None,
        None,
        None,
        None,
    )
    assert "bytes of heap" not in text(made)


def test_a_run_that_did_not_finish_has_no_ssd_but_what_was_held():
    halted = outcome(
        finished=False,
        results={},
        commits={2: commit(2, step=2, flags=0).hex()},
        waiting=[1],
        reason="no word",
    )
    made = summary(halted, record())
    assert made["ssd"] is None
    assert (made["steps"], made["converged"], made["waiting"]) == (2, False, [1])
    assert made["centres"] == [[10.5, -4.0], [25.0, 15.0]]
    assert text(made).splitlines()[0] == "run 3 (tree, 2 nodes) did not finish; it got to step 2: no word"
    nothing = summary(outcome(finished=False, results={}, commits={}, reason="no word"), record())
    assert (nothing["centres"], nothing["counts"], nothing["steps"]) == (None, None, 0)
    assert "cluster" not in text(nothing)


def test_the_text_says_how_it_ended_what_it_cost_and_where_the_centres_are():
    lines = text(summary(outcome(), record())).splitlines()
    assert lines[0] == "run 3 (tree, 2 nodes) converged after 4 steps in 0.25 s: SSD 24.75"
    assert lines[1] == "16 broadcasts, 640 bytes of payload, 60,000 bytes of heap at the largest node"
    assert [line.split() for line in lines[3:]] == [
        ["cluster", "points", "a", "b"],
        ["0", "3", "10.5", "-4"],
        ["1", "4", "25", "15"],
    ]


def test_clusters_without_points_are_counted():
    """C01."""
    held = read_commit(commit(1), read_run(RECORD))
    held.counts = [7, 0]
    made = summary(outcome(commits={1: bytes(held.encode(read_run(RECORD))).hex()}), record())
    assert (made["counts"], made["empty"]) == ([7, 0], 1)
    assert text(made).splitlines()[-1] == "clusters without points, which keep their place: 1"
    assert "without points" not in text(summary(outcome(), record()))


def test_a_run_of_max_steps_does_not_claim_to_have_converged(host):
    data = equipped(host)
    made = summary(run(host, planned(data, max_steps=1)), data.record())
    assert made["finished"] and not made["converged"]
    assert text(made).startswith("run 1 (tree, 4 nodes) ended without converging after 1 step")


def test_who_is_missed_stands_in_it(host):
    data = equipped(host)

    def at(kind, told):
        if kind == "begun":
            will(host, 4)

    made = summary(run(host, planned(data), limit_s=2, on_event=at), data.record())
    assert (made["finished"], made["waiting"]) == (False, [4])
    assert "node 4" in made["reason"]
