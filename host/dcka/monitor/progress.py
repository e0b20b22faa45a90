"""The run that is on, or was last: its record, and the SSD of each step."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dcka.inject.data_file import READINGS
from dcka.inject.dataset import grid_of
from dcka.monitor.events import clean
from dcka.mqtt.statuses import PayloadError, whole, wholes

MOST_STEPS = 100_000
SURVEY = "survey"
SEEDING = "seeding"
SCORE = "score"
TAIL = "tail"
WITHOUT_SSD = (SURVEY, SEEDING, SCORE, TAIL)
"""Kinds of run that cluster nothing."""


@dataclass(frozen=True)
class Step:
    """A step that has ended. `ssd`: the network's. In `tree`: `root` has told of it, in the epoch of number `epoch`,
    and `missing` were not in; 0, 0 and () in `gossip`. `new_root`: whether another than that of the step before.
    """

    number: int
    ssd: float
    missing: tuple[int, ...] = ()
    epoch: int = 0
    root: int = 0
    new_root: bool = False


@dataclass
class RunProgress:
    """`number` 0: no run is known. `ssd`: by step, in the user's units where `in_units`, of the grid otherwise; with a
    `scale`, in widths of the grid. Where nothing is clustered: 0.

    `points`: the readings of all. `done`: the members that have given their result. `steps`: by node, the step of its
    last commit. In `tree`: `root` and `epoch` as the last report has them, `scheduled` as the run has it, and
    `missing`, who was not in every step.
    """

    number: int = 0
    kind: str = ""
    k: int = 0
    points: int = 0
    members: tuple[int, ...] = ()
    dataset: str = ""
    ssd: dict[int, float] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    steps: dict[int, int] = field(default_factory=dict)
    missing: set[int] = field(default_factory=set)
    root: int = 0
    epoch: int = 0
    scheduled: int = 0
    _parts: dict[int, dict[int, int]] = field(default_factory=dict)
    scale: str = "one"
    _known: str = ""
    _unit: float = 1.0
    _everyone: frozenset[int] = frozenset()

    @property
    def in_units(self) -> bool:
        """Whether the grid of the run's data is known."""
        return bool(self._known) and self._known == self.dataset

    @property
    def step(self) -> int:
        """The furthest step that a node has committed."""
        return max([0, *self.steps.values(), *(step + 1 for step in self.ssd)])

    def title(self) -> str:
        """`run 7: tree, K = 9, 5 nodes`; for a run that was ended from outside, that it was."""
        if self.kind == "idle":
            return f"run {self.number}: nothing (whatever ran before is ended)"
        nodes = "1 node" if len(self.members) == 1 else f"{len(self.members)} nodes"
        if self.kind == SURVEY:
            return f"run {self.number}: survey, in which {nodes} agree on the range of their readings"
        if self.kind == SEEDING:
            return (
                f"run {self.number}: seeding, in which {nodes} draw K = {self.k} of their readings as a start"
            )
        if self.kind == SCORE:
            return f"run {self.number}: score, in which {nodes} judge a clustering with K = {self.k}"
        if self.kind == TAIL:
            return f"run {self.number}: tail, in which {nodes} agree on how far is too far from a centre"
        return f"run {self.number}: {self.kind}, K = {self.k}, {nodes}"

    def begin(self, record: Mapping[str, Any]) -> bool:
        """A run record; False where it is no newer one. Raises PayloadError."""
        number = whole(record, "run", low=1)
        kind = record.get("kind")
        if kind not in ("tree", "gossip", *WITHOUT_SSD, "idle"):
            raise PayloadError(f"kind is {clean(kind, 20)}")
        members = tuple(wholes(record, "members", ()))
        k, root, points = whole(record, "k", 0), whole(record, "root", 0), whole(record, "points", 0)
        if number <= self.number:
            return False
        self.number, self.kind, self.k, self.members = number, kind, k, members
        self.root, self.scheduled, self.epoch, self.missing = root, root, 0, set()
        self._everyone = frozenset(members)
        self.points = points
        self.dataset = clean(record.get("dataset", ""), 16)
        self.ssd, self.done, self.steps, self._parts = {}, set(), {}, {}
        return True

    def know_dataset(self, record: Mapping[str, Any]) -> tuple[str, int] | None:
        """The record of a data set: (its name, readings); None for the one that is known. Raises PayloadError."""
        try:
            unit, scale = 1.0, "one"
            if record.get("bits") != READINGS:  # those are on no grid yet
                grid = grid_of(record)
                unit, scale = grid.unit**2, str(grid.scale)
            rows = sum(int(entry["rows"]) for entry in record["nodes"].values())
            before, self._known, self._unit = self._known, str(record["dataset"]), unit
            self.scale = scale
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise PayloadError(f"no record of a data set: {clean(error, 40)}") from None
        return None if self._known == before else (clean(record.get("name", ""), 40), rows)

    def take_step(self, node: int, record: Mapping[str, Any]) -> Step | None:
        """Step telemetry: the step, once it is known of the network; None before. Raises PayloadError."""
        run, step, part = whole(record, "run"), whole(record, "step"), whole(record, "ssd")
        if run != self.number or node not in self._everyone or step in self.ssd or step > MOST_STEPS:
            return None
        unit = self._unit if self.in_units else 1.0
        if self.kind != "gossip":
            return self._take_root(node, record, step, part * unit)
        parts = self._parts.setdefault(step, {})
        parts[node] = part
        if len(parts) < len(self._everyone):
            return None
        self.ssd[step] = sum(parts.values()) * unit
        del self._parts[step]
        return Step(step, self.ssd[step])

    def _take_root(self, node: int, record: Mapping[str, Any], step: int, ssd: float) -> Step | None:
        """A step that a root of `tree` tells of; None where the node is not the root of the epoch that it names."""
        epoch = wholes(record, "epoch", (0, self.scheduled, 0))
        missing = tuple(one for one in wholes(record, "missing", ()) if one in self.members)
        if len(epoch) != 3 or epoch[1] != node:
            return None
        self.ssd[step] = ssd
        self.missing.update(missing)
        before, self.root, self.epoch = self.root, node, epoch[0]
        return Step(step, ssd, missing, self.epoch, node, before != node)

    def take_commit(self, run: int, node: int, step: int) -> None:
        """A commit of a node."""
        if run == self.number and node in self.members:
            self.steps[node] = max(step, self.steps.get(node, 0))

    def take_result(self, node: int, missing: Iterable[int]) -> bool:
        """A node's result, and who was missing by it; False where it is no member, or has given it before."""
        if node not in self.members or node in self.done:
            return False
        self.done.add(node)
        self.missing.update(one for one in missing if one in self.members)
        return True
