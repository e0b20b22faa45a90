"""Sends a data set to the nodes: to all at once, a chunk at a time to each (docs/protocol.md, section 6)."""

import secrets
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dcka.errors import DckaError
from dcka.inject.data_file import READINGS_FILE
from dcka.inject.parcel import Parcel
from dcka.mqtt.connection import Connection, Message
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.readiness import READY_S, await_online, named, require_single
from dcka.mqtt.statuses import ASLEEP, PayloadError, read_object, whole
from dcka_core.bounds import varint_bytes
from dcka_core.codec import put_varint
from dcka_core.messages import CHUNK, REMOVE

RESEND_S = 1.0  # a board writes a chunk to its flash in some 10 ms, and seldom needs 100 ms
SENDINGS = 8  # of a chunk, before the node is given up
BEGINNINGS = 3  # of a whole file: a node that restarts, or whose flash errs, asks for it anew
SMALLEST = 64  # a node that takes less could not take part in any run
LIMIT_S = 120.0

SLOWEST_BYTES_S = 4_000  # of a transfer; a board with a bad link still makes so many
SLOWEST_CHECK_BYTES_S = 50_000  # of a board that reads and checks its flash
ROOMLESS = "no room: "  # the first words of a node's refusal (firmware/dcka_device/store.py)

_HEAD = bytes([1 << 4 | CHUNK])
_REMOVE = bytes([1 << 4 | REMOVE])

Progress = Callable[[int, int, int], None]


class TransferError(DckaError):
    """Some nodes have not got their data; `results` says what became of each."""

    def __init__(self, message: str, results: Mapping[int, "TransferResult"] | None = None) -> None:
        super().__init__(message)
        self.results = dict(results or {})


@dataclass(frozen=True)
class TransferResult:
    """`bytes`: of the data file. `chunks`: sent, those sent again (`resent`) included. `skipped`: it had the file
    already. `error`: why the node has not got it, or ""."""

    node: int
    rows: int
    bytes: int
    chunks: int
    resent: int
    skipped: bool
    error: str


def send(
    connection: Connection,
    dataset: Parcel,
    *,
    nodes: Collection[int] | None = None,
    replace: bool = False,
    limit_s: float | None = None,
    ready_s: float = READY_S,
    on_progress: Progress | None = None,
) -> dict[int, TransferResult]:
    """Give every node of the data set (or `nodes` of them) its data, and publish the data set's record, retained.

    The record comes last, when every node's status shows the data. A node that has them already is skipped
    where its status and the record at the broker say so. A node keeps its old data until it has the new ones whole;
    with `replace` it removes them first. `on_progress`: (node, bytes that it has, all bytes). `limit_s` None: two
    minutes, and longer for long files.
    Raises NotReady for nodes that are absent or there twice, TransferError for nodes that are in a run, refuse,
    or have not got their data within `limit_s`; the record at the broker is then as it was. Where a node has no room,
    nobody's data change.
    """
    wanted = sorted(dataset.node_ids if nodes is None else nodes)
    sending = _Sending(connection, dataset, wanted, replace, on_progress)
    connection.subscribe("got/+", "dataset")
    connection.subscribe("status/+")
    await_online(sending.inbox, wanted, ready_s)
    sending.inbox.drain()
    sending.require_idle()
    sending.begin()
    sending.finish(time.monotonic() + (sending.limit_s() if limit_s is None else limit_s))
    results = sending.results()
    failed = [result.error for result in results.values() if result.error]
    if failed:
        raise TransferError("; ".join(failed), results)
    connection.publish("dataset", dataset.record(), retain=True)
    connection.flush()
    return results


