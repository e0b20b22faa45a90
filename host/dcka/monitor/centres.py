"""Where the centres of a run were in each of its steps, node by node."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dcka.mqtt.statuses import PayloadError, wholes
from dcka_core.errors import CoreError, MessageError
from dcka_core.messages import FINAL, Commit, is_change, peek_commit, read_commit
from dcka_core.record import Run
from dcka_core.tree_messages import read_change

Json = dict[str, Any]

MOST_NUMBERS = 400_000
"""Coordinates that are kept of a run. Beyond, of its earlier steps one node's centres are, and no longer everyone's."""


@dataclass
class StepCentres:
    """`sets`: K·n levels each, those that differ. `of`: by node, which of them it holds. `counts`: K numbers, where a
    commit has told of them."""

    sets: list["array[int]"] = field(default_factory=list)
    of: dict[int, int] = field(default_factory=dict)
    counts: list[int] | None = None

    def record(self) -> Json:
        """For the page."""
        sets = [list(one) for one in self.sets]
        return {"sets": sets, "of": {str(node): at for node, at in self.of.items()}, "counts": self.counts}


class Centres:
    """By the step of the commit that carries them: centres of commit t + 1 come from the sums of step t.

    In `tree` a node without children says only its last commit, and of the others each what it holds. In `gossip` each
    tells of its own with the step that has ended. `final`: the nodes that hold a final commit. `thinned`: whether some
    steps have lost all but one node's.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._held: dict[tuple[int, tuple[int, int, int]], Commit] = {}
        self._numbers = 0
        self.steps: dict[int, StepCentres] = {}
        self.final: set[int] = set()
        self.thinned = False
        if run.centres is not None and run.kind in ("tree", "gossip"):
            for node in run.members:
                self._keep(0, node, run.centres)

    def take_commit(self, node: int, payload: bytes) -> int | None:
        """A commit of any shape: the step whose centres have changed, if one has. Raises PayloadError."""
        try:
            commit = self._read(payload)
        except CoreError as error:
            raise PayloadError(f"no commit: {error}") from None
        if commit is None:
            return None
        if commit.sender != node or node not in self._run.members or commit.step > self._run.max_steps:
            raise PayloadError("sender or step of the commit")
        if self._run.kind != "gossip":
            self._held[commit.step, commit.epoch] = commit
            while len(self._held) > 64:
                del self._held[next(iter(self._held))]
        if commit.flags & FINAL:
            self.final.add(node)
        return self._keep(commit.step, node, commit.centres, commit.counts)

    def take_step(self, node: int, record: Json) -> int | None:
        """Step telemetry of `gossip`, as `take_commit`."""
        if self._run.kind != "gossip":
            return None
        centres = wholes(record, "centres")
        if len(centres) != self._run.k * self._run.n or max(centres) >> self._run.bits:
            raise PayloadError("centres are not those of the run's grid and K")
        return self._keep(int(record["step"]) + 1, node, centres)

    def _read(self, payload: bytes) -> Commit | None:
        if not is_change(payload):
            return read_commit(payload, self._run)
        # Of a step and epoch there is one commit, so anybody's will do as what the change starts from.
        before = peek_commit(payload)[2] - 1
        for held in [held for (step, _), held in self._held.items() if step == before]:
            try:
                return read_change(payload, self._run, held)
            except MessageError as error:
                if error.reason not in ("base", "hash"):
                    raise
        return None  # we were not there when the one before was said

    def _keep(
        self, step: int, node: int, centres: Sequence[int], counts: Sequence[int] | None = None
    ) -> int | None:
        kept = self.steps.setdefault(step, StepCentres())
        new = array("H", centres)
        before = kept.of.get(node)
        if counts is not None and (kept.counts is None or self._run.kind != "gossip"):
            kept.counts = list(counts)
        elif before is not None and kept.sets[before] == new:
            return None
        if new in kept.sets:
            kept.of[node] = kept.sets.index(new)
            return step
        kept.sets.append(new)
        kept.of[node] = len(kept.sets) - 1
        self._numbers += len(new)
        if self._numbers > MOST_NUMBERS:
            self._thin(step)
        return step

    def _thin(self, newest: int) -> None:
        """Of each but the newest step keep one node's."""
        self.thinned = True
        for step, kept in self.steps.items():
            if step < newest - 1 and len(kept.sets) > 1:
                node = min(kept.of)
                kept.sets, kept.of = [kept.sets[kept.of[node]]], {node: 0}
        self._numbers = sum(len(one) for kept in self.steps.values() for one in kept.sets)
