"""From an MQTT message to the painted page: many nodes that say something many times a second, and a real browser.

Every message has the next number of its node in a field that the page's table shows. After each frame that the browser
has painted, a script in the page notes which numbers the table shows, and when. The time of a message is from just
before it was published until the end of the first frame that shows its number or a later one of its node: messages that
the page never showed by themselves, since a newer one had come, count until then. Of the nodes whose rows are in the
window: the page brings others up to date every two seconds, and paints nothing for them.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from dcka.bench.errors import Absent, BenchError
from dcka.bench.monitor.chromium import chromium
from dcka.bench.scale.footprint import processor_s
from dcka.broker import BrokerUrl, open_broker
from dcka.broker.mosquitto import find_mosquitto
from dcka.config import FILE_NAME
from dcka.history.place import VARIABLE

NODES, HZ, SECONDS = 200, 10.0, 15.0
SETTLE_S = 3.0
START_S = 60.0
NETWORK = "bench"

_SEE = """(ids) => {
  const seen = window.benchSeen = [], cells = new Map(), last = new Map();
  const after = new MessageChannel();
  const look = () => {
    const at = performance.timeOrigin + performance.now();
    for (const id of ids) {
      if (!cells.has(id)) {
        const row = document.querySelector(`tr[data-node='${id}']`);
        if (!row) continue;
        cells.set(id, row.cells[3]);
      }
      const text = cells.get(id).textContent;
      if (text && text !== last.get(id)) { last.set(id, text); seen.push([id, Number(text.replaceAll(",", "")), at]); }
    }
  };
  after.port1.onmessage = look;
  // A message that is sent in a frame is taken after that frame has been painted.
  const turn = () => { after.port2.postMessage(0); requestAnimationFrame(turn); };
  requestAnimationFrame(turn);
}"""


_IN_VIEW = """() => [...document.querySelectorAll('#nodes tbody tr')].filter((row) => {
  const at = row.getBoundingClientRect(), box = row.closest('.scroll').getBoundingClientRect();
  return at.top >= Math.max(0, box.top) && at.bottom <= Math.min(innerHeight, box.bottom);
}).map((row) => Number(row.dataset.node))"""


@dataclass(frozen=True)
class Paint:
    """`in_view`: rows that the window showed. `times_ms`: of every message of these nodes. `unseen`: messages that no
    frame has shown in time, nor a later one of their node. `frames_per_s`: frames in which something new was seen.
    `monitor_cpu_us`: processor time of the monitor a message, which a busy machine changes less than times; None where
    the system does not say."""

    nodes: int
    hz: float
    in_view: int
    times_ms: list[float]
    unseen: int
    messages_per_s: float
    frames_per_s: float
    monitor_cpu_us: float | None

    def record(self) -> dict[str, Any]:
        """For `dcka bench monitor --json`. Raises BenchError where no message was seen."""
        if not self.times_ms:
            raise BenchError("the page has shown none of the messages")
        return {
            "paint_nodes": self.nodes,
            "paint_updates_per_s_a_node": self.hz,
            "paint_rows_in_view": self.in_view,
            "paint_messages": len(self.times_ms) + self.unseen,
            "paint_messages_per_s": self.messages_per_s,
            "paint_unseen": self.unseen,
            "paint_frames_per_s": self.frames_per_s,
            "paint_monitor_cpu_us": self.monitor_cpu_us,
            "p50_message_to_paint_ms": float(np.percentile(self.times_ms, 50)),
            "p95_message_to_paint_ms": float(np.percentile(self.times_ms, 95)),
            "max_message_to_paint_ms": max(self.times_ms),
        }


def measure_paint(nodes: int = NODES, hz: float = HZ, seconds: float = SECONDS) -> Paint:
    """Broker, monitor and browser on this computer. Raises NoBrowser, BenchError."""
    with (
        tempfile.TemporaryDirectory(prefix="dcka-paint-") as folder,
        open_broker("embedded" if find_mosquitto() is None else "mosquitto") as broker,
        _monitor(Path(folder), nodes, broker.url) as (url, monitor),
        chromium(viewport={"width": 1440, "height": 1000}) as browser,
    ):
        page = browser.pages[0] if browser.pages else browser.new_page()
        page.goto(url)
        with _speaking(broker.address, nodes, hz) as speaker:
            page.wait_for_selector(f"tr[data-node='{nodes}'] .state.running", timeout=START_S * 1000)
            page.evaluate("() => document.querySelector('#nodes').scrollIntoView()")
            in_view: list[int] = page.evaluate(_IN_VIEW)
            page.evaluate(_SEE, in_view)
            time.sleep(SETTLE_S)
            began, first, used = time.time(), speaker.rounds, _processor_s(monitor)
            time.sleep(seconds)
            ended, last = time.time(), speaker.rounds
            cpu_s = None if used is None else (_processor_s(monitor) or used) - used
        time.sleep(SETTLE_S)
        seen = page.evaluate("() => window.benchSeen")
    return _summed(nodes, hz, in_view, speaker.at, seen, (first, last), ended - began, cpu_s)


def _summed(
    nodes: int,
    hz: float,
    in_view: list[int],
    at: list[list[float]],
    seen: list[list[float]],
    rounds: tuple[int, int],
    seconds: float,
    cpu_s: float | None,
) -> Paint:
    shown: dict[int, list[tuple[int, float]]] = {}
    for node, number, when_ms in seen:
        shown.setdefault(int(node), []).append((int(number), when_ms))
    times: list[float] = []
    unseen = 0
    for node in in_view:
        frames = iter(shown.get(node, []))
        number, when_ms = next(frames, (0, 0.0))
        for round_number in range(rounds[0], rounds[1]):
            while number < round_number + 1 and number:
                number, when_ms = next(frames, (0, 0.0))
            if number:
                times.append(when_ms - at[round_number][node - 1] * 1000)
            else:
                unseen += 1
    within = {
        when_ms
        for _, _, when_ms in seen
        if at[rounds[0]][0] * 1000 <= when_ms <= at[rounds[0]][0] * 1000 + seconds * 1000
    }
    return Paint(
        nodes,
        hz,
        len(in_view),
        times,
        unseen,
        nodes * (rounds[1] - rounds[0]) / seconds,
        len(within) / seconds,
        None if cpu_s is None else cpu_s * 1e6 / max(1, nodes * (rounds[1] - rounds[0])),
    )


def _processor_s(pid: int) -> float | None:
    try:
        return processor_s(pid)
    except Absent:
        return None


class _Speaker:
    """`at`: by round, when each node's message was published, seconds since 1970. `rounds`: that are over."""

    def __init__(self, client: mqtt.Client, nodes: int, hz: float) -> None:
        self.at: list[list[float]] = []
        self.rounds = 0
        self.ending = False
        self._client = client
        self._nodes = nodes
        self._hz = hz

    def speak(self) -> None:
        """Rounds in which every node speaks once, evenly spread over the round's time."""
        began = time.monotonic()
        while not self.ending:
            published = []
            for node in range(1, self._nodes + 1):
                due = began + (self.rounds + (node - 1) / self._nodes) / self._hz
                wait = due - time.monotonic()
                if wait > 0.002:
                    time.sleep(wait)
                published.append(time.time())
                self._client.publish(f"dcka/{NETWORK}/status/{node}", self._status(node))
            self.at.append(published)
            self.rounds += 1

    def _status(self, node: int) -> bytes:
        number = self.rounds + 1
        status = {
            "v": 1,
            "node": node,
            "boot": 1,
            "nonce": node,
            "state": "running",
            "run": 1,
            "step": number,
        }
        status |= {"rows": 900, "heap": 60_000 + number % 5000, "free": 70_000, "firmware": "0.1.0"}
        status |= {
            "ledger": [number, 1, number, 90 * number, number, 90 * number, number],
            "dropped": {"stale": 2},
        }
        return json.dumps(status, separators=(",", ":")).encode()


