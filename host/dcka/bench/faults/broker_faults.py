"""The broker restarts, freezes, has no disk left."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from dcka.bench.errors import Absent
from dcka.bench.faults.fault import OUTAGE, Fault, Scene, Settings, network
from dcka.bench.faults.stages import DELAY_S, plain
from dcka.bench.live import Say, emulated
from dcka.bench.proxy import Proxy
from dcka.broker import Broker, open_broker
from dcka.scratch import scratch_folder

DISK = "1m"


def _restart(scene: Scene) -> None:
    scene.things["broker"].restart()
    scene.over()


def _pause(scene: Scene) -> None:
    pid = scene.things["broker"].pid
    os.kill(pid, signal.SIGSTOP)
    seconds = scene.settings.pause_s
    scene.notes.append(f"frozen for {seconds:g} s")

    def go_on() -> None:
        os.kill(pid, signal.SIGCONT)
        scene.over()

    scene.later(seconds, go_on)


@contextlib.contextmanager
def _small_disk(settings: Settings, say: Say) -> Iterator[Scene]:
    """mosquitto's store on a file system of its own of 1 MB. `things`: broker, folder."""
    work = network(settings)
    with scratch_folder("disk") as base:
        folder = base / "store"
        folder.mkdir()
        with (
            _mounted(folder),
            open_broker("mosquitto", None, folder) as broker,
            Proxy(lambda: broker.address, DELAY_S, settings.seed) as proxy,
            emulated(work, proxy.url, broker.address) as live,
        ):
            yield Scene(live, settings, say, {"broker": broker, "folder": folder})


@contextlib.contextmanager
def _mounted(folder: Path) -> Iterator[None]:
    """A small file system in memory there. Raises Absent where this user may not mount one."""
    call = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    try:
        made = subprocess.run(call, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Absent(f"a small file system cannot be mounted here: {error.strerror}") from error
    if made.returncode:
        raise Absent(f"a small file system cannot be mounted here ({made.stderr.strip()}): it takes root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


def _fill(scene: Scene) -> None:
    folder, broker = scene.things["folder"], scene.things["broker"]
    filler = folder / "filler"
    with contextlib.suppress(OSError), filler.open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()
    free = os.statvfs(folder)
    scene.require(free.f_bavail == 0, f"a file system of {DISK} in memory, with {free.f_bavail} blocks free")
    _save(broker)
    scene.later(2.0, lambda: _save(broker))

    def free_again() -> None:
        said = any("No space left" in line or "Error" in line for line in broker.lines())
        scene.require(broker.pid is not None, "the broker went on" + (", and said so" if said else ""))
        filler.unlink()
        scene.over()

    scene.later(4.0, free_again)


def _save(broker: Broker) -> None:
    """mosquitto saves what it keeps when it is told to, and would else only after half an hour."""
    if broker.pid is not None:
        os.kill(broker.pid, signal.SIGUSR1)


FAULTS = (
    Fault(
        "broker_restart",
        "the run goes on where it was, and ends; who comes back late is named",
        plain,
        _restart,
        OUTAGE,
    ),
    Fault(
        "broker_paused",
        "the run waits, goes on when the broker does, and ends; who comes back late is named",
        plain,
        _pause,
        OUTAGE,
        run_s=lambda settings: 120 + settings.pause_s,
    ),
    Fault(
        "disk_full",
        "the broker goes on without saving, and the run ends whole",
        _small_disk,
        _fill,
    ),
)
