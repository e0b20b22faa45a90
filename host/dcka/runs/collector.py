"""What the nodes publish during a run: checked against the run's record, and kept once each."""

from dcka.mqtt.connection import Message
from dcka.mqtt.statuses import PayloadError, quarantined, read_object, whole, wholes
from dcka.runs.ledgers import require_ledger
from dcka.runs.plan import TAIL, Json, RunPlan
from dcka_core.errors import MessageError
from dcka_core.messages import (
    CONVERGED,
    FINAL,
    GOSSIP,
    KEPT,
    UNDECIDED,
    Commit,
    is_change,
    peek_run,
    read_commit,
)
from dcka_core.record import read_run

_RESULT_NUMBERS = ("steps", "ssd", "sent", "bytes", "heard", "slots", "heap", "ms", "flags")
# What a run has to come to at a node; its counters begin anew where it does.
_RESULT_PROPER = ("steps", "converged", "ssd", "flags", "missing")
CONFLICT = "conflict: it says other than before"
_ALL_FLAGS = FINAL | CONVERGED | GOSSIP | KEPT | UNDECIDED


class Collector:
    """The results, commits and steps of one run.

    `results`, `steps`: by node, as the JSON came; `commits`: by node, the greatest. `commit_at`, `result_at`:
    when they came, by the connection's clock. The first word on a matter stands: a second, different one is refused
    as a conflict, for then two nodes have one id, or somebody forges.
    """

    def __init__(self, plan: RunPlan) -> None:
        self._number = plan.number
        self._members = frozenset(plan.members)
        self._run = read_run(plan.record)
        self.results: dict[int, Json] = {}
        self.result_at: dict[int, float] = {}
        self.payloads: dict[int, bytes] = {}
        self.commits: dict[int, Commit] = {}
        self.commit_at: dict[int, float] = {}
        self._steps: dict[int, dict[int, Json]] = {}
        self._events: dict[int, dict[int, Json]] = {}

    @property
    def events(self) -> dict[int, list[Json]]:
        """What nodes have said of readings by node, the farthest first, of equals the first in the data."""
        return {
            node: sorted(own.values(), key=lambda one: (-one["distance"], one["index"]))
            for node, own in sorted(self._events.items())
        }

    @property
    def steps(self) -> dict[int, list[Json]]:
        """The step telemetry by node, in order of step."""
        return {node: [by_step[step] for step in sorted(by_step)] for node, by_step in self._steps.items()}

    def reached(self) -> dict[int, int]:
        """The step that each node is in, as far as it has told: of many commits of `tree` only the change is sent."""
        commits = {node: commit.step for node, commit in self.commits.items()}
        reports = {node: max(by_step) + 1 for node, by_step in self._steps.items() if by_step}
        return {node: max(commits.get(node, 0), reports.get(node, 0)) for node in commits.keys() | reports}

    def final(self, node: int) -> bool:
        """Whether the node's last commit ends the run."""
        return node in self.commits and bool(self.commits[node].flags & FINAL)

    def take_result(self, node: int, message: Message) -> Json | None:
        """A result; None where it is known, by word of an earlier boot too. Raises PayloadError."""
        record = self._of_this_run(node, message)
        for name in _RESULT_NUMBERS:
            whole(record, name)
        if type(record.get("converged")) is not bool:
            raise PayloadError("converged is neither true nor false")
        if record["flags"] > _ALL_FLAGS or not set(wholes(record, "missing")) <= self._members:
            raise PayloadError("flags or missing are out of bounds")
        require_ledger(record)
        quarantined(record)
        known = self.results.get(node)
        if known is not None and not known.get("rebuilt"):
            if _proper(record) == _proper(known):
                return None
            # A node that has heard of a greater final says its result anew, behind its commit.
            if not self.final(node) or _proper(record) != _proper(self._of_commit(node)):
                raise PayloadError(CONFLICT)
        self.results[node] = record
        self.result_at.setdefault(node, message.at)
        return record

    def take_step(self, node: int, message: Message) -> Json | None:
        """Step telemetry; None where it is known. Raises PayloadError."""
        record = self._of_this_run(node, message)
        step = whole(record, "step")
        whole(record, "ssd")
        if whole(record, "flags") > _ALL_FLAGS or step >= self._run.max_steps:
            raise PayloadError("flags or step are out of bounds")
        if self._run.kind == "gossip":
            self._require_gossip(record)
        else:
            self._require_tree(record)
        known = self._steps.setdefault(node, {})
        if step in known:
            if known[step] != record:
                raise PayloadError(CONFLICT)
            return None
        known[step] = record
        return record

    def take_event(self, node: int, message: Message) -> Json | None:
        """A reading that a node tells of, in a tail whose record asks for such; None for one that is known.

        A greater end of the run makes the node say them anew: those beyond of either stay. Raises PayloadError.
        """
        record = self._of_this_run(node, message)
        if self._run.kind != TAIL or not self._run.reveal:
            raise PayloadError("nobody has asked for readings")
        index, point = whole(record, "index"), wholes(record, "point")
        whole(record, "distance")
        if len(point) != self._run.n or max(point) >> self._run.data_bits:
            raise PayloadError("point is none of the grid")
        known = self._events.setdefault(node, {})
        if index in known:
            if known[index] != record:
                raise PayloadError(CONFLICT)
            return None
        if len(known) >= 2 * self._run.reveal:
            raise PayloadError("more readings than were asked for")
        known[index] = record
        return record

    def take_commit(self, node: int, message: Message) -> Commit | None:
        """A commit; None for one that is known, older, retained of an earlier run, or cleared.

        Raises PayloadError.
        """
        # What has changed is for the neighbours; the last commit of all comes in full.
        if not message.payload or is_change(message.payload):
            return None
        try:
            if message.retained and peek_run(message.payload) != self._number:
                return None
            commit = read_commit(message.payload, self._run)
        except MessageError as error:
            raise PayloadError(error.reason) from None
        if commit.sender != node or node not in self._members:
            raise PayloadError("sender")
        if not commit.beats(self.commits.get(node)):
            return None
        self.commits[node] = commit
        self.payloads[node] = message.payload
        self.commit_at[node] = message.at
        return commit

    def rebuild_result(self, node: int) -> Json:
        """A result from the node's final commit, for one whose message was lost; counters are not in it."""
        self.results[node] = record = {**self._of_commit(node), "rebuilt": True}
        self.result_at[node] = self.commit_at[node]
        return record

    def _of_commit(self, node: int) -> Json:
        commit, members = self.commits[node], self._run.members
        return {
            "v": 1,
            "run": self._number,
            "node": node,
            "steps": commit.step,
            "converged": bool(commit.flags & CONVERGED),
            "ssd": commit.ssd,
            "flags": commit.flags,
            "missing": [one for index, one in enumerate(members) if commit.missing >> index & 1],
        }

    def _of_this_run(self, node: int, message: Message) -> Json:
        record = read_object(message.payload)
        if whole(record, "run") != self._number:
            raise PayloadError("of another run")
        if record.get("node") != node:
            raise PayloadError("node is not the topic's")
        if node not in self._members:
            raise PayloadError("of no member of the run")
        return record

    def _require_tree(self, record: Json) -> None:
        missing, epoch = set(wholes(record, "missing", ())), wholes(record, "epoch", (0, self._run.root, 0))
        if not missing < self._members or len(epoch) != 3 or epoch[1] != record["node"]:
            raise PayloadError("missing or epoch are out of bounds")

    def _require_gossip(self, record: Json) -> None:
        centres = wholes(record, "centres")
        if len(centres) != self._run.k * self._run.n or max(centres) >> self._run.bits:
            raise PayloadError("centres are not those of the run's grid and K")
        put = record.get("put")
        if not isinstance(put, str) or len(put) != 16 or type(record.get("moved")) is not bool:
            raise PayloadError("put or moved are malformed")
        whole(record, "slots", low=1)


def _proper(result: Json) -> Json:
    return {name: result[name] for name in _RESULT_PROPER}