@contextlib.contextmanager
def _speaking(address: BrokerUrl, nodes: int, hz: float) -> Iterator[_Speaker]:
    client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id="bench-speaker")
    client.connect(address.host, address.port)
    client.loop_start()
    speaker = _Speaker(client, nodes, hz)
    thread = threading.Thread(target=speaker.speak, name="speaker", daemon=True)
    thread.start()
    try:
        yield speaker
    finally:
        speaker.ending = True
        thread.join()
        client.disconnect()
        client.loop_stop()


@contextlib.contextmanager
def _monitor(folder: Path, nodes: int, broker: str) -> Iterator[tuple[str, int]]:
    """`dcka monitor --web` of a network of so many nodes, recording as it does by itself: its page, its process."""
    (folder / FILE_NAME).write_text(
        f'[network]\nname = "{NETWORK}"\nnodes = {nodes}\n\n[topology]\nkind = "grid"\n\n[run]\nk = 9\n'
    )
    environment = {**os.environ, VARIABLE: str(folder / "history.sqlite")}
    command = [sys.executable, "-m", "dcka", "monitor", "--web", "0", "--broker", broker]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    lines: list[str] = []
    try:
        for line in process.stderr or ():
            lines.append(line)
            if found := re.search(r"http://\S+/", line):
                reader = threading.Thread(target=lambda: list(process.stderr or ()), daemon=True)
                reader.start()
                yield found[0], process.pid
                return
        raise BenchError(f"the monitor did not start: {''.join(lines).strip()}")
    finally:
        process.kill()
        process.wait()
