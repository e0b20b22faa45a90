"""Nodes that keep slot time with clocks that are 2 % wrong, and sleep: real interpreters, real brokers."""

import contextlib
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from by_hand import RUNTIMES, ByHand
from servers import running

from dcka.check import check
from dcka.config import Config, from_mapping
from dcka.datasets.nine_gaussians import gaussians
from dcka.emulation.network import drifting
from dcka.energy import ESP32
from dcka.inject.dataset import Dataset
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.runs.controller import run
from dcka.runs.outcome import Outcome
from dcka.runs.plan import plan
from dcka.runs.summary import summary
from dcka.schedule import Access, Usage, design_tree
from dcka.schedule.cost import period_costs

pytestmark = pytest.mark.system

IDS = (1, 2, 3, 4, 5)
SLOT_MS = 60
PERIOD = 5
STEPS = 8


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return gaussians(seed=3, nodes=5, per_gaussian=60)


def config() -> Config:
    return from_mapping(
        {
            "network": {"name": "t", "nodes": list(IDS)},
            "topology": {"kind": "experiment1"},
            "run": {"k": 9, "seed": 25, "slot_ms": SLOT_MS, "max_steps": STEPS},
        }
    )


def clustered(
    runtime: str,
    engine: str,
    dataset: Dataset,
    on_event: Callable[[Any, Any, str, dict[str, Any]], None] | None = None,
    last: bool = True,
) -> tuple[Outcome, list[dict[str, Any]]]:
    """(the outcome of a run in slots, every status that was said in it).

    last: wait for those after the run too; not where the broker ends in between, and the test's client with it.
    """
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(running(engine))
        kind = RUNTIMES[runtime]
        nodes = stack.enter_context(kind("t", IDS, broker.address, clocks=drifting(IDS, 0.02)))
        driver = stack.enter_context(closing(ByHand(broker.address, "t")))
        connection = stack.enter_context(Connection(broker.address, "t"))
        driver.online(IDS)
        send(connection, dataset)
        made = plan(config(), dataset.record(), 1)

        def told(event: str, data: dict[str, Any]) -> None:
            if on_event is not None:
                on_event(broker, nodes, event, data)

        outcome = run(connection, made, limit_s=made.longer(30), on_event=told)
        assert nodes.failures() == []
        if not last:
            return outcome, []
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
        # Both are less and more where the machine has time for it: who connects slowly stays awake.
        assert entry["asleep_ms"] > 0 and 0.1 < entry["awake_share"] < 1, (node, entry)
        assert entry["associations"] >= 1, (node, entry)
    steps = record["steps"]
    as_designed(record, steps)
    assert all(result["ms"] >= (steps - 1) * PERIOD * SLOT_MS * 0.9 for result in outcome.results.values())


def as_designed(record: dict[str, Any], steps: int) -> None:
    """What `dcka schedule --access any` says of these slots: the broadcasts to within a quarter (some are repeated)
    and nobody awake for less than 85 % of what the design has: who connects slowly is awake for longer.
    """
    design = design_tree(config().graph, access=Access.ANY, usage=Usage(SLOT_MS, steps, 1, 9))
    assert design.kept and design.slots == PERIOD
    costs = period_costs(design.timetable, design.root or 0, design.usage, replace(ESP32, association_ms=1))
    assert record["broadcasts"] == pytest.approx(steps * design.broadcasts, rel=0.25)
    for node, entry in record["ledger"].items():
        assert 0.85 * steps * costs[int(node)].awake < entry["slots_awake"] <= 2 * steps * PERIOD, (
            node,
            entry,
        )


@pytest.mark.parametrize("runtime", sorted(RUNTIMES))
def test_a_sleeper_that_loses_its_power_and_comes_back(runtime: str, dataset: Dataset) -> None:
    cut: list[int] = []

    def on_event(_broker: Any, nodes: Any, event: str, data: dict[str, Any]) -> None:
        if event == "step" and data["step"] == 2 and not cut:
            cut.append(2)
            nodes.kill(2)
            nodes.restart(2)

    outcome, statuses = clustered(runtime, "embedded", dataset, on_event)
    assert cut
    verdict = check(outcome, dataset)
    assert verdict.passed, verdict.reasons
    assert {one["boot"] for one in statuses if one["node"] == 2} == {1, 2}


@pytest.mark.parametrize("runtime", sorted(RUNTIMES))
def test_a_broker_that_is_away_for_long_is_not_waited_for_awake(runtime: str, dataset: Dataset) -> None:
    """After four periods nodes sleep for one, then wait for four more: longer than that the broker is away here."""
    away_s = 10 * PERIOD * SLOT_MS / 1000
    away: list[float] = []

    def on_event(broker: Any, _nodes: Any, event: str, data: dict[str, Any]) -> None:
        if event == "step" and data["step"] == 2 and not away:
            broker.kill()
            time.sleep(away_s)
            away.append(away_s)
            broker.restart()

    outcome, _ = clustered(runtime, "embedded", dataset, on_event, last=False)
    assert away
    verdict = check(outcome, dataset)
    assert verdict.passed, verdict.reasons
    for result in outcome.results.values():
        assert result["boot"] == 1 and result["ms"] > 1000 * away_s
        # At least the first of the sleeps that the outage has room for.
        assert result["asleep_ms"] >= PERIOD * SLOT_MS
