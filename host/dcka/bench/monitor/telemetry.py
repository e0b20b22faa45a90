"""Step telemetry of a large network, from a publisher in another process into a history on the disk, counted there."""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from dcka.bench.errors import BenchError, BenchUsageError
from dcka.bench.live import Say
from dcka.broker import Broker, open_broker
from dcka.broker.mosquitto import find_mosquitto
from dcka.history import History, Recorder, open_history
from dcka.monitor import Event, NetworkState, watch
from dcka.mqtt import Connection

NODES = 200
K, N = 9, 2
RUN = 1
QUIET_S = 3.0
"""After the publisher's end: that nothing has come for so long means that nothing more will."""
LIMIT_S = 300.0


class _Enough(Exception):
    """All has come, or nothing more does."""


def measure_telemetry(folder: Path, rate: int, seconds: float, say: Say) -> dict[str, Any]:
    """Publish `rate` messages a second for so long; `telemetry_per_s`: rows in the database a second, from the first
    message's being sent to the last row's being on the disk; `lost`: messages without a row.

    `broker`: whose; `sent`, `stored`; `behind_s`: how long after the last was sent the last was stored; `cpu_us`: this
    process' time a message; `db_bytes`. Raises BenchError.
    """
    steps = round(rate * seconds / NODES)
    if not 1 <= steps <= 1 << 20:
        raise BenchUsageError(f"--rate {rate} for {seconds:g} s: at least {NODES} messages, one a node")
    network = f"bench-{secrets.token_hex(4)}"
    engine = "embedded" if find_mosquitto() is None else "mosquitto"
    say(f"{NODES} nodes say {rate:,} messages a second for {seconds:g} s, over {engine}")
    file = folder / "history.sqlite"
    with open_broker(engine) as broker, open_history(str(file)) as history:
        told = _watched(broker, history, network, steps, rate)
        run = history.run(RUN, network)
        stored = history.sizes(run)["steps"]
        size = sum(one.stat().st_size for one in folder.iterdir())
    took = told["ended_at"] - told["began_at"]
    return {
        "broker": engine,
        "nodes": NODES,
        "sent": told["sent"],
        "stored": stored,
        "lost": told["sent"] - stored,
        "telemetry_per_s": stored / took,
        "offered_per_s": told["sent"] / told["seconds"],
        "behind_s": took - told["seconds"],
        "cpu_us": 1e6 * told["own_cpu_s"] / told["sent"],
        "db_bytes": size,
    }


def _watched(broker: Broker, history: History, network: str, steps: int, rate: int) -> dict[str, Any]:
    """A monitor as `dcka monitor` is one, while the publisher speaks."""
    state = NetworkState(network, tuple(range(1, NODES + 1)))
    trouble: list[str] = []
    recorder = Recorder(history, network, lambda text, bad: trouble.append(text))
    with Connection(broker.address, network, role="monitor") as connection, recorder:
        connection.publish("run", _record(steps), retain=True)
        connection.flush()
        task = {"host": broker.address.host, "port": broker.address.port, "network": network, "run": RUN}
        task |= {"nodes": NODES, "steps": steps, "numbers": K * N, "rate": rate}
        publisher = subprocess.Popen(
            [sys.executable, "-m", "dcka.bench.monitor.publisher"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            cpu = _watch_until_quiet(connection, state, recorder, publisher, task)
            said = publisher.communicate()[0]
        finally:
            publisher.kill()
            publisher.wait()
        if publisher.returncode or not said:
            raise BenchError("the publisher did not come to its end")
        if trouble or recorder.trouble:
            raise BenchError(f"the history: {[*trouble, recorder.trouble][0]}")
        stored_at = recorder.written_at
    record: dict[str, Any] = json.loads(said)
    return record | {"ended_at": stored_at, "own_cpu_s": cpu}


def _watch_until_quiet(
    connection: Connection,
    state: NetworkState,
    recorder: Recorder,
    publisher: "subprocess.Popen[str]",
    task: dict[str, Any],
) -> float:
    """Processor time that this process takes for it."""
    heard, last, began = 0, time.monotonic(), time.monotonic()
    given = False
    before = os.times()

    def look(events: list[Event]) -> None:
        nonlocal heard, last, given, before
        now = time.monotonic()
        if not given and state.run.number == RUN and publisher.stdin is not None:
            given, before = True, os.times()
            publisher.stdin.write(json.dumps(task) + "\n")
            publisher.stdin.flush()
        if state.tally.messages["step"] != heard:
            heard, last = state.tally.messages["step"], now
        elif now - last > QUIET_S and publisher.poll() is not None:
            raise _Enough
        if now - began > LIMIT_S:
            raise BenchError(f"{heard:,} messages had come after {LIMIT_S:g} s; ask for less with --rate")

    with contextlib.suppress(_Enough):
        watch(connection, state, look, None, listener=recorder)
    if not recorder.flush(LIMIT_S):
        raise BenchError(f"not all was stored within {LIMIT_S:g} s: {recorder.trouble}")
    after = os.times()
    return after.user + after.system - before.user - before.system


def _record(steps: int) -> dict[str, Any]:
    return {
        "v": 1,
        "run": RUN,
        "kind": "gossip",
        "members": list(range(1, NODES + 1)),
        "dataset": "00" * 8,
        "points": 10 * NODES,
        "n": N,
        "bits": 15,
        "k": K,
        "init": "shared",
        "seed": 1,
        "max_steps": steps,
        "patience_ms": 500,
        "slots": 0,
        "max_slots": 200,
        "window": 6,
        "tolerance": 100,
    }
