"""What a run came to: all that the host saw of it, kept as one JSON file, and read back as it was."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from dcka.config.state import State
from dcka.errors import DckaError, UsageError
from dcka.mqtt.statuses import quarantined
from dcka_core.errors import CoreError
from dcka_core.messages import FINAL, Commit, read_commit
from dcka_core.record import read_run

Json = dict[str, Any]

_BY_NODE = ("rows", "results", "commits", "steps", "statuses", "events")
_NEWER: Json = {"absent": [], "events": {}}
"""What outcomes of older versions lack."""


class OutcomeError(DckaError):
    """There is no outcome of that run, or what is kept of it is broken."""


class NoOutcomeError(OutcomeError, UsageError):
    """There is no such run: nothing is broken, and nothing was looked at."""


@dataclass(frozen=True)
class Outcome:
    """One run as the host saw it. What is kept by node has the node's id as its key.

    `record`, `rows`: what was published as `run` and `rows/<i>`. `dataset`: 16 hex digits. `started`: ISO, UTC.
    `wall_s`: from publishing `run` to the last result. `members`: ids in index order. `results`: the JSON of
    `result/<i>`; one whose message was lost is rebuilt from the node's final commit, has `"rebuilt": true`, and
    lacks what a commit does not tell (`sent`, `bytes`, `heard`, `slots`, `heap`, `ms`). `commits`: the last
    `commit/<i>` of this run, in hex. `steps`: the JSON of `step/<i>` in order of `step`, each step once.
    `statuses`: the last `status/<i>`. `finished`: every member but the absent has given its result and holds a
    final commit. `waiting`: who is missed where it is not, and `reason`, a sentence that says so; [] and "" otherwise.
    `absent`: members of a finished run of `tree` that had gone, and gave no result. `rejected`: messages that were
    dropped as malformed or of no meaning in this run.
    `events`: the JSON of `event/<i>`, the farthest reading first.
    """

    run: int
    network: str
    kind: str
    record: Json
    rows: dict[int, Json]
    dataset: str
    started: str
    wall_s: float
    members: list[int]
    finished: bool
    results: dict[int, Json] = field(default_factory=dict)
    commits: dict[int, str] = field(default_factory=dict)
    steps: dict[int, list[Json]] = field(default_factory=dict)
    statuses: dict[int, Json] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    reason: str = ""
    rejected: int = 0
    absent: list[int] = field(default_factory=list)
    events: dict[int, list[Json]] = field(default_factory=dict)

    def to_json(self) -> Json:
        """A dict that JSON can hold; `from_json` is its inverse."""
        record = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for name in _BY_NODE:
            record[name] = {str(node): value for node, value in record[name].items()}
        return {"v": 1, **record}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Outcome":
        """The outcome of `to_json`. Raises OutcomeError where the record is none."""
        try:
            if record["v"] != 1:
                raise OutcomeError(f"an outcome of version {record['v']}, and this program reads version 1")
            record = {**_NEWER, **record}
            values = {entry.name: record[entry.name] for entry in fields(cls)}
            for name in _BY_NODE:
                values[name] = {int(node): value for node, value in values[name].items()}
            return cls(**values)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise OutcomeError(f"no outcome of a run: {error!r}") from error

    def save(self, state: State) -> None:
        """Keep it as the record of its run. Raises StateError where the disk refuses."""
        state.write(state.run(self.run), self.to_json())

    @classmethod
    def load(cls, state: State, number: int | None = None) -> "Outcome":
        """The outcome of run `number`, by default of the last one. Raises OutcomeError, StateError."""
        wanted = number or state.last_run()
        kept = state.read(state.run(wanted)) if wanted else None
        if kept is None:
            what = f"run {number}" if number else "any run"
            raise NoOutcomeError(f"{state.folder} has no outcome of {what}; make one with: dcka run")
        try:
            return cls.from_json(kept if isinstance(kept, dict) else {})
        except OutcomeError as error:
            raise OutcomeError(f"{state.run(wanted)}: {error}; remove the file and run again") from error

    @property
    def settled(self) -> bool:
        """Whether the last commit of every member that is not absent is a final one."""
        there = [node for node in self.members if node not in self.absent]
        return all(node in self.commits and decode_commit(self, node).flags & FINAL for node in there)

    @property
    def missing(self) -> list[int]:
        """Who was missing in a step of `tree`, or was absent in the end.

        As the last commits say: a node may have heard of a better end than the one that it gave its result of.
        """
        found = set(self.absent)
        for node in self.commits:
            ever = decode_commit(self, node).missing
            found.update(one for index, one in enumerate(self.members) if ever >> index & 1)
        return sorted(found)

    @property
    def quarantined(self) -> dict[int, dict[int, str]]:
        """Who was held in quarantine in this run: by which nodes, and why."""
        found: dict[int, dict[int, str]] = {}
        told = [*self.results.items()]
        told += [(node, status) for node, status in self.statuses.items() if status.get("run") == self.run]
        for by, record in told:
            for node, why in quarantined(record).items():
                found.setdefault(node, {})[by] = why
        return {node: dict(sorted(found[node].items())) for node in sorted(found)}

    @property
    def whole(self) -> bool:
        """Whether it has finished, and every member's readings are in every step of it."""
        return self.finished and self.settled and not self.missing


def decode_commit(outcome: Outcome, node: int) -> Commit:
    """The last commit of `node` in this run: centres, counts, SSD, flags (docs/protocol.md, section 4).

    Raises OutcomeError where the node has none, or it is broken.
    """
    payload = outcome.commits.get(node)
    if payload is None:
        raise OutcomeError(f"run {outcome.run}: node {node} has made no commit that was seen")
    try:
        return read_commit(bytes.fromhex(payload), read_run(outcome.record))
    except (CoreError, ValueError) as error:
        raise OutcomeError(f"run {outcome.run}: the commit of node {node} is broken: {error}") from error


def greatest_holder(outcome: Outcome) -> int:
    """The node with the greatest of the last commits, the lowest id of several: nodes that ended apart hold others.

    Raises OutcomeError where one is broken.
    """
    best = min(outcome.commits)
    greatest = decode_commit(outcome, best)
    for node in outcome.commits:
        commit = decode_commit(outcome, node)
        if commit.beats(greatest):
            best, greatest = node, commit
    return best
