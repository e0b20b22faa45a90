"""Outcomes to check: runs of the core's nodes in memory, as the host would have kept them."""

import copy
from dataclasses import replace
from typing import Any

from core_network import CoreNetwork, CoreRun

from dcka.check import check
from dcka.inject.dataset import Dataset
from dcka.runs.outcome import Outcome, decode_commit
from dcka.topology import Graph
from dcka_core.messages import Commit
from dcka_core.record import read_run

GOSSIP = {"tolerance": 838, "slots": 0, "max_slots": 200}
"""1e-4 of a 15-bit range, in 1/256 of a grid step."""


def run(
    dataset: Dataset, graph: Graph, kind: str, faults: dict[str, Any] | None = None, **settings: Any
) -> Outcome:
    """One run of nodes with this data; `faults` as `Bus.faults` takes them."""
    network = CoreNetwork(dataset.points, dataset.grid.extents, dataset.id)
    if faults:
        network.bus.faults(**faults)
    settings = {"k": 9, "init": "local", "seed": 25, "max_steps": 100, **settings}
    done = network.run(graph, kind, **({**GOSSIP, **settings} if kind == "gossip" else settings))
    return _outcome(done)


def _outcome(done: CoreRun) -> Outcome:
    members = done.record["members"]
    return Outcome(
        run=done.record["run"],
        network="t",
        kind=done.record["kind"],
        record=done.record,
        rows=done.rows,
        dataset=done.record["dataset"],
        started="2000-01-01T00:00:00+00:00",
        wall_s=0.1,
        members=list(members),
        finished=done.finished,
        results=done.results,
        commits={node: payloads[-1].hex() for node, payloads in done.commits.items()},
        steps=done.steps,
        statuses=done.statuses,
    )


def with_commit(outcome: Outcome, node: int, **changes: Any) -> Outcome:
    """The outcome with another last commit of a node: its decoded fields replaced."""
    commit: Commit = decode_commit(outcome, node)
    for name, value in changes.items():
        setattr(commit, name, value)
    payload = bytes(commit.encode(read_run(outcome.record)))
    return replace(outcome, commits={**outcome.commits, node: payload.hex()})


def with_report(outcome: Outcome, node: int, step: int, **changes: Any) -> Outcome:
    """The outcome with another report of a step; a value of None takes the key away."""
    steps = copy.deepcopy(outcome.steps)
    entry = next(entry for entry in steps[node] if entry["step"] == step)
    entry.update(changes)
    for name in [name for name, value in changes.items() if value is None]:
        del entry[name]
    return replace(outcome, steps=steps)


def without(outcome: Outcome, part: str, node: int) -> Outcome:
    """The outcome without a node's entry in `commits`, `results`, `steps` or `rows`."""
    kept = {other: value for other, value in getattr(outcome, part).items() if other != node}
    return replace(outcome, **{part: kept})


def failing(outcome: Outcome, dataset: Dataset) -> str:
    """The reasons of a FAIL, in one text."""
    verdict = check(outcome, dataset)
    assert not verdict.passed
    assert verdict.word == "FAIL"
    assert verdict.reasons
    return "\n".join(verdict.reasons)
