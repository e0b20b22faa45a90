"""What is read out of a history: a run, its steps, the gaps in what was seen of it. Arrays are numpy's."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcka.inject.dataset import grid_of
from dcka.inject.quantise import Grid

if TYPE_CHECKING:
    from dcka.history.history import History

Json = dict[str, Any]
Centres = NDArray[np.float64]
Counts = NDArray[np.int64]

WITHOUT_SSD = ("survey", "seeding", "score", "tail")
"""Kinds of run whose centres are no centres, and which have no SSD: docs/protocol.md, section 5."""


def iso(at: float | None) -> str | None:
    """ISO 8601 in UTC, to the millisecond."""
    if at is None:
        return None
    seconds = int(at // 1)
    micros = round((at - seconds) * 1e6)  # as datetime rounds
    if micros == 1_000_000:
        seconds, micros = seconds + 1, 0
    return f"{_second(seconds)}.{micros // 1000:03}+00:00"


@lru_cache(maxsize=4096)
def _second(at: int) -> str:
    """Kept, for it is most of the work, and what is listed together has often happened together."""
    return datetime.fromtimestamp(at, UTC).isoformat()[:19]


@dataclass(frozen=True, eq=False)
class StoredStep:
    """An outer step t that has ended: what the nodes told of it, and the commit t + 1 that came of it.

    `ssd`: the network's, of the centres that the step began with (in `gossip` None where not every member has told),
    in the user's units where the run's are known (`StoredRun.in_units`), else of the grid. `centres`: K×n, those of
    the commit, and `counts`: K; None where neither the commit nor a node's word was seen. In `gossip` of the lowest id;
    `by_node`: each node's own. `contributors`, `missing`: whose readings are in it, and whose are not (`tree`).
    `epoch`, `root`: of `tree`, else 0. `at`: seconds since 1970.
    """

    step: int
    at: float
    ssd: float | None
    centres: Centres | None
    counts: Counts | None
    contributors: tuple[int, ...]
    missing: tuple[int, ...] = ()
    epoch: int = 0
    root: int = 0
    final: bool = False
    converged: bool = False
    by_node: dict[int, Centres] = field(default_factory=dict)
    ssd_by_node: dict[int, float] = field(default_factory=dict)
    slots: int | None = None

    def record(self) -> Json:
        """For JSON; of `gossip` without each node's own centres."""
        return {
            "step": self.step,
            "at": iso(self.at),
            "ssd": self.ssd,
            "centres": None if self.centres is None else self.centres.tolist(),
            "counts": None if self.counts is None else self.counts.tolist(),
            "contributors": list(self.contributors),
            "missing": list(self.missing),
            "epoch": self.epoch,
            "root": self.root,
            "final": self.final,
            "converged": self.converged,
            "slots": self.slots,
        }


@dataclass(frozen=True)
class Gap:
    """A time in which something may have been said that is not stored. Seconds since 1970; `ended_at` None: it lasts;
    `began_at` None: since nobody knows when.

    `kind`: `monitor` (none ran), `broker` (it was away), `store` (the database took nothing, and memory was full),
    `unseen` (the run had begun before anybody listened).
    """

    kind: str
    began_at: float | None
    ended_at: float | None

    def record(self) -> Json:
        """For JSON."""
        return {"kind": self.kind, "began_at": iso(self.began_at), "ended_at": iso(self.ended_at)}


@dataclass(frozen=True)
class StoredStatus:
    """A status that was news. `record`: what it said, as in docs/protocol.md, section 7, as far as it was not empty."""

    node: int
    at: float
    state: str
    retained: bool
    run: int
    record: Json


