"""Drives one run of the network: rows, readiness, the run's record, then all that the nodes say until the end.

The sequence is that of docs/protocol.md: `rows/<i>` for every member; when all statuses show the run as
`prepared`, the record on `run`; then results. All three are retained, and said again while a member's status
does not show them, and after an outage: a broker may have lost what it kept.
"""

import contextlib
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from dcka.mqtt.channel import Channel
from dcka.mqtt.connection import ConnectionLost, Message
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.readiness import (
    READY_S,
    TWINS,
    await_online,
    await_settled,
    named,
    require_dataset,
    require_readings,
)
from dcka.mqtt.statuses import NodeStatus, PayloadError, read_object, whole
from dcka.runs.absence import Absence
from dcka.runs.again import Again
from dcka.runs.blame import STALLED, missed
from dcka.runs.collector import Collector
from dcka.runs.identity import identified
from dcka.runs.outcome import Outcome
from dcka.runs.plan import SURVEY, TAIL, RunPlan, idle
from dcka.runs.sleepers import Sleepers

LIMIT_S = 120.0
PREPARE_S = (
    10.0  # for rows to reach a node and its status to come back: milliseconds, seconds after an outage
)
# After a node's final commit its result follows at once; if it does not, it was lost, and the commit has it.
RESULT_S = 1.0
SETTLE_S = 1.0  # for the last statuses and commits, once all results are there
NODE_S = 0.02  # that both may take longer for each node: some hundred messages a second are the least that a host reads
FAREWELL_S = 2.0

OnEvent = Callable[[str, dict[str, Any]], None]


def run(
    connection: Channel,
    plan: RunPlan,
    *,
    limit_s: float | None = None,
    ready_s: float = READY_S,
    await_sleepers: bool = True,
    on_event: OnEvent | None = None,
) -> Outcome:
    """Run `plan`, and return what it came to; where that is not within `limit_s`, an outcome that says why. The limit
    is LIMIT_S where none is given, and longer where nodes keep slot time. A member that sleeps deeply is waited for
    until it has woken, beyond the limit; without `await_sleepers` one that sleeps ends the run before it begins.

    `on_event`: called with a kind and its data: "online" and "prepared" (`node`), "begun" (`run`, `members`),
    "step", "result", "event" (the node's JSON), "commit" (`node`, `step`, `final`), "waiting" (`nodes`, `reason`),
    "rejected" (`topic`, `reason`), twice a second "turn", and last "ended" (`outcome`: its JSON;
    `dataset`: the data set's record). Raises NotReady, before anything is published, where
    members are absent within `ready_s`, there twice, or hold other data. Whatever ends the run before its end, Ctrl-C
    included, the nodes are told that it is over.
    """
    if limit_s is None:
        limit_s = plan.longer(LIMIT_S)
    tell = on_event or (lambda kind, data: None)
    course = _Course(connection, replace(plan, record=identified(plan.record)), tell, await_sleepers)
    course.await_members(ready_s)
    try:
        course.prepare(min(PREPARE_S + NODE_S * len(plan.members), limit_s))
        course.follow(limit_s)
        outcome = course.conclude()
    except BaseException:
        course.dismiss()
        raise
    tell("ended", {"outcome": outcome.to_json(), "dataset": plan.dataset})
    return outcome


def dismiss(connection: Channel, number: int, timeout: float = FAREWELL_S) -> None:
    """End whatever runs with a smaller number. Raises ConnectionLost where the broker does not take it."""
    connection.publish("run", idle(number), retain=True)
    connection.flush(timeout)


