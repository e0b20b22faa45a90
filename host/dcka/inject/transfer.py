"""Sends a data set to the nodes: to all at once, a chunk at a time to each (docs/protocol.md, section 6)."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dcka.errors import DckaError
from dcka.inject.data_file import READINGS_FILE
from dcka.inject.delivery import RESEND_S, Delivery, busy_sentence
from dcka.inject.parcel import Parcel
from dcka.mqtt.channel import Channel
from dcka.mqtt.connection import Message
from dcka.mqtt.inbox import ASK_S, Inbox
from dcka.mqtt.readiness import READY_S, await_online, named, require_single
from dcka.mqtt.statuses import ASLEEP, PayloadError, read_object, whole

SMALLEST = 64  # a node that takes less could not take part in any run
LIMIT_S = 120.0
SHOWN = 8
LOOK_S = 0.05  # while messages come, the nodes are looked at so often
NODE_S = 0.1  # more for each node
SLOWEST_BYTES_S = 4_000  # of a transfer; a board with a bad link still makes so many

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
    connection: Channel,
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
    sending.finish(connection.now() + (sending.limit_s() if limit_s is None else limit_s))
    results = sending.results()
    failed = [result.error for result in results.values() if result.error]
    if failed:
        raise TransferError(_listed(failed), results)
    connection.publish("dataset", dataset.record(), retain=True)
    connection.flush()
    return results


class _Sending:
    """One data set on its way."""

    def __init__(
        self,
        connection: Channel,
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
        self._files: dict[int, Delivery] = {}
        self._ask_at = 0.0

    def require_idle(self) -> None:
        """Raises TransferError where a node is in a run: it would refuse."""
        busy = [
            node for node in self._nodes if self.inbox.statuses.by_node[node].state in ("running", ASLEEP)
        ]
        if busy:
            raise TransferError(busy_sentence(named(busy), len(busy)))

    def begin(self) -> None:
        """Send the first chunk to every node that lacks its file."""
        for node in self._nodes:
            most = self.inbox.statuses.by_node[node].max_message
            if most < SMALLEST:
                raise TransferError(
                    f"node {node} takes messages of {most} bytes; at least {SMALLEST} are needed"
                )
            data = self._dataset.data_file(node)
            self._files[node] = Delivery(node, data, most, self._replace, self._connection, len(self._nodes))
        for node, file in self._files.items():
            if self._has(node) and self._is_published(node):
                file.skipped = file.done = True
            else:
                file.begin()

    def limit_s(self) -> float:
        """How long all of it may take."""
        nodes_s = NODE_S * len(self._nodes)
        return (
            LIMIT_S
            + nodes_s
            + max((len(file.data) for file in self._files.values()), default=0) / SLOWEST_BYTES_S
        )

    def finish(self, deadline: float) -> None:
        """Answer the nodes until each has its file, and says so in its status, or has failed."""
        while self._connection.now() < deadline and not all(map(self._is_over, self._nodes)):
            self._take_all()
            for node, file in self._files.items():
                file.look(self.inbox.statuses.online(node))
            self._go_on()
            self._ask_for_statuses()
            require_single(self.inbox.statuses, self._nodes)

    def _take_all(self) -> None:
        """Wait for a message, and take those behind it too: to look at every node after each of a thousand messages
        would cost more than the messages."""
        until = self._connection.now() + LOOK_S
        if self.inbox.turn(RESEND_S / 4):
            while self._connection.now() < until and self.inbox.turn(0):
                pass

    def _ask_for_statuses(self) -> None:
        """Who has all and does not show it: the statuses are asked for, all of them at once, so not too often."""
        now = self._connection.now()
        if now >= self._ask_at and any(
            file.done and not self._has(node) for node, file in self._files.items()
        ):
            self._ask_at = now + ASK_S
            self._connection.ask("status/+")

    def _go_on(self) -> None:
        """After the first chunk all wait for all, so that a node without room is known before anybody's data change."""
        files = self._files.values()
        if all(file.begun or file.done or file.error for file in files):
            full = [file.error for file in files if file.full]
            if full:
                raise TransferError(_listed(full))
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


def _listed(sentences: list[str]) -> str:
    """The first few: a thousand nodes can fail alike, and `results` has them all."""
    more = len(sentences) - SHOWN
    return "; ".join(sentences[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