@dataclass(frozen=True)
class StoredEvent:
    """Something that a monitor saw, as `dcka monitor --json` has it. `text`: a sentence."""

    kind: str
    at: float
    text: str
    bad: bool
    data: Json


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A run. `id`: its place in the order in which runs were stored; `uid`: 16 hex digits that name it for ever.

    `number`: may begin anew where a network's state was lost. `kind`: tree, gossip, survey, seeding, score. `data`: its
    data set's name. `unseen`: it had begun before anybody listened. `state`: running, finished, partial, failed,
    unknown. `step_count`: how many steps were made, as far as known. `ssd`: the result's, in the user's units where
    `in_units`, else of the grid; None before all results are there. `missing`: whose readings are not in all of it.
    `reason`: why it did not finish. `wall_s`: as its host measured it. `verdict`: PASS, PARTIAL, FAIL; None where
    nobody has checked it. What is not in a list is read when it is asked for.
    """

    id: int
    uid: str
    network: str
    number: int
    kind: str
    k: int
    nodes: int
    dataset: str
    data: str
    begun_at: float
    unseen: bool
    heard_at: float
    state: str
    step_count: int
    ssd: float | None
    in_units: bool
    converged: bool | None
    missing: tuple[int, ...]
    reason: str
    wall_s: float | None
    verdict: str | None
    _history: "History" = field(repr=False)

    @property
    def name(self) -> str:
        """`greenhouse/12`."""
        return f"{self.network}/{self.number}"

    def summary(self) -> Json:
        """For a list, in JSON."""
        return {
            "run": self.number,
            "network": self.network,
            "uid": self.uid,
            "id": self.id,
            "kind": self.kind,
            "k": self.k,
            "nodes": self.nodes,
            "dataset": self.dataset,
            "data": self.data,
            "began_at": iso(self.begun_at),
            "unseen": self.unseen,
            "heard_at": iso(self.heard_at),
            "state": self.state,
            "step_count": self.step_count,
            "ssd": self.ssd,
            "in_units": self.in_units,
            "converged": self.converged,
            "missing": self.missing,
            "reason": self.reason,
            "wall_s": self.wall_s,
            "verdict": self.verdict,
        }

    def record(self) -> Json:
        """All of it, in JSON: the summary, the record, results, steps, centroids, gaps, and the verdict's figures."""
        centroids, counts = self.centroids, self.counts
        return {
            **self.summary(),
            "record": self.run_record,
            "columns": self.columns,
            "centroids": None if centroids is None else centroids.tolist(),
            "counts": None if counts is None else counts.tolist(),
            "steps": [step.record() for step in self.steps],
            "lost_steps": self.lost_steps,
            "gaps": [gap.record() for gap in self.gaps],
            "results": {str(node): result for node, result in self.results.items()},
            "check": self.check,
        }

    # ---- read when asked for ----

    @cached_property
    def run_record(self) -> Json:
        """What the host published as `run` (docs/protocol.md, section 3)."""
        return self._history.run_record(self)

    @property
    def members(self) -> tuple[int, ...]:
        """The ids, in index order."""
        return tuple(self.run_record["members"])

    @cached_property
    def dataset_record(self) -> Json | None:
        """What the host published as `dataset`; None where nobody saw it."""
        return self._history.dataset_record(self)

    @cached_property
    def grid(self) -> Grid | None:
        """The grid of its data set; None where that is not known, or there is none."""
        try:
            return None if self.dataset_record is None else grid_of(self.dataset_record)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            return None

    @property
    def columns(self) -> list[str]:
        """The names of the dimensions; [] where they are not known."""
        return [str(name) for name in (self.dataset_record or {}).get("columns", [])]

    @cached_property
    def rows(self) -> dict[int, Json]:
        """The schedule's rows by node (`rows/<i>`), where the run's host has told of them."""
        return self._history.rows(self)

    @cached_property
    def steps(self) -> list[StoredStep]:
        """All that is stored, in order."""
        return self._history.steps(self)

    @cached_property
    def results(self) -> dict[int, Json]:
        """By node; one that was made of the node's last commit, for its own was lost, has `"rebuilt": true`."""
        return self._history.results(self)

    @cached_property
    def statuses(self) -> list[StoredStatus]:
        """What was news of its members while it ran, in order."""
        return self._history.statuses(self)

    @cached_property
    def events(self) -> list[StoredEvent]:
        """What a monitor told of the network while it ran, in order; steps are in `steps`."""
        return self._history.events(self)

    @cached_property
    def gaps(self) -> list[Gap]:
        """When, while it ran, something may have been said that is not stored."""
        return self._history.gaps(self)

    @property
    def lost_steps(self) -> list[int]:
        """The steps below `step_count` of which nothing is stored."""
        return sorted(set(range(self.step_count)) - {step.step for step in self.steps})

    @cached_property
    def check(self) -> Json | None:
        """The verdict's reasons and figures, as `dcka check --json` has them; None where nobody has checked it."""
        return self._history.check(self)

    @property
    def centroids(self) -> Centres | None:
        """K×n, those of the last step that is known, in the user's units where `in_units`; None where none are, or the
        run clusters nothing."""
        last = self._last()
        return None if last is None else last.centres

    @property
    def counts(self) -> Counts | None:
        """K, the readings of each cluster, with `centroids`."""
        last = self._last()
        return None if last is None else last.counts

    def _last(self) -> StoredStep | None:
        if self.kind in WITHOUT_SSD:
            return None
        known = [step for step in self.steps if step.centres is not None]
        return max(known, key=lambda step: (step.final, step.step), default=None)
