"""The nodes of the bench: `python -m dcka.bench.monitor.publisher`, which gets its task as a line of JSON on stdin.

It publishes the step telemetry of a run, at a steady rate. The packets are made before the clock starts, and written
to a bare socket, so that the monitor gets as much of the machine as it can. At the end it prints a line of JSON:
`sent`, `began_at`, `seconds`, `cpu_s`; times are seconds since 1970.
"""

import json
import socket
import sys
import time
from typing import Any

BURST_S = 0.005
"""What has come due is sent so often: nodes of a real network don't wait for each other either."""
LIMIT_S = 120.0


def packets(task: dict[str, Any]) -> list[bytes]:
    """One PUBLISH of QoS 0 for each node and step, in order of step."""
    network, nodes, steps, run = task["network"], task["nodes"], task["steps"], task["run"]
    return [
        _publish(f"dcka/{network}/step/{node}", _payload(run, node, step, task["numbers"]))
        for step in range(steps)
        for node in range(1, nodes + 1)
    ]


def _payload(run: int, node: int, step: int, numbers: int) -> bytes:
    centres = [(node * 977 + step * 31 + place * 353) % 32768 for place in range(numbers)]
    record = {
        "v": 1,
        "run": run,
        "node": node,
        "step": step,
        "ssd": node * 1000 + step,
        "flags": 4,
        "moved": True,
        "slots": 30,
        "put": f"{node:08x}{step:08x}",
        "centres": centres,
    }
    return json.dumps(record, separators=(",", ":")).encode()


def _publish(topic: str, payload: bytes) -> bytes:
    name = topic.encode()
    body = len(name).to_bytes(2, "big") + name + payload
    return b"\x30" + _length(len(body)) + body


def _length(size: int) -> bytes:
    out = bytearray()
    while True:
        size, low = divmod(size, 128)
        out.append(low | (128 if size else 0))
        if not size:
            return bytes(out)


def _connect(host: str, port: int, name: str) -> socket.socket:
    connection = socket.create_connection((host, port), LIMIT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client = name.encode()
    body = b"\x00\x04MQTT\x04\x02\x00\x78" + len(client).to_bytes(2, "big") + client
    connection.sendall(b"\x10" + _length(len(body)) + body)
    if _exactly(connection, 4)[:1] != b"\x20":
        raise ConnectionError("the broker let the publisher not in")
    return connection


def _exactly(connection: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        more = connection.recv(size - len(got))
        if not more:
            raise ConnectionError("the broker closed the publisher's connection")
        got += more
    return got


def main() -> None:
    """Send it all, and wait until the broker has read it."""
    task = json.loads(sys.stdin.readline())
    made = packets(task)
    with _connect(task["host"], task["port"], f"bench-{task['network']}") as connection:
        began_at, began, cpu = time.time(), time.monotonic(), time.process_time()
        sent = 0
        while sent < len(made):
            due = min(len(made), int((time.monotonic() - began) * task["rate"]) + 1)
            if due > sent:
                connection.sendall(b"".join(made[sent:due]))
                sent = due
            time.sleep(BURST_S)
        connection.sendall(b"\xc0\x00")  # a ping is answered behind all that came before it
        _exactly(connection, 2)
        seconds, cpu = time.monotonic() - began, time.process_time() - cpu
        connection.sendall(b"\xe0\x00")
    print(json.dumps({"sent": sent, "began_at": began_at, "seconds": seconds, "cpu_s": cpu}), flush=True)


if __name__ == "__main__":
    main()
