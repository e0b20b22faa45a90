"""The raw exchange: the messages of a run, sent by bare paho clients in the order in which they depend on each other.

A run of `tree` is recorded at the broker: every message of the consensus, with topic, size and retained flag. The same
are then sent by clients that do nothing else: a node sends its sums when those of its children have come, the root its
commit when all have, and a parent passes the commit on. What a run takes longer is what the nodes compute, decode,
save and report.
"""

import json
import socket
import sys
import threading
from collections import defaultdict
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from dcka.bench.errors import BenchError
from dcka.broker import BrokerUrl
from dcka.processes import Child
from dcka_core.codec import Reader
from dcka_core.errors import MessageError
from dcka_core.messages import CHANGE, COMMIT, UP, is_change, read_head

LIMIT_S = 180.0
GRANTED_S = 10.0
Message = tuple[str, int, bool]
"""Suffix of the topic, bytes of payload, retained."""


@dataclass(frozen=True)
class Recording:
    """`ups`, `commits`: by step, by sender, the last message; `sent`: of all. `parents`: by id, 0 at the root."""

    parents: dict[int, int]
    ups: dict[int, dict[int, Message]]
    commits: dict[int, dict[int, Message]]
    sent: int

    def plan(self) -> dict[str, Any]:
        """What the clients are told: by step, by node, [topic, bytes, retained]."""
        return {
            "parents": {str(node): parent for node, parent in self.parents.items()},
            "ups": [self.ups.get(step, {}) for step in range(max(self.ups) + 1)],
            "commits": [self.commits.get(step + 1, {}) for step in range(max(self.ups) + 1)],
        }

    @property
    def counted(self) -> int:
        """Messages of the exchange."""
        return sum(len(by_node) for by_step in (self.ups, self.commits) for by_node in by_step.values())


class Recorder:
    """Listens to the consensus of a run, in a `with` block. Raises BenchError where the broker does not let it."""

    def __init__(self, url: BrokerUrl, network: str) -> None:
        self._prefix = f"dcka/{network}/"
        self._messages: list[tuple[str, bytes, bool]] = []
        self._granted = threading.Event()
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=f"dcka-{network}-recorder")
        self._client.on_connect = self._on_connect
        self._client.on_subscribe = lambda *_: self._granted.set()
        self._client.on_message = self._on_message
        self._url = url

    def __enter__(self) -> Self:
        self._client.connect(self._url.host, self._url.port)
        self._client.loop_start()
        if not self._granted.wait(GRANTED_S):
            self.__exit__(None, None, None)
            raise BenchError(
                f"{self._url}: the broker did not let the recorder listen within {GRANTED_S:g} s"
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def recording(self, parents: dict[int, int]) -> Recording:
        """What has come so far, of the messages that their senders sent first."""
        ups: dict[int, dict[int, Message]] = defaultdict(dict)
        commits: dict[int, dict[int, Message]] = defaultdict(dict)
        for suffix, payload, _ in self._messages:
            try:
                by_step, kind = (ups, UP) if suffix.startswith("x/0/") else (commits, COMMIT)
                if kind == COMMIT and is_change(payload):
                    kind = CHANGE
                _, sender, _, step = read_head(Reader(payload), kind)
            except MessageError:
                continue
            by_step[step].setdefault(sender, (suffix, len(payload), kind == COMMIT))
        if not ups:
            raise BenchError("nothing of the run was recorded")
        return Recording(parents, dict(ups), dict(commits), len(self._messages))

    def _on_connect(self, client: mqtt.Client, *_: Any) -> None:
        client.subscribe([(self._prefix + "x/0/+", 0), (self._prefix + "commit/+", 0)])

    def _on_message(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        self._messages.append(
            (message.topic.removeprefix(self._prefix), bytes(message.payload), message.retain)
        )


def exchange(recording: Recording, url: BrokerUrl, network: str) -> tuple[float, float]:
    """Send the recorded messages anew, by clients in a process of their own: seconds from the first to the last, and
    of processor time of that process in them.

    Raises BenchError where it does not come to its end.
    """
    mine, theirs = socket.socketpair()
    task = {"host": url.host, "port": url.port, "network": network, **recording.plan()}
    with mine:
        with theirs:
            child = Child(
                [sys.executable, "-P", "-m", "dcka.bench.scale.exchange_process"],
                name="raw exchange",
                stdin=theirs.fileno(),
            )
        try:
            mine.settimeout(LIMIT_S)
            mine.sendall(json.dumps(task).encode() + b"\n")
            answer = mine.makefile("rb").readline()
        except TimeoutError:
            raise BenchError(f"the raw exchange had not ended after {LIMIT_S:g} s") from None
        finally:
            child.stop()
    if not answer:
        raise BenchError(f"the raw exchange ended before its end: {' | '.join(child.lines()[-3:])}")
    found = json.loads(answer)
    return float(found["seconds"]), float(found["cpu_s"])
