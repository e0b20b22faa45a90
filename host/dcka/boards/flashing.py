"""Which chip a board has, and writing to its flash: several boards at once, each in a process of its own."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcka.boards.chips import CHIPS, Chip
from dcka.boards.errors import BoardError, WrongChip
from dcka.boards.ports import check_port
from dcka.boards.worker_pool import End, Event, run_workers
from dcka.scratch import scratch_folder

BAUDS = (921600, 460800, 115200)
"""The speeds in the order in which they are tried: the fastest that common adapters take, down to the ROM's own."""
PARALLEL = 8
"""How many boards at once, unless another number is asked for: what a hub with its own supply feeds."""

# An attempt to reach the bootloader takes 0.9 to 1.4 s (esptool's pulses on DTR and RTS, then five questions), and a
# silent port has to be known for one after 5 s, the start of the worker included.
_ATTEMPT_S = 1.4
_START_S = 0.6
# Erasing all of a flash takes up to two minutes, in which nothing is said.
_SILENCE_S = 180.0
_DETECT_SILENCE_S = 15.0


@dataclass(frozen=True)
class Detected:
    """What a board's bootloader says. `mac` as "aa:bb:cc:dd:ee:ff"; `flash_bytes` is 0 where the size is not known."""

    chip: Chip
    mac: str
    flash_bytes: int
    port: str = ""


@dataclass(frozen=True)
class FlashJob:
    """What to write to one board: `parts` are (address in the flash, content).

    `chip` (a name of CHIPS) and `mac` are what the board has to be, where they are given; another one is refused before
    anything is erased. `erase` empties the whole flash first, the file system included. `bauds`: the speeds to try.
    """

    port: str
    parts: Sequence[tuple[int, bytes]]
    chip: str | None = None
    mac: str | None = None
    erase: bool = False
    bauds: Sequence[int] = BAUDS


@dataclass(frozen=True)
class Progress:
    """Where the work on a board stands. `phase`: waiting, connecting, erasing, writing, verifying, done or failed.

    `done` of `total` bytes are written. `baud` is the speed, 0 before there is one.
    """

    phase: str
    done: int
    total: int
    baud: int = 0


@dataclass(frozen=True)
class FlashOutcome:
    """How it went. `verified`: the flash was read by the board itself after all was written, and its MD5 is right.

    `chip` and `mac` are None where nothing answered; `baud` is the speed that lasted, None without one. `error` is a
    line for a person, and `exit_code` that of its class, 0 without one.
    """

    port: str
    chip: str | None
    mac: str | None
    ok: bool
    verified: bool
    seconds: float
    baud: int | None
    error: str | None
    exit_code: int = 0


OnProgress = Callable[[str, Progress], None]


def detect(port: str, timeout_s: float = 5.0) -> Detected:
    """Ask the bootloader of the board on `port` what it is; the board restarts, before and afterwards.

    A port on which nothing answers is known for one after `timeout_s` seconds. Raises PortMissing, PortBusy,
    PortForbidden, BoardSilent, and WrongChip for a chip that MicroPython does not run on. Main thread only.
    """
    found = detect_all([port], 1, timeout_s)[0]
    if isinstance(found, BoardError):
        raise found
    return found


def detect_all(
    ports: Sequence[str], parallel: int = PARALLEL, timeout_s: float = 5.0
) -> list[Detected | BoardError]:
    """`detect` for several ports at once: for each what it is, or what is wrong. Main thread only."""
    results: dict[str, Detected | BoardError] = {}
    for port in ports:
        try:
            check_port(port)
        except BoardError as error:
            results[port] = error
    attempts = max(1, int((timeout_s - _START_S) / _ATTEMPT_S))
    asked = [port for port in ports if port not in results]
    requests = [{"do": "detect", "port": port, "attempts": attempts} for port in asked]

    def heard(index: int, event: Event) -> None:
        if event["event"] == "connected":
            results[asked[index]] = _detected(asked[index], event)

    ends = run_workers(requests, parallel, heard, max(timeout_s, _DETECT_SILENCE_S))
    for port, end in zip(asked, ends, strict=True):
        if end.problem is not None:
            results[port] = end.problem
    return [results[port] for port in ports]


def flash_boards(
    jobs: Sequence[FlashJob], parallel: int = PARALLEL, on_progress: OnProgress | None = None
) -> list[FlashOutcome]:
    """Write to several boards, at most `parallel` at a time; how each went, in the order of the jobs.

    Whatever goes wrong with one board is in its outcome, and does not stop the others. What was written is verified,
    and the board restarted. `on_progress` is called in this thread with the port. Main thread only.
    """
    watched = [_Watched(job, on_progress) for job in jobs]
    with scratch_folder("flash") as folder:
        requests = [_request(job, folder) for job in jobs]
        ends = run_workers(requests, parallel, lambda index, event: watched[index].take(event), _SILENCE_S)
    return [one.outcome(end) for one, end in zip(watched, ends, strict=True)]


class _Watched:
    """One board's job, and what is known of it so far."""

    def __init__(self, job: FlashJob, on_progress: OnProgress | None) -> None:
        self.job = job
        self.on_progress = on_progress
        self.total = sum(len(data) for _, data in job.parts)
        self.chip: str | None = None
        self.mac: str | None = None
        self.baud: int | None = None
        self.tell("waiting")

    def tell(self, phase: str, done: int = 0) -> None:
        if self.on_progress is not None:
            self.on_progress(self.job.port, Progress(phase, done, self.total, self.baud or 0))

    def take(self, event: Event) -> None:
        """One event of its worker."""
        kind = event["event"]
        if kind == "connected":
            self.chip, self.mac = event["chip"], event["mac"]
        self.baud = event.get("baud", self.baud)
        if kind in ("erasing", "writing"):
            self.tell(kind, event.get("done", 0))
        elif kind in ("verifying", "done"):
            self.tell(kind, self.total)
        elif kind == "error":
            self.tell("failed")
        elif kind in ("opened", "slower"):
            self.tell("connecting")

    def outcome(self, end: End) -> FlashOutcome:
        """How it went, once its worker has ended."""
        problem = end.problem
        return FlashOutcome(
            port=self.job.port,
            chip=self.chip,
            mac=self.mac,
            ok=problem is None,
            verified=problem is None,
            seconds=end.seconds,
            baud=self.baud if problem is None else None,
            error=None if problem is None else str(problem),
            exit_code=0 if problem is None else problem.exit_code,
        )


def _detected(port: str, event: Event) -> Detected | BoardError:
    chip = CHIPS.get(event["chip"])
    if chip is None:
        return WrongChip(
            f"the board on {port} is an {event['title']}, which MicroPython does not run on here"
        )
    return Detected(chip, event["mac"], event["flash"], port)


def _request(job: FlashJob, folder: Path) -> dict[str, Any]:
    """What the worker is told; the parts become files of `folder`, those that are the same one file."""
    parts = []
    for offset, data in job.parts:
        file = folder / hashlib.sha256(data).hexdigest()
        if not file.exists():
            file.write_bytes(data)
        parts.append([offset, str(file)])
    return {
        "do": "flash",
        "port": job.port,
        "attempts": int((5.0 - _START_S) / _ATTEMPT_S),
        "parts": parts,
        "chip": job.chip,
        "mac": job.mac,
        "erase": job.erase,
        "bauds": list(job.bauds),
    }
