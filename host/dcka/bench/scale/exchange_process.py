"""The process of the raw exchange: `python -m dcka.bench.scale.exchange_process`, started by `exchange`.

A line of JSON comes in by its standard input, a socket: the task; one goes out: `seconds`, `cpu_s`.
"""

import json
import selectors
import socket
import struct
import sys
import time
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

KEEPALIVE_S = 120
_HEAD = struct.Struct("<I")


class Peer:
    """A node's client, and what it has to wait for: `children` sends of each step, and its parent's commit."""

    def __init__(self, exchange: "Exchange", node: int, parent: int, children: list[int]) -> None:
        self.exchange = exchange
        self.node = node
        self.parent = parent
        self.children = children
        self.step = 0
        self.heard: dict[int, int] = {}
        self.granted = False
        name = f"raw-{exchange.network}-{node}"
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=name, reconnect_on_failure=False)
        self.client.on_connect = self._on_connect
        self.client.on_subscribe = self._on_subscribe
        self.client.on_message = self._on_message
        self.client.on_socket_register_write = lambda *_: None
        self.client.on_socket_unregister_write = lambda *_: None

    def open(self, host: str, port: int) -> socket.socket:
        """Connect; its socket."""
        self.client.connect(host, port, KEEPALIVE_S)
        self.flush()
        peer = self.client.socket()
        if not isinstance(peer, socket.socket):
            raise ConnectionError(f"the broker closed the connection of {self.node}")
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return peer

    def flush(self) -> None:
        """Write all that waits."""
        while self.client.want_write():
            self.client.loop_write()

    def begin(self) -> None:
        """Step 0."""
        self._up_where_all_are_in()
        self.flush()

    def _on_connect(self, client: mqtt.Client, *_: Any) -> None:
        prefix = self.exchange.prefix
        topics = [f"{prefix}x/0/{child}" for child in self.children]
        topics += [f"{prefix}commit/{self.parent}"] if self.parent else []
        client.subscribe([(topic, 0) for topic in topics])

    def _on_subscribe(self, *_: Any) -> None:
        self.granted = True

    def _on_message(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        (step,) = _HEAD.unpack_from(message.payload)
        if message.topic.rpartition("/")[0].endswith("commit"):
            if not message.retain and step == self.step:
                self._commit()
        else:
            self.heard[step] = self.heard.get(step, 0) + 1
            if step == self.step:
                self._up_where_all_are_in()
        self.flush()

    def _up_where_all_are_in(self) -> None:
        if self.step >= self.exchange.steps or self.heard.get(self.step, 0) < len(self.children):
            return
        if self.parent:
            self._send(self.exchange.ups)
        else:
            self._commit()

    def _commit(self) -> None:
        # Who has no children says its last one only.
        if self.children or str(self.node) in self.exchange.commits[self.step]:
            self._send(self.exchange.commits)
        self.heard.pop(self.step, None)
        self.step += 1
        if self.step == self.exchange.steps:
            self.exchange.left -= 1
        else:
            self._up_where_all_are_in()

    def _send(self, table: list[dict[str, Any]]) -> None:
        kind = "commit" if table is self.exchange.commits else "x/0"
        topic, size, retain = table[self.step].get(str(self.node), (f"{kind}/{self.node}", 64, False))
        payload = _HEAD.pack(self.step).ljust(size, b"\x5a")
        self.client.publish(self.exchange.prefix + topic, payload, retain=retain)


class Exchange:
    """All of it. `left`: peers that have not ended."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.network = task["network"]
        self.prefix = f"raw/{self.network}/"
        self.ups: list[dict[str, Any]] = task["ups"]
        self.commits: list[dict[str, Any]] = task["commits"]
        self.steps = len(self.ups)
        parents = {int(node): parent for node, parent in task["parents"].items()}
        children: dict[int, list[int]] = {node: [] for node in parents}
        for node, parent in parents.items():
            if parent:
                children[parent].append(node)
        self.peers = [Peer(self, node, parent, children[node]) for node, parent in parents.items()]
        self.left = len(self.peers)
        self._where = task["host"], task["port"]
        self._selector = selectors.DefaultSelector()

    def run(self) -> dict[str, float]:
        """Connect all, then exchange: seconds of the exchange alone, and of this process's computing in them."""
        for peer in self.peers:
            self._selector.register(peer.open(*self._where), selectors.EVENT_READ, peer)
            self._turn(0)
        while not all(peer.granted for peer in self.peers):
            self._turn(1)
        began, computed = time.perf_counter(), time.process_time()
        for peer in self.peers:
            peer.begin()
        while self.left:
            self._turn(1)
        return {"seconds": time.perf_counter() - began, "cpu_s": time.process_time() - computed}

    def _turn(self, timeout: float) -> None:
        for key, _ in self._selector.select(timeout):
            peer: Peer = key.data
            peer.client.loop_read()
            peer.flush()
            if peer.client.socket() is None:
                raise ConnectionError(f"the broker closed the connection of {peer.node}")


def main() -> int:
    """Read the task, do it, answer; the exit code."""
    with socket.socket(fileno=0) as peer:
        lines = peer.makefile("rwb")
        lines.write(json.dumps(Exchange(json.loads(lines.readline())).run()).encode() + b"\n")
        lines.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
