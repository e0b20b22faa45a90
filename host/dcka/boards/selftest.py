"""The whole path on emulated boards: flash, provision, inject, join, run, check, logs; with the verbs that people use.

Each verb runs as a process of its own, in a folder of its own, and only its --json object is believed. The boards are
`dcka.boards.emulated`, the broker is embedded; nothing of the user's is read or written, and no other port is opened.
"""

import contextlib
import json
import os
import queue
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dcka.boards.emulated import EmulatedBoard
from dcka.boards.emulated.image import micropython_image
from dcka.boards.errors import BoardError
from dcka.broker import open_broker
from dcka.errors import UsageError
from dcka.processes import Child, ProcessGroup
from dcka.scratch import scratch_folder

BOARDS = 5
FEWEST, MOST = 2, 16
CHIP, OTHER_CHIP = "esp32", "esp32c3"
"""The last board has another chip than the others."""

# Of one verb. All of them together take 15 s for five boards.
_VERB_S = 120.0
_LOGS_S = 30.0
_IMAGE_BYTES = 256 * 1024
_READY = "dcka: ready"
_NETWORK = """\
[network]
name = "selftest"
nodes = {nodes}
broker = "{broker}"
[topology]
kind = "complete"
[run]
k = 4
"""

Tell = Callable[[str], None]
"""Called with a line for a person at the begin of each step."""


class StepFailed(BoardError):
    """A step came to something else than it has to; ends the test."""


