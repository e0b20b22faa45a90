"""Nodes that keep slot time with clocks that are 2 % wrong, and sleep: real interpreters, real brokers."""

import contextlib
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from by_hand import RUNTIMES, ByHand
from servers import running

from dcka.check import check
from dcka.config import from_mapping
from dcka.datasets.nine_gaussians import gaussians
from dcka.emulation.network import drifting
from dcka.inject.dataset import Dataset
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.runs.controller import run
from dcka.runs.outcome import Outcome
from dcka.runs.plan import plan
from dcka.runs.summary import summary

pytestmark = pytest.mark.system

IDS = (1, 2, 3, 4, 5)
SLOT_MS = 60
PERIOD = 5
STEPS = 8


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return gaussians(seed=3, nodes=5, per_gaussian=60)


def clustered(
    runtime: str,
    engine: str,
    dataset: Dataset,
    on_event: Callable[[Any, str, dict[str, Any]], None] | None = None,
) -> tuple[Outcome, list[dict[str, Any]]]:
    """(the outcome of a run in slots, every status that was said in it)."""
    config = from_mapping(
        {
            "network": {"name": "t", "nodes": list(IDS)},
            "topology": {"kind": "experiment1"},
            "run": {"k": 9, "seed": 25, "slot_ms": SLOT_MS, "max_steps": STEPS},
        }
    )
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(running(engine))
        kind = RUNTIMES[runtime]
        nodes = stack.enter_context(kind("t", IDS, broker.address, clocks=drifting(IDS, 2)))
        driver = stack.enter_context(closing(ByHand(broker.address, "t")))
        connection = stack.enter_context(Connection(broker.address, "t"))
        driver.online(IDS)
        send(connection, dataset)
        made = plan(config, dataset.record(), 1)

        def told(event: str, data: dict[str, Any]) -> None:
            if on_event is not None:
                on_event(nodes, event, data)

        outcome = run(connection, made, limit_s=made.longer(30), on_event=told)
        assert nodes.failures() == []
        done = lambda: all(driver.statuses[node]["state"] == "done" for node in outcome.results)  # noqa: E731
        driver.until(done, "the last statuses")
        return outcome, list(driver.all_statuses)


@pytest.mark.parametrize("engine", ["embedded", "mosquitto"])
@pytest.mark.parametrize("runtime", sorted(RUNTIMES))
def test_sleepers_with_wrong_clocks_come_to_the_same_bits(
    runtime: str, engine: str, dataset: Dataset
) -> None:
    outcome, statuses = clustered(runtime, engine, dataset)
    verdict = check(outcome, dataset)
    assert verdict.passed, verdict.reasons
    assert verdict.figures["bit_identical"] is True
    states = {node: {one["state"] for one in statuses if one["node"] == node} for node in IDS}
    assert all({"asleep", "running", "done"} <= said and "offline" not in said for said in states.values()), (
        states
    )
    asleep = [one for one in statuses if one["state"] == "asleep"]
    assert all(0 < one["until_ms"] < PERIOD * SLOT_MS and one["run"] == 1 for one in asleep)
    record = summary(outcome, dataset.record())
    for node, entry in record["ledger"].items():
        assert entry["asleep_ms"] > 0 and 0.1 < entry["awake_share"] < 1, (node, entry)
        # It leaves the air once a period and more, and comes back as often.
        assert entry["associations"] >= record["steps"] // 2, (node, entry)
    assert record["awake_share"] < 0.95
    steps = record["steps"]
    assert all(result["ms"] >= (steps - 1) * PERIOD * SLOT_MS * 0.9 for result in outcome.results.values())


@pytest.mark.parametrize("runtime", sorted(RUNTIMES))
def test_a_sleeper_that_loses_its_power_and_comes_back(runtime: str, dataset: Dataset) -> None:
    cut: list[int] = []

    def on_event(nodes: Any, event: str, data: dict[str, Any]) -> None:
        if event == "step" and data["step"] == 2 and not cut:
            cut.append(2)
            nodes.kill(2)
            nodes.restart(2)

    outcome, statuses = clustered(runtime, "embedded", dataset, on_event)
    assert cut
    verdict = check(outcome, dataset)
    assert verdict.passed, verdict.reasons
    assert {one["boot"] for one in statuses if one["node"] == 2} == {1, 2}
