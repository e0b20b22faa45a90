"""What the nodes say of themselves on `status/<i>`: read with care, and the newest of each kept."""

import functools
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dcka.errors import DckaError

OFFLINE = "offline"
ASLEEP = "asleep"
SILENT_S = 25.0
"""A node says something every 10 s: two of those, and some time to travel."""
STATES = ("ready", "running", "done", ASLEEP, OFFLINE)
_MOST = (1 << 63) - 1
_FIGURES = ("step", "rows", "heap", "free")
_NO_NEWS = {*_FIGURES, "ledger"}
"""What a node that says the same as before says anew each time."""
# A board joins its Wi-Fi within 1.6 s of waking; a sleeper that is later by this, and a tenth of its sleep for its
# clock, is gone: one that dies asleep leaves no will.
OVERSLEPT_S = 5.0


class PayloadError(DckaError):
    """A message that says nothing we can use; its text is the reason."""


@dataclass(frozen=True)
class NodeStatus:
    """A node's status (docs/protocol.md, section 7); what it does not say is 0, "" or empty.

    `until_ms`: for how long it sleeps, from when it said so. `record`: the JSON as it came.
    """

    node: int
    boot: int
    nonce: int
    state: str
    run: int = 0
    step: int = 0
    prepared: int = 0
    dataset: str = ""
    rows: int = 0
    data: str = ""
    readings: str = ""
    clipped: tuple[int, ...] = ()
    heap: int = 0
    free: int = 0
    max_message: int = 0
    firmware: str = ""
    runtime: str = ""
    problem: str = ""
    waiting: tuple[int, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    twin: bool = False
    stalled: bool = False
    quarantined: Mapping[int, str] = field(default_factory=dict)
    until_ms: int = 0
    record: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def online(self) -> bool:
        """Whether it is there, by its own last word or its will; who sleeps between two slots comes back."""
        return self.state != OFFLINE


def read_object(payload: bytes) -> dict[str, Any]:
    """A JSON object of version 1. Raises PayloadError for anything else."""
    try:
        record = json.loads(payload)
    except (ValueError, RecursionError):
        raise PayloadError("no JSON") from None
    if not isinstance(record, dict):
        raise PayloadError("no JSON object")
    if record.get("v") != 1:
        raise PayloadError("another version")
    return record


def whole(record: Mapping[str, Any], name: str, default: int | None = None, low: int = 0) -> int:
    """A whole number from `low`; `default` where it is not there. Raises PayloadError."""
    value = record.get(name, default)
    if type(value) is not int or not low <= value <= _MOST:
        raise PayloadError(f"{name} is no whole number from {low}")
    return value


def wholes(record: Mapping[str, Any], name: str, default: Iterable[int] | None = None) -> list[int]:
    """A list of whole numbers from 0. Raises PayloadError."""
    values = record.get(name, None if default is None else list(default))
    if not isinstance(values, list) or any(type(one) is not int or not 0 <= one <= _MOST for one in values):
        raise PayloadError(f"{name} is no list of whole numbers from 0")
    return values


def read_status(node: int, payload: bytes, before: NodeStatus | None = None) -> NodeStatus:
    """The status that came on the topic of `node`, which is nobody's to change. Raises PayloadError for none.

    `before`: the one before it. Mostly only figures have changed: then it is that one with other figures, its tables
    the very same objects, and made sooner.
    """
    if before is None:
        return _retained(node, payload)
    record = read_object(payload)
    if _says_the_same(record, before.record):
        return _with_figures(before, record)
    return _status(node, record)


# What is retained comes anew to each who subscribes.
@functools.lru_cache(maxsize=2048)
def _retained(node: int, payload: bytes) -> NodeStatus:
    return _status(node, read_object(payload))


def _status(node: int, record: dict[str, Any]) -> NodeStatus:
    if record.get("node") != node:
        raise PayloadError("node is not the topic's")
    if record.get("state") not in STATES:
        raise PayloadError("state is unknown")
    dropped = record.get("dropped", {})
    if not isinstance(dropped, dict) or any(type(count) is not int for count in dropped.values()):
        raise PayloadError("dropped is no table of counts")
    return NodeStatus(
        node=node,
        boot=whole(record, "boot"),
        nonce=whole(record, "nonce"),
        state=record["state"],
        run=whole(record, "run", 0),
        step=whole(record, "step", 0),
        prepared=whole(record, "prepared", 0),
        dataset=_text(record, "dataset"),
        rows=whole(record, "rows", 0),
        data=_text(record, "data"),
        readings=_text(record, "readings"),
        clipped=tuple(wholes(record, "clipped", ())),
        heap=whole(record, "heap", 0),
        free=whole(record, "free", 0),
        max_message=whole(record, "max_message", 0),
        firmware=_text(record, "firmware"),
        runtime=_text(record, "runtime"),
        problem=_text(record, "problem"),
        waiting=tuple(wholes(record, "waiting", ())),
        dropped=dropped,
        twin=record.get("twin") is True,
        stalled=record.get("stalled") is True,
        quarantined=quarantined(record),
        until_ms=whole(record, "until_ms", 0),
        record=record,
    )


def _says_the_same(record: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether only figures differ. By text, where it is no text: 1 and true are equal, and one of them is no count."""
    if record.keys() != before.keys():
        return False
    for name, value in record.items():
        if name not in _NO_NEWS:
            known = before[name]
            if value is not known and (
                value != known or (type(value) is not str and repr(value) != repr(known))
            ):
                return False
    return True


def _with_figures(before: NodeStatus, record: dict[str, Any]) -> NodeStatus:
    figures = {name: whole(record, name, 0) for name in _FIGURES}
    made = object.__new__(NodeStatus)  # its __init__ would set each of the fields by itself
    made.__dict__.update(before.__dict__)
    made.__dict__.update(figures, record=record)
    return made


def quarantined(record: Mapping[str, Any]) -> dict[int, str]:
    """Whom a status or a result says that its node holds in quarantine, and why. Raises PayloadError."""
    said = record.get("quarantined", {}) if isinstance(record, Mapping) else {}
    if not isinstance(said, dict) or any(
        not node.isdecimal() or len(node) > 5 or not isinstance(why, str) or len(why) > 20
        for node, why in said.items()
    ):
        raise PayloadError("quarantined is no table of reasons by node")
    return {int(node): why for node, why in said.items()}


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name, "")
    if not isinstance(value, str) or len(value) > 1000:
        raise PayloadError(f"{name} is no text")
    return value


class Statuses:
    """The newest status of each node, and who turned out to be two.

    What is of an older boot is passed over: the will of a session that ended may come after the node is back,
    and a broker that restarts may know less than it did. But an older nonce that speaks up, live, after a newer
    one means that two nodes have the id.

    `twins`: ids of two nodes, by what we have seen or a node says itself; `seen_twice`: by what we have seen.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said_at: dict[int, float] = {}
        self.by_node: dict[int, NodeStatus] = {}
        self.twins: set[int] = set()
        self.seen_twice: set[int] = set()
        self._nonces: dict[int, list[int]] = {}

    def take(self, node: int, payload: bytes, retained: bool = False) -> NodeStatus | None:
        """Take a status in; None for one that is passed over. Raises PayloadError.

        What is known of a node stays: a status that was cleared says nothing new.
        """
        before = self.by_node.get(node)
        status = read_status(node, payload, before)
        nonces = self._nonces.setdefault(node, [])
        older = status.nonce in nonces[:-1]
        if older and (retained or not status.online):
            return None
        if older:
            self.twins.add(node)
            self.seen_twice.add(node)
        if status.online and nonces[-1:] != [status.nonce]:
            nonces[:] = [*[nonce for nonce in nonces if nonce != status.nonce][-7:], status.nonce]
        if status.twin:
            self.twins.add(node)
        if before != status:
            # Else it is the same word again: what is retained comes with every subscription.
            self._said_at[node] = self._clock()
        self.by_node[node] = status
        return status

    def get(self, node: int) -> NodeStatus | None:
        """The newest status of the node, if it has said anything."""
        return self.by_node.get(node)

    def online(self, node: int) -> bool:
        """Whether the node is there; one that sleeps is, until it has overslept."""
        status = self.by_node.get(node)
        return status is not None and status.online and not self._overslept(status)

    def sleeps_s(self, node: int) -> float:
        """For how many seconds more the node sleeps, by its last word, if that was said when it came; 0 where it does
        not, or has overslept."""
        status = self.by_node.get(node)
        if status is None or status.state != ASLEEP:
            return 0.0
        return max(0.0, status.until_ms / 1000 - (self._clock() - self._said_at[node]))

    def _overslept(self, status: NodeStatus) -> bool:
        if status.state != ASLEEP:
            return False
        late_s = self._clock() - self._said_at[status.node] - 1.1 * status.until_ms / 1000
        return late_s > OVERSLEPT_S