class _Sending:
    """One data set on its way."""

    def __init__(
        self,
        connection: Connection,
        dataset: Parcel,
        nodes: list[int],
        replace: bool,
        on_progress: Progress | None,
    ) -> None:
        self.inbox = Inbox(
            connection, {"got": self._take_answer, "dataset": self._take_record}, on_reconnect=self._say_again
        )
        self._connection = connection
        self._dataset = dataset
        self._nodes = nodes
        self._replace = replace
        self._on_progress = on_progress
        self._published: Mapping[str, Any] = {}
        self._files: dict[int, _File] = {}

    def require_idle(self) -> None:
        """Raises TransferError where a node is in a run: it would refuse."""
        busy = [
            node for node in self._nodes if self.inbox.statuses.by_node[node].state in ("running", ASLEEP)
        ]
        if busy:
            raise TransferError(_busy(named(busy), len(busy)))

    def begin(self) -> None:
        """Send the first chunk to every node that lacks its file."""
        for node in self._nodes:
            most = self.inbox.statuses.by_node[node].max_message
            if most < SMALLEST:
                raise TransferError(
                    f"node {node} takes messages of {most} bytes; at least {SMALLEST} are needed"
                )
            data = self._dataset.data_file(node)
            self._files[node] = _File(node, data, most, self._replace, self._connection)
        for node, file in self._files.items():
            if self._has(node) and self._is_published(node):
                file.skipped = file.done = True
            else:
                file.begin()

    def limit_s(self) -> float:
        """How long all of it may take."""
        return LIMIT_S + max((len(file.data) for file in self._files.values()), default=0) / SLOWEST_BYTES_S

    def finish(self, deadline: float) -> None:
        """Answer the nodes until each has its file, and says so in its status, or has failed."""
        while time.monotonic() < deadline and not all(map(self._is_over, self._nodes)):
            self.inbox.turn(RESEND_S / 4)
            for node, file in self._files.items():
                file.look(self.inbox.statuses.online(node))
            self._go_on()
            for node, file in self._files.items():
                if file.done and not self._has(node):
                    self._connection.ask("status/+")
            require_single(self.inbox.statuses, self._nodes)

    def _go_on(self) -> None:
        """After the first chunk all wait for all, so that a node without room is known before anybody's data change."""
        files = self._files.values()
        if all(file.begun or file.done or file.error for file in files):
            full = [file.error for file in files if file.full]
            if full:
                raise TransferError("; ".join(full))
            for file in files:
                file.go_on()

    def results(self) -> dict[int, TransferResult]:
        """What became of each node's file."""
        results = {}
        for node, file in self._files.items():
            error = file.error or ("" if self._is_over(node) else file.unfinished())
            results[node] = TransferResult(
                node,
                self._dataset.rows(node),
                len(file.data),
                file.chunks,
                file.resent,
                file.skipped,
                error,
            )
        return results

    def _is_over(self, node: int) -> bool:
        file = self._files[node]
        return bool(file.error) or (file.done and self._has(node))

    def _has(self, node: int) -> bool:
        status = self.inbox.statuses.get(node)
        if status is None:
            return False
        if self._dataset.file_name == READINGS_FILE:
            return status.readings == self._dataset.id.hex()
        return (status.dataset, status.rows) == (self._dataset.id.hex(), self._dataset.rows(node))

    def _is_published(self, node: int) -> bool:
        """Whether the record at the broker, which follows a whole transfer, has this node's very file."""
        mine, theirs = self._dataset.record(), self._published
        named = "readings" if self._dataset.file_name == READINGS_FILE and "readings" in theirs else "dataset"
        return (theirs.get(named), theirs.get("nodes")) == (mine["dataset"], mine["nodes"])

    def _take_record(self, node: int, message: Message) -> None:
        self._published = read_object(message.payload) if message.payload else {}

    def _take_answer(self, node: int, message: Message) -> None:
        answer = read_object(message.payload)
        transfer, after = whole(answer, "transfer"), whole(answer, "next")
        error = answer.get("error", "")
        if not isinstance(error, str):
            raise PayloadError("error is no text")
        file = self._files.get(node)
        if file is None or transfer != file.transfer or after > len(file.data):
            return  # an answer to an earlier transfer, or to somebody else's
        before = file.acknowledged
        if answer.get("removed") is True:
            file.removed()
        else:
            file.take(after, error, answer.get("done") is True)
        if self._on_progress and file.acknowledged != before:
            self._on_progress(node, file.acknowledged, len(file.data))

    def _say_again(self) -> None:
        for file in self._files.values():
            file.say_again()


