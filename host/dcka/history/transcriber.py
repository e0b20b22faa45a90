"""What a network says and what a monitor sees, made into rows. Pure: no clock, no thread, no database."""

import contextlib
import hashlib
from collections import deque
from collections.abc import Iterable
from typing import Any

from dcka.history.batch import Batch, Row
from dcka.history.known import KnownRun, dataset_row, json_of
from dcka.history.store import dumps
from dcka.monitor.events import Event, clean
from dcka.mqtt import Message
from dcka.mqtt.statuses import NodeStatus, PayloadError, read_object, read_status, whole, wholes
from dcka_core.errors import CoreError
from dcka_core.messages import peek_run

KNOWN_RUNS = 8
MOST_EARLY = 10_000
"""Messages that are kept until the record of their run comes."""
REJECTED_A_MINUTE = 20
NOT_STORED = ("step", "history")
"""Events that have rows of their own, or are about the history itself."""
_TEXT = 400
_FEW = 64
"""Of what a node may make up as much as it likes."""


class Transcriber:
    """Of one network. `session`: this monitor's. What is made up to now is in `batch` until `take` hands it out.

    `refused`: messages that made no rows.
    """

    def __init__(self, network: str, session: str) -> None:
        self.batch = Batch()
        self.refused = 0
        self._network = network
        self._session = session
        self._known: dict[int, KnownRun] = {}
        self._run_payload = b""
        self._early: deque[tuple[int, Message, float]] = deque(maxlen=MOST_EARLY)
        self._away_at: float | None = None
        self._heard_at = 0.0
        self._minute = 0
        self._rejected = 0

    def take(self) -> Batch:
        """The rows, once."""
        made, self.batch = self.batch, Batch()
        return made

    def message(self, node: int, message: Message, at: float, events: Iterable[Event] = ()) -> None:
        """A message that `NetworkState` took, with what it made of it. `at`: seconds since 1970."""
        self._heard_at = at
        for event in events:
            self.event(event)
        if not message.payload:
            return
        kind = message.suffix.partition("/")[0]
        try:
            if kind == "status":
                if any(event.kind == "status" for event in events):
                    self._status(node, message, at)
            elif kind == "run":
                self._run(message, at)
            elif kind == "dataset":
                self.batch.datasets.append(dataset_row(self._network, read_object(message.payload), at))
            elif kind in ("step", "commit", "result"):
                self._of_run(kind, node, message, at)
        except (PayloadError, CoreError):
            self.refused += 1

    def event(self, event: Event) -> None:
        """Something that a monitor has seen."""
        if event.kind == "broker":
            self._broker(event)
        if event.kind in NOT_STORED or (event.kind == "rejected" and self._too_many(event.at)):
            return
        text = clean(event.text, _TEXT)
        self.batch.events.append(
            {
                "network": self._network,
                "at": event.at,
                "kind": event.kind,
                "text": text,
                "bad": event.bad,
                "data": _short(dict(event.data)),
                "digest": _digest(f"{event.kind} {text}".encode()),
                "session": self._session,
            }
        )

    def reconnected(self, at: float) -> None:
        """The connection was lost, and is back: nobody knows what was said meanwhile."""
        self._gap("broker", self._heard_at or at if self._away_at is None else self._away_at, at)
        self._away_at = None

    def lost(self, began_at: float, at: float) -> None:
        """What came between could not be stored."""
        self._gap("store", began_at, at)

    # ---- inside ----

    def _run(self, message: Message, at: float) -> None:
        if message.payload == self._run_payload:
            return  # said again, for whoever lacks it
        known = KnownRun(self._network, read_object(message.payload))
        self._run_payload = message.payload
        if known.idle:
            self.batch.ended.append({"network": self._network, "at": at})
            return
        self.batch.runs[known.uid] = known.row(at, message.retained)
        self._known[known.number] = known
        while len(self._known) > KNOWN_RUNS:
            del self._known[next(iter(self._known))]
        early, self._early = self._early, deque(maxlen=MOST_EARLY)
        for one in early:
            self.message(*one)

    def _of_run(self, kind: str, node: int, message: Message, at: float) -> None:
        if kind == "commit":
            number, record = peek_run(message.payload), None
        else:
            record = message.record()
            number = whole(record, "run")
        known = self._known.get(number)
        if known is None:
            if number > max(self._known, default=0):
                self._early.append((node, message, at))
            return
        if record is None:
            self._commit(known, node, message, at)
        elif kind == "step":
            step = known.step_row(node, record, at)
            self.batch.steps[known.uid].append(step)
        else:
            result = known.result_row(node, record, at)
            self.batch.results[known.uid].append(result)

    def _commit(self, known: KnownRun, node: int, message: Message, at: float) -> None:
        commit = known.commit(node, message.payload)
        if commit is None:
            return
        row, result = known.commit_row(commit, at), known.rebuilt(commit, at)
        if row is not None:
            self.batch.commits[known.uid].append(row)
        if result is not None:
            self.batch.results[known.uid].append(result)

    def _status(self, node: int, message: Message, at: float) -> None:
        status = read_status(node, message.payload)
        self.batch.statuses.append(
            {
                "network": self._network,
                "node": node,
                "at": at,
                "retained": message.retained,
                "state": status.state,
                "run": status.run,
                "record": _short(status_record(status)),
                "digest": _digest(message.payload),
                "session": self._session,
            }
        )

    def _broker(self, event: Event) -> None:
        if event.data.get("state") == "away" and self._away_at is None:
            self._away_at = event.at
            self._gap("broker", event.at, None)
        elif event.data.get("state") == "back" and self._away_at is not None:
            self.reconnected(event.at)

    def _gap(self, kind: str, began_at: float, ended_at: float | None) -> None:
        self.batch.gaps.append(gap_row(self._network, kind, self._session, began_at, ended_at))

    def _too_many(self, at: float) -> bool:
        """Whether a flood of useless messages has been told of enough for this minute."""
        minute = int(at // 60)
        if minute != self._minute:
            self._minute, self._rejected = minute, 0
        self._rejected += 1
        return self._rejected > REJECTED_A_MINUTE


def gap_row(network: str, kind: str, session: str, began_at: float, ended_at: float | None) -> Row:
    """Of the table `gaps`."""
    return {
        "network": network,
        "kind": kind,
        "session": session,
        "began_at": began_at,
        "ended_at": ended_at,
    }


def status_record(status: NodeStatus) -> dict[str, Any]:
    """What a status says, without what nobody knows; the tables that a node may fill as it likes are cut."""
    names = (
        "boot", "nonce", "step", "prepared", "dataset", "data", "readings", "rows", "heap", "free",
        "max_message", "firmware", "runtime", "problem", "twin", "stalled", "until_ms",
    )  # fmt: skip
    said = {name: value for name in names if (value := getattr(status, name))}
    for name, values in (("waiting", status.waiting), ("clipped", status.clipped)):
        if values:
            said[name] = list(values[:_FEW])
    if status.dropped:
        said["dropped"] = {clean(why, 16): status.dropped[why] for why in list(status.dropped)[:_FEW]}
    if status.quarantined:
        said["quarantined"] = {str(node): clean(why, 20) for node, why in status.quarantined.items()}
    with contextlib.suppress(PayloadError):
        said |= {"ledger": wholes(status.record, "ledger")[:_FEW]}
    return said


def _short(record: dict[str, Any]) -> str:
    """JSON; only its plain values where it is beyond all measure."""
    try:
        text = json_of(record)
    except (PayloadError, TypeError):
        text = ""
    if text and len(text) <= 20_000:
        return text
    plain = {name: value for name, value in record.items() if isinstance(value, int | str | bool)}
    return dumps({name: value if isinstance(value, int) else value[:_TEXT] for name, value in plain.items()})


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
