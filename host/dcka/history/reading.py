"""Stored rows of one run, made into steps."""

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from dcka.history.known import EVERYBODY
from dcka.history.stored import WITHOUT_SSD, Centres, Counts, StoredRun, StoredStep
from dcka_core.messages import CONVERGED, FINAL


def steps_of(run: StoredRun, told: Iterable[Any], commits: Iterable[Any]) -> list[StoredStep]:
    """The steps of which either is there; `told`, `commits`: rows of the tables `steps` and `commits`."""
    reports: dict[int, list[Any]] = defaultdict(list)
    outcomes: dict[int, list[Any]] = defaultdict(list)
    for row in told:
        reports[row.step].append(row)
    for row in commits:
        outcomes[row.step - 1].append(row)
    make = _gossip if run.kind == "gossip" else _tree
    numbers = sorted((reports.keys() | outcomes.keys()) - {-1})
    return [make(run, step, reports[step], outcomes[step]) for step in numbers]


def _tree(run: StoredRun, step: int, reports: list[Any], commits: list[Any]) -> StoredStep:
    """Of several epochs the greatest: who holds another has heard of it in the end, or ends apart."""
    commit = max(commits, key=lambda row: (bool(row.flags & FINAL), *_epoch(row)), default=None)
    report: Any = max(reports, key=_epoch, default=commit)
    if commit is None:
        missing = tuple(json.loads(report.missing or "[]"))
        there = tuple(one for one in run.members if one not in missing)
        ssd, epoch = report.ssd * _unit(run), (report.epoch, report.epoch_node)
        return StoredStep(step, report.at, ssd, None, None, there, missing, *epoch)
    there = _ids(run, commit.contributors)
    return StoredStep(
        step=step,
        at=report.at,
        ssd=commit.ssd * _unit(run),
        centres=_centres(run, commit.centres),
        counts=_counts(commit.counts),
        contributors=there,
        missing=tuple(one for one in run.members if one not in there),
        epoch=commit.epoch,
        root=commit.epoch_node,
        final=bool(commit.flags & FINAL),
        converged=bool(commit.flags & CONVERGED),
    )


def _gossip(run: StoredRun, step: int, reports: list[Any], commits: list[Any]) -> StoredStep:
    """Every node has commits of its own. A report says the same centres as the commit, and no counts."""
    by_report = {row.node: row for row in reports}
    by_commit = {row.node: row for row in commits}
    by_node = {node: _centres(run, row.centres) for node, row in sorted((by_report | by_commit).items())}
    parts = {node: row.ssd * _unit(run) for node, row in sorted((by_commit | by_report).items())}
    whole = set(run.members) <= by_report.keys()
    lowest = min(by_node)
    return StoredStep(
        step=step,
        at=max(row.at for row in reports or commits),
        ssd=sum(row.ssd for row in by_report.values()) * _unit(run) if whole else None,
        centres=by_node[lowest],
        counts=_counts(by_commit[lowest].counts) if lowest in by_commit else None,
        contributors=tuple(by_node),
        final=bool(by_commit) and all(row.flags & FINAL for row in by_commit.values()),
        converged=bool(by_commit) and all(row.flags & CONVERGED for row in by_commit.values()),
        by_node=by_node,
        ssd_by_node=parts,
        slots=max((row.slots for row in reports if row.slots is not None), default=None),
    )


def _epoch(row: Any) -> tuple[int, int, int]:
    return row.epoch, row.epoch_node, row.epoch_boot


def _unit(run: StoredRun) -> float:
    return run.grid.unit**2 if run.in_units and run.grid is not None else 1.0


def _ids(run: StoredRun, text: str) -> tuple[int, ...]:
    return run.members if text == EVERYBODY else tuple(json.loads(text))


def _counts(text: str) -> Counts:
    return np.array(json.loads(text), dtype=np.int64)


def _centres(run: StoredRun, levels: bytes) -> Centres:
    """K×n; of a run that clusters nothing, the numbers of its state."""
    n = int(run.run_record["n"])
    table = np.frombuffer(levels, dtype="<u2").reshape(-1, n)
    if run.grid is None or run.kind in WITHOUT_SSD:
        return table.astype(np.float64)
    return run.grid.to_units(table)