class _Course:
    """One run on its way."""

    def __init__(
        self, connection: Channel, plan: RunPlan, on_event: OnEvent, await_sleepers: bool = True
    ) -> None:
        handlers = {
            "run": self._take_run,
            "rows": self._take_rows,
            "result": self._take_result,
            "step": self._take_step,
            "commit": self._take_commit,
            "event": self._take_event,
        }
        self.inbox = Inbox(connection, handlers, self._take_status, self._tell_rejected, self._restate)
        self._connection = connection
        self._plan = plan
        self._members = frozenset(plan.members)
        self._tell = on_event
        self._collector = Collector(plan)
        self._rejected_before = connection.rejected.total()
        self._seen_online: set[int] = set()
        self._prepared: set[int] = set()
        self._started = datetime.now(UTC)
        self._begun_at: float | None = None
        self._superseded = False
        self._waiting: list[int] = []
        self._reason = ""
        self._missed_before: list[int] = []
        self._told: tuple[list[int], bool] = [], False
        self._absence = Absence(plan, self.inbox)
        self._await_sleepers = await_sleepers
        self._sleepers = Sleepers(self.inbox.statuses, on_event)
        self._again = Again(connection.now)

    # ---- the sequence ----

    def await_members(self, ready_s: float) -> None:
        """Everyone there, once, and with the data of the run. Raises NotReady."""
        self._connection.subscribe("run", "rows/+", "result/+", "step/+", "commit/+")
        self._connection.subscribe("status/+", *(["event/+"] if self._plan.kind == TAIL else []))
        await_online(self.inbox, self._members, ready_s)
        self.inbox.drain()
        about_readings, wanted = self._plan.kind == SURVEY, self._plan.dataset_id
        await_settled(
            self.inbox,
            self._members,
            lambda status: (status.readings if about_readings else status.dataset) == wanted,
        )
        require = require_readings if about_readings else require_dataset
        require(self.inbox.statuses, self._members, self._plan.dataset_id)

    def prepare(self, limit_s: float) -> None:
        """Give every member its rows, and wait until each says that it has them; who sleeps, once it has woken."""
        if self._await_sleepers:
            limit_s += self._sleepers.longest_s(self._members)
        self._publish_rows()
        self._look_at_sleepers()
        done = self.inbox.until(
            lambda: self._members <= self._prepared or bool(self._reason),
            limit_s,
            "status/+",
            ask=self._prepare_again,
        )
        if not done:
            late = self._members - self._prepared
            self._give_up(
                late,
                f"{named(late)} did not take the rows of run {self._plan.number}: is a newer run known there?",
            )
        self._connection.unsubscribe("rows/+")
        self._sleepers.tell(())

    def follow(self, limit_s: float) -> None:
        """Begin, and take in what comes, until all results are there or it makes no sense to wait on."""
        if self._reason:
            return
        self._started = datetime.now(UTC)
        self._begun_at = self._connection.now()
        self._again.reset()
        self._connection.publish("run", self._plan.record, retain=True)
        self._tell("begun", {"run": self._plan.number, "members": list(self._plan.members)})
        if not self.inbox.until(self._is_over, limit_s, "status/+", "commit/+", ask=self._look_after):
            self._give_up(*self._missed())

    def conclude(self) -> Outcome:
        """The outcome. What is still on its way is waited for, but the clock of the run has stopped."""
        if not self._reason and not self._settles():
            lacking = [
                node for node in self._members - self._absence.nodes if not self._collector.final(node)
            ]
            if lacking:
                self._give_up(lacking, f"the final commit of {named(lacking)} was not seen; run again")
        if self._reason:
            self.dismiss()
        return self._outcome()

    def _settles(self) -> bool:
        limit_s = SETTLE_S + NODE_S * len(self._members)
        return self.inbox.until(self._has_settled, limit_s, "commit/+", "status/+")

    def dismiss(self) -> None:
        """Tell the nodes that the run is over, if the broker still listens, and no other run has begun."""
        if not self._superseded:
            with contextlib.suppress(ConnectionLost):
                dismiss(self._connection, self._plan.number + 1)

    # ---- what is published ----

    def _publish_rows(self) -> None:
        for node in sorted(self._members - self._prepared):
            self._connection.publish(f"rows/{node}", self._plan.rows[node], retain=True)

    def _prepare_again(self) -> None:
        if self._again.due():
            self._publish_rows()
        self._look_at_sleepers()

    def _look_at_sleepers(self) -> None:
        waiting = self._members - self._prepared
        if self._await_sleepers:
            self._sleepers.tell(waiting)
        elif asleep := self._sleepers.among(waiting):
            self._give_up(asleep, f"{self._sleepers.words(asleep)}, and is not waited for")

    def _restate(self) -> None:
        """After an outage: whatever the broker kept may be gone."""
        self._again.reset()
        self._connection.publish("dataset", self._plan.dataset, retain=True)
        for node in sorted(self._members):
            self._connection.publish(f"rows/{node}", self._plan.rows[node], retain=True)
        self._restate_run()

    def _restate_run(self) -> None:
        if self._begun_at is not None:
            self._connection.publish("run", self._plan.record, retain=True)

    def _look_after(self) -> None:
        """Every half a second of a run: say again what somebody lacks, mend what was lost, say who is missed."""
        lacking = [node for node in self._members if self._lacks_run(node)]
        if lacking and self._again.due():
            for node in lacking:
                self._connection.publish(f"rows/{node}", self._plan.rows[node], retain=True)
            self._restate_run()
        now = self._connection.now()
        for node, came_at in self._collector.commit_at.items():
            if (
                self._collector.final(node)
                and node not in self._collector.results
                and now - came_at > RESULT_S
            ):
                self._tell("result", self._collector.rebuild_result(node))
        self._tell_waiting()
        self._absence.look(self._collector.results.keys(), self._begun_at or 0.0, now)
        self._tell("turn", {})
        if self._absence.is_stubborn(now):
            self._give_up(*self._missed())

    def _lacks_run(self, node: int) -> bool:
        status = self.inbox.statuses.get(node)
        begun = status is not None and status.run == self._plan.number
        return not begun and node not in self._collector.results

    # ---- what comes ----

    def _take_status(self, status: NodeStatus) -> None:
        node = status.node
        if node not in self._members:
            return
        if node in self.inbox.statuses.seen_twice:
            self._give_up([node], f"{named([node])}: {TWINS}")
        if status.online and node not in self._seen_online:
            self._tell("online", {"node": node, "status": dict(status.record)})
        (self._seen_online.add if status.online else self._seen_online.discard)(node)
        if status.prepared == self._plan.number and node not in self._prepared:
            self._prepared.add(node)
            self._tell("prepared", {"node": node})

    def _take_run(self, node: int, message: Message) -> None:
        """Our own record comes back, or somebody else's: the run is his, or what the broker kept is put right."""
        try:
            record = read_object(message.payload) if message.payload else {}
            number = whole(record, "run", 0)
        except PayloadError:
            self._restate_run()
            raise
        if number < self._plan.number:
            self._restate_run()
        elif record != self._plan.record:
            self._superseded = True
            ended = "ended from elsewhere" if record.get("kind") == "idle" else f"overtaken by run {number}"
            self._give_up([], f"run {self._plan.number} was {ended}")

    def _take_rows(self, node: int, message: Message) -> None:
        if message.retained and message.payload and node not in self._members:
            self._connection.publish(f"rows/{node}", b"", retain=True)

    def _take_commit(self, node: int, message: Message) -> None:
        if message.retained and node not in self._members:
            self._connection.publish(f"commit/{node}", b"", retain=True)
            return
        commit = self._collector.take_commit(node, message)
        if commit is not None:
            final = self._collector.final(node)
            self._tell("commit", {"node": node, "step": commit.step, "final": final})

    def _take_result(self, node: int, message: Message) -> None:
        record = self._collector.take_result(node, message)
        if record is not None:
            self._tell("result", record)

    def _take_step(self, node: int, message: Message) -> None:
        record = self._collector.take_step(node, message)
        if record is not None:
            self._tell("step", record)

    def _take_event(self, node: int, message: Message) -> None:
        record = self._collector.take_event(node, message)
        if record is not None:
            self._tell("event", record)

    def _tell_rejected(self, topic: str, reason: str) -> None:
        self._tell("rejected", {"topic": topic, "reason": reason})

    # ---- how it stands ----

    def _is_over(self) -> bool:
        ended = self._collector.results.keys()
        if len(ended) + len(self._absence.nodes) < len(
            self._members
        ):  # asked after each message: of a thousand nodes quickly
            return bool(self._reason)
        return bool(self._reason) or self._members - self._absence.nodes <= ended

    def _has_settled(self) -> bool:
        statuses = self.inbox.statuses.by_node
        return all(
            self._collector.final(node)
            and (statuses[node].run, statuses[node].state) == (self._plan.number, "done")
            for node in self._members - self._absence.nodes
        )

    def _missed(self) -> tuple[list[int], str]:
        return missed(self._plan, self.inbox.statuses, self._collector.results, self._collector.reached())

    def _tell_waiting(self) -> None:
        """Say whom the run waits for: who was missed half a second ago too, and once each time, or where it stalls."""
        statuses = self.inbox.statuses
        troubled = any(
            not statuses.online(node) or status.waiting or status.problem
            for node in self._members
            if (status := statuses.get(node)) is not None
        )
        nodes, reason = self._missed() if troubled else ([], "")
        lasting, self._missed_before = nodes == self._missed_before, nodes
        telling = nodes, reason.startswith(STALLED)
        if lasting and telling != self._told:
            self._told = telling
            self._tell("waiting", {"nodes": nodes, "reason": reason})

    def _give_up(self, nodes: Collection[int], reason: str) -> None:
        if not self._reason:
            self._waiting, self._reason = sorted(nodes), reason

    def _outcome(self) -> Outcome:
        collector = self._collector
        begun = self._begun_at
        last = max(collector.result_at.values(), default=begun or 0.0)
        statuses = self.inbox.statuses.by_node
        return Outcome(
            run=self._plan.number,
            network=self._connection.network,
            kind=self._plan.kind,
            record=self._plan.record,
            rows=self._plan.rows,
            dataset=self._plan.dataset_id,
            started=self._started.isoformat(),
            wall_s=0.0 if begun is None else max(0.0, last - begun),
            members=list(self._plan.members),
            finished=not self._reason,
            results=dict(sorted(collector.results.items())),
            commits={node: payload.hex() for node, payload in sorted(collector.payloads.items())},
            steps=collector.steps,
            events=collector.events,
            statuses={node: dict(statuses[node].record) for node in sorted(self._members & statuses.keys())},
            waiting=self._waiting,
            reason=self._reason,
            absent=sorted(self._absence.nodes),
            rejected=self._connection.rejected.total() - self._rejected_before,
        )