@dataclass
class Report:
    """What was reached. Counts are of boards, but for the files. `seconds`: by step. `problem`: "" where all holds.

    `files_skipped_second_time`: files that provisioning found in place when it was called again; it sent none then.
    `rejoined`: boards that were back in the network after a power cut, as `logs` heard them.
    """

    boards: int
    chips: list[str]
    flashed: int = 0
    verified: int = 0
    provisioned: int = 0
    joined: int = 0
    files_sent: int = 0
    files_skipped_second_time: int = 0
    injected: int = 0
    run_verdict: str | None = None
    run: dict[str, object] = field(default_factory=dict)
    rejoined: int = 0
    log_lines: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    wall_s: float = 0.0
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether all boards went the whole way."""
        reached = (self.flashed, self.verified, self.provisioned, self.joined, self.injected, self.rejoined)
        return not self.problem and set(reached) == {self.boards} and self.run_verdict == "PASS"

    def record(self) -> dict[str, object]:
        """For JSON."""
        return {"emulated": True, "passed": self.passed, **asdict(self)}


def selftest(boards: int = BOARDS, tell: Tell = lambda words: None) -> Report:
    """Try the whole path with so many emulated boards; what was reached, whatever came of it. Main thread only.

    Raises UsageError for a number of boards that cannot be, and BoardError where no boards can be emulated here.
    """
    if not FEWEST <= boards <= MOST:
        raise UsageError(f"--boards {boards}: the self-test takes {FEWEST} to {MOST} boards")
    began = time.monotonic()
    chips = [CHIP] * (boards - 1) + [OTHER_CHIP]
    report = Report(boards, chips)
    with scratch_folder("selftest") as folder, ProcessGroup() as group, contextlib.ExitStack() as stack:
        with _timed(report, "start", tell, f"starting a broker and {boards} emulated boards"):
            broker = stack.enter_context(open_broker())
            (folder / "network.toml").write_text(_NETWORK.format(nodes=boards, broker=broker.url))
            emulated = [
                stack.enter_context(
                    EmulatedBoard(
                        folder / f"board{number}",
                        chip=chip,
                        mac=f"24:0a:c4:00:00:{number:02x}",
                        micropython=False,
                    )
                )
                for number, chip in enumerate(chips, start=1)
            ]
        try:
            _Course(report, folder, group, emulated, tell).run()
        except StepFailed as error:
            report.problem = str(error)
    report.wall_s = round(time.monotonic() - began, 2)
    return report


@contextlib.contextmanager
def _timed(report: Report, step: str, tell: Tell, words: str) -> Iterator[None]:
    tell(words)
    began = time.monotonic()
    try:
        yield
    finally:
        report.seconds[step] = round(time.monotonic() - began, 2)


class _Course:
    """The steps, one after the other, each noting in the report what it reached."""

    def __init__(
        self, report: Report, folder: Path, group: ProcessGroup, boards: Sequence[EmulatedBoard], tell: Tell
    ) -> None:
        self._report = report
        self._folder = folder
        self._group = group
        self._boards = boards
        self._tell = tell
        self._nodes: dict[str, int] = {}

    def run(self) -> None:
        """All of them. Raises StepFailed."""
        report, ports = self._report, _ports(self._boards)
        with self._step("flash", "flashing MicroPython onto blank boards, each with the image for its chip"):
            self._flash()
        with self._step("provision", "making them nodes, and waiting for them to join"):
            self._provision(ports)
        with self._step("provision_again", "the same again: nothing may travel"):
            self._provision_again(ports)
        with self._step("inject", "giving them readings over the cable"):
            done = self._verb("board", "inject", *ports, "--data", "gaussians")
            report.injected = sum(1 for board in done["boards"] if board["ok"])
        with self._step("run", "clustering the readings, and comparing with the reference"):
            self._run_and_check()
        with self._step("logs", "cutting their power, and listening how they come back"):
            self._listen(ports)

    def _flash(self) -> None:
        for chip in dict.fromkeys(self._report.chips):
            image = self._folder / f"{chip}.bin"
            image.write_bytes(micropython_image(chip, size=_IMAGE_BYTES))
            boards = [board for board in self._boards if board.chip == chip]
            done = self._verb("board", "flash", *_ports(boards), "--image", str(image))
            self._report.flashed += sum(1 for one in done["boards"] if one["ok"])
            self._report.verified += sum(1 for one in done["boards"] if one["verified"])
            self._require(
                {one["mac"] for one in done["boards"]} == {board.mac for board in boards},
                "flash told other MACs than the boards have",
            )

    def _provision(self, ports: Sequence[str]) -> None:
        report = self._report
        done = self._verb("board", "provision", *ports)
        report.provisioned = done["provisioned"]
        report.joined = sum(1 for board in done["boards"] if board["joined"])
        report.files_sent = sum(len(board["sent"]) for board in done["boards"])
        self._nodes = {board["port"]: board["node"] for board in done["boards"]}
        self._require(
            sorted(self._nodes.values()) == list(range(1, report.boards + 1)),
            f"the boards got the ids {sorted(self._nodes.values())}",
        )

    def _provision_again(self, ports: Sequence[str]) -> None:
        report = self._report
        boards = self._verb("board", "provision", *ports)["boards"]
        report.files_skipped_second_time = sum(len(board["skipped"]) for board in boards)
        sent = sum(len(board["sent"]) + len(board["copied"]) for board in boards)
        self._require(sent == 0, f"{sent} files travelled although nothing had changed")
        self._require(
            report.files_skipped_second_time == report.files_sent, "not all files were found in place"
        )
        self._require(
            {board["port"]: board["node"] for board in boards} == self._nodes, "boards changed their ids"
        )

    def _run_and_check(self) -> None:
        report = self._report
        ran = self._verb("run")
        report.run = {
            name: ran[name] for name in ("kind", "nodes", "finished", "converged", "steps", "ssd", "wall_s")
        }
        verdict = self._verb("check")
        report.run_verdict = verdict["verdict"]
        self._require(report.run_verdict == "PASS", "; ".join(verdict["reasons"]))

    def _listen(self, ports: Sequence[str]) -> None:
        """Every board says, under its node's id, that it is ready again; then `logs` is told to end."""
        events: queue.SimpleQueue[str] = queue.SimpleQueue()
        words = self._command("board", "logs", *ports)
        child = self._group.start(
            words, name="logs", cwd=self._folder, env=_environment(), on_line=events.put
        )
        waiting = {board.port for board in self._boards}
        for event in self._events(events, child):
            if event["event"] == "opened":
                waiting.discard(event["port"])
            if not waiting:
                break
        for board in self._boards:
            board.power_off()
            board.power_on()
        back: set[int] = set()
        for event in self._events(events, child):
            if event["event"] != "line":
                continue
            self._report.log_lines += 1
            if event["text"] == _READY:
                self._require(
                    event["node"] == self._nodes[event["port"]], f"{event['port']} is taken for another node"
                )
                back.add(event["node"])
                self._report.rejoined = len(back)
            if len(back) == len(self._boards):
                break
        child.stop()

    def _events(self, lines: "queue.SimpleQueue[str]", child: Child) -> Iterator[dict[str, Any]]:
        """What `logs` tells, line by line. Raises StepFailed after half a minute."""
        deadline = time.monotonic() + _LOGS_S
        while True:
            try:
                line = lines.get(timeout=0.1)
            except queue.Empty:
                self._require(child.poll() is None, f"logs has ended: {_last_words(child)}")
                self._require(time.monotonic() < deadline, f"not all boards were heard within {_LOGS_S:g} s")
                continue
            self._require(line.startswith("{"), f"logs says: {line}")
            yield json.loads(line)

    @contextlib.contextmanager
    def _step(self, name: str, words: str) -> Iterator[None]:
        try:
            with _timed(self._report, name, self._tell, words):
                yield
        except StepFailed as error:
            raise StepFailed(f"{name}: {error}") from None

    def _verb(self, *words: str) -> dict[str, Any]:
        """Run a verb to its end; its --json object. Raises StepFailed with its own line where it fails."""
        name = "-".join(word for word in words[:2] if not word.startswith("-"))
        log = self._folder / f"{name}.log"
        log.unlink(missing_ok=True)
        command = self._command(*words)
        child = self._group.start(command, name=name, cwd=self._folder, env=_environment(), log=log)
        code = child.wait(_VERB_S)
        self._require(code is not None, f"not done within {_VERB_S:g} s")
        lines = child.lines()
        self._require(code == 0, f"exit code {code}: {lines[-1] if lines else 'without a word'}")
        self._group.forget(child)
        # In the log lines are whole, however long.
        said = [line for line in log.read_text(encoding="utf-8").splitlines() if line.startswith("{")]
        self._require(len(said) == 1, f"{len(said)} JSON objects instead of one")
        record: dict[str, Any] = json.loads(said[0])
        return record

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "dcka", *words, "--json"]

    def _require(self, holds: bool, words: str) -> None:
        if not holds:
            raise StepFailed(words)


def _ports(boards: Sequence[EmulatedBoard]) -> list[str]:
    return [word for board in boards for word in ("--port", board.port)]


def _environment() -> Mapping[str, str]:
    """The user's, without what speaks of the user's own boards and network."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DCKA_")}


def _last_words(child: Child) -> str:
    lines = child.lines()
    return lines[-1] if lines else "without a word"
