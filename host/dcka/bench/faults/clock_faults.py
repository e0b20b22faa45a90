"""The wall clock is set by an hour, forth and back, at the host and at the nodes, in mid-run.

The system's clock is everybody's, so it is the programs' that are set: `time.time`, `time.time_ns` and the controller's
`datetime`, in this process and in that of the nodes.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from unittest import mock

from dcka.bench.faults.fault import Fault, Scene, Settings, network
from dcka.bench.faults.stages import DELAY_S
from dcka.bench.live import Live, Say
from dcka.bench.proxy import Proxy
from dcka.broker import open_broker
from dcka.emulation.cpython import CPythonNetwork
from dcka.mqtt import Connection
from dcka.runs import controller
from dcka.scratch import scratch_folder

HOUR_S = 3600.0
VARIABLE = "DCKA_BENCH_CLOCK"
"""Names the file from which the nodes' process reads by how many seconds its wall clock is wrong."""


class SteppedNetwork(CPythonNetwork):
    """Nodes under CPython in a process whose wall clock can be set."""

    program = "dcka.bench.faults.stepped_process"


@contextlib.contextmanager
def _clocked(settings: Settings, say: Say) -> Iterator[Scene]:
    """`things`: broker, file (of the nodes' clock), offset (a list of one number, of ours)."""
    work = network(settings)
    name, ids = work.config.network.name, work.config.ids
    offset = [0.0]
    with scratch_folder("clock") as folder, contextlib.ExitStack() as stack:
        file = folder / "offset"
        file.write_text("0")
        stack.enter_context(mock.patch.dict(os.environ, {VARIABLE: str(file)}))
        stack.enter_context(_own_clock(offset))
        broker = stack.enter_context(open_broker(settings.engine))
        proxy = stack.enter_context(Proxy(lambda: broker.address, DELAY_S, settings.seed))
        nodes = SteppedNetwork(name, ids, proxy.url, max_message=max(1024, work.plan(1).bound))
        stack.enter_context(nodes)
        connection = stack.enter_context(Connection(broker.address, name, role="bench"))
        yield Scene(
            Live(work, nodes, connection),
            settings,
            say,
            {"broker": broker, "file": file, "offset": offset, "connects": {}},
        )


@contextlib.contextmanager
def _own_clock(offset: list[float]) -> Iterator[None]:
    """This process's wall clock, `offset[0]` seconds ahead."""
    real, real_ns = time.time, time.time_ns

    class Stepped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.now(tz) + timedelta(seconds=offset[0])

    with (
        mock.patch("time.time", lambda: real() + offset[0]),
        mock.patch("time.time_ns", lambda: real_ns() + int(offset[0] * 1e9)),
        mock.patch.object(controller, "datetime", Stepped),
    ):
        yield


def _step(scene: Scene) -> None:
    scene.things["began"] = time.monotonic(), time.time()
    file: Path = scene.things["file"]

    def set_to(seconds: float) -> None:
        scene.things["offset"][0] = seconds
        file.write_text(str(seconds))

    set_to(HOUR_S)
    scene.later(0.7, lambda: set_to(-HOUR_S))

    def back() -> None:
        set_to(0.0)
        scene.over()

    scene.later(1.4, back)
    scene.notes.append("an hour forth, then an hour back, at host and nodes")


def _durations(scene: Scene) -> None:
    """No connection was lost, so no link was taken for dead; and what was measured is no hour."""
    read = Path(str(scene.things["file"]) + ".seen")
    seen = read.read_text().split() if read.exists() else []
    scene.require("3600.0" in seen and "-3600.0" in seen, f"the nodes' clocks were set to {seen}")
    taken = time.monotonic() - scene.things["began"][0]
    scene.require(0 <= taken < HOUR_S / 2, f"{taken:.0f} s by the clock that is never set")


FAULTS = (
    Fault(
        "clock_step",
        "nothing waits, times out or is measured by a clock that can be set: the run ends whole",
        _clocked,
        _step,
        after=_durations,
    ),
)