class _File:
    """One node's file: what it has of it, and the one chunk that is in flight.

    `full`: the node has no room for it. `begun`: it has taken the first chunk, and the next waits for `go_on`.
    """

    def __init__(self, node: int, data: bytes, most: int, replace: bool, connection: Connection) -> None:
        self.node = node
        self.data = data
        self.transfer = -1
        self.acknowledged = 0
        self.chunks = self.resent = 0
        self.done = self.skipped = False
        self.error = ""
        self.full = False
        self._replace = self._removing = replace
        self._held = True
        self._connection = connection
        self._chunk = most - len(_HEAD) - 4 - 2 * varint_bytes(len(data))
        self._beginnings = 0
        self._sendings = 0
        self._due = 0.0
        self._online = True

    @property
    def begun(self) -> bool:
        """Whether the node has some of it."""
        return self.acknowledged > 0

    def go_on(self) -> None:
        """Everybody has begun."""
        if self._held:
            self._held = False
            if self.begun and not self.done and not self.error and self.acknowledged < len(self.data):
                self._next()

    def removed(self) -> None:
        """The node has removed its old data."""
        if self._removing and not self.error:
            self._removing = False
            self._next()

    def begin(self) -> None:
        """Start with the first chunk, under a number of its own."""
        self._beginnings += 1
        if self._beginnings > BEGINNINGS:
            self.error = (
                f"node {self.node}: its data did not arrive whole in {BEGINNINGS} attempts; look at its flash"
            )
            return
        self.transfer = secrets.randbits(31)
        self.acknowledged = 0
        self._next()

    def take(self, after: int, error: str, done: bool) -> None:
        """The node's answer: it waits for what follows `after`, has all, or refuses."""
        if self.done or self.error:
            return
        if error in ("restart", "damaged"):
            self.begin()
        elif error == "busy":
            self.error = _busy(f"node {self.node}", 1)
        elif ROOMLESS in error:
            self.full = True
            self.error = self._roomless(error.partition(ROOMLESS)[2])
        elif error:
            self.error = f"node {self.node} refuses its data: {error}"
        elif done:
            self.done, self.acknowledged = True, len(self.data)
        elif after > self.acknowledged:
            # Only what is new is answered: an answer to each repetition would double all that follows.
            self.acknowledged = after
            if after < len(self.data) and not self._held:
                self._next()

    def look(self, online: bool) -> None:
        """Send again what was not answered in time, or give the node up."""
        self._online = online
        if self.done or self.error or time.monotonic() < self._due:
            return
        if self._held and self.begun:
            return
        if self._sendings >= SENDINGS + self._checking_s():
            self.error = self.unfinished()
        else:
            self.resent += 1
            self._send()

    def say_again(self) -> None:
        """The connection is back: what was under way is lost."""
        self._due = 0.0

    def unfinished(self) -> str:
        """The sentence for a node that has not got all."""
        if self.done:
            return f"node {self.node} has taken its data, but its status does not show them; try again"
        what = f"{self.acknowledged:,} of {len(self.data):,} bytes of its data have arrived"
        if not self._online:
            return f"node {self.node} went offline, {what}: is its heap large enough? Then try again"
        return f"node {self.node} does not answer any more, {what}; try again"

    def _checking_s(self) -> float:
        """For so long a node that has all may be silent: it checks the file."""
        return (
            len(self.data) / SLOWEST_CHECK_BYTES_S
            if self.acknowledged >= len(self.data) - self._chunk
            else 0.0
        )

    def _roomless(self, told: str) -> str:
        if self._replace:
            return f"node {self.node} has no room for its data, even without its old ones ({told}); nothing was written"
        return (
            f"node {self.node} has no room for the new data beside the old ({told}); nothing was written. With "
            "--replace the nodes remove their old data first, and have none until all of the new are there"
        )

    def _next(self) -> None:
        self._sendings = 0
        self._send()

    def _send(self) -> None:
        self._sendings += 1
        self._due = time.monotonic() + RESEND_S
        number = self.transfer.to_bytes(4, "little")
        if self._removing:
            self._connection.publish(f"put/{self.node}", _REMOVE + number)
            return
        message = bytearray(_HEAD + number)
        put_varint(message, len(self.data))
        # A node that has all and has not said that it is done is asked by repeating the last byte.
        offset = min(self.acknowledged, len(self.data) - 1)
        put_varint(message, offset)
        # While it is held, the node must not get all: it would adopt it.
        end = min(offset + self._chunk, len(self.data) - 1 if self._held else len(self.data))
        message += self.data[offset:end]
        self._connection.publish(f"put/{self.node}", bytes(message))
        self.chunks += 1


def _busy(who: str, count: int) -> str:
    verb = "is" if count == 1 else "are"
    return f"{who} {verb} in a run that has not ended: wait for its end, or end it with dcka run --stop"
