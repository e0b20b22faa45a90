"""Who is on a port: MicroPython is asked, and the bootloader where it does not answer or does not know its MAC."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dcka.boards.asking import PATIENCE_S, Detect, ask_all
from dcka.boards.chips import RISC_V, Chip, chip_named
from dcka.boards.errors import BoardError, BoardSilent
from dcka.boards.flashing import PARALLEL, Detected, detect_all
from dcka.boards.images import MINIMUM, MINIMUM_RISC_V
from dcka.boards.installed import Facts, Installed, NoFileSystem, board_facts, read_installed
from dcka.boards.ports import PortInfo, holder
from dcka.boards.registry import Board
from dcka.boards.repl import open_repl
from dcka.boards.usb import is_board
from dcka.boards.whose import who_is
from dcka.errors import UsageError

_CHIP = re.compile(r"with (ESP32\S*)")


@dataclass(frozen=True)
class BoardRow:
    """What is known of the board on a port; None for what nobody told.

    `chip`: its title, such as "ESP32-S3". `micropython`: "1.29.0". `node`, `network`, `firmware`: what the board's
    own files say. `problem`: why something is missing, or what is wrong, with what to do; `exit_code` is that of a
    port that could not be asked. `guess`: the node that was on this port, or had this USB serial number, last time.
    """

    port: str
    usb: str
    chip: str | None = None
    mac: str | None = None
    micropython: str | None = None
    node: int | None = None
    network: str | None = None
    firmware: str | None = None
    problem: str | None = None
    guess: int | None = None
    exit_code: int = 0

    def record(self) -> dict[str, object]:
        """For JSON."""
        return {name: value for name, value in vars(self).items() if name != "exit_code"}


@dataclass(frozen=True)
class Answer:
    """What MicroPython has told."""

    facts: Facts
    installed: Installed


Ask = Callable[[str], Answer]


def ask_micropython(path: str) -> Answer:
    """Ask the board at this port; what ran there is interrupted, and restarted. Raises BoardError."""
    with open_repl(path, PATIENCE_S) as repl:
        return Answer(board_facts(repl), read_installed(repl))


def identify(port: PortInfo, boards: Sequence[Board] = ()) -> BoardRow:
    """`identify_all` for one port."""
    return identify_all([port], boards)[0]


def identify_all(
    ports: Sequence[PortInfo],
    boards: Sequence[Board] = (),
    parallel: int = PARALLEL,
    *,
    chosen: bool = True,
    ask: Ask = ask_micropython,
    detect: Detect = detect_all,
    holder_of: Callable[[str], str | None] = holder,
) -> list[BoardRow]:
    """The boards on these ports, at most `parallel` asked at a time, in the order of the ports. Main thread only.

    `boards`: the registry's. A port that another program has open is not opened. Where the ports were not `chosen` by
    a person, those whose USB chip no ESP32 board has are not opened either.
    """
    rows = {port.path: _unasked(port, ports, boards, holder_of, chosen) for port in ports}
    paths = [port.path for port in ports if rows[port.path].problem is None]
    answers = ask_all(paths, ask, _needs_bootloader, detect, parallel)
    for path, (answer, detected) in zip(paths, answers, strict=True):
        rows[path] = _row(rows[path], answer, detected)
    return _with_twins([_with_registry(row, boards) for row in rows.values()])


def listed(ports: Sequence[PortInfo], boards: Sequence[Board] = ()) -> list[BoardRow]:
    """The ports, with nothing opened."""
    return [BoardRow(port.path, port.usb, guess=who_is(port, ports, boards).node) for port in ports]


def too_old(version: Sequence[int], chip: Chip | None) -> str | None:
    """What is wrong with this MicroPython, for the firmware; None for nothing."""
    minimum = MINIMUM_RISC_V if chip is not None and chip.march == RISC_V else MINIMUM
    if tuple(version[:2]) >= minimum:
        return None
    found, needed = _dotted(version), _dotted(minimum)
    return f"MicroPython {found} is too old: the firmware needs {needed} or later; dcka board flash"


def chip_of_machine(machine: str) -> Chip | None:
    """The chip that MicroPython names as its machine, such as "Generic ESP32S3 module with ESP32S3"."""
    found = _CHIP.search(machine)
    try:
        return chip_named(found[1]) if found else None
    except UsageError:
        return None


def _unasked(
    port: PortInfo,
    ports: Sequence[PortInfo],
    boards: Sequence[Board],
    holder_of: Callable[[str], str | None],
    chosen: bool,
) -> BoardRow:
    row = BoardRow(port.path, port.usb, guess=who_is(port, ports, boards).node)
    if not chosen and not is_board(port):
        problem = (
            f"not opened: no ESP32 board has this USB chip; if one is there after all: --port {port.path}"
        )
        return replace(row, problem=problem)
    program = holder_of(port.path)
    if program is not None:
        return replace(row, problem=f"in use by {program}: close that, then ask again", exit_code=4)
    return row


def _needs_bootloader(answer: Answer | BoardError) -> bool:
    """Where the port itself is the trouble, the bootloader is behind the same port."""
    if isinstance(answer, BoardError):
        return isinstance(answer, BoardSilent | NoFileSystem)
    return answer.facts.mac is None


def _row(row: BoardRow, answer: Answer | BoardError, detected: Detected | BoardError | None) -> BoardRow:
    if isinstance(detected, Detected):
        row = replace(row, chip=detected.chip.title, mac=detected.mac)
    if isinstance(answer, BoardError):
        problem, code = _trouble(row.port, answer, detected)
        return replace(row, problem=problem, exit_code=code)
    facts, installed = answer.facts, answer.installed
    chip = detected.chip if isinstance(detected, Detected) else chip_of_machine(facts.machine)
    return replace(
        row,
        chip=chip.title if chip else row.chip,
        mac=facts.mac or row.mac,
        micropython=_dotted(facts.version),
        node=installed.node,
        network=installed.network,
        firmware=installed.firmware,
        problem=too_old(facts.version, chip) or (str(detected) if isinstance(detected, BoardError) else None),
    )


def _trouble(port: str, answer: BoardError, detected: Detected | BoardError | None) -> tuple[str, int]:
    """What is wrong where MicroPython gave no answer, and the exit code for it."""
    if isinstance(answer, NoFileSystem):
        return str(answer), answer.exit_code
    if isinstance(detected, Detected):
        return f"no MicroPython answers: dcka board flash --port {port}", answer.exit_code
    if isinstance(detected, BoardSilent):
        return (
            f"neither MicroPython nor a bootloader answers: dcka board doctor --port {port}",
            answer.exit_code,
        )
    error = detected or answer
    return str(error), error.exit_code


def _with_registry(row: BoardRow, boards: Sequence[Board]) -> BoardRow:
    """Where the registry gives the board another id than the board itself, somebody has to choose."""
    known = next((board.node for board in boards if board.mac == row.mac), None)
    if row.problem is None and None not in (known, row.node) and known != row.node:
        return replace(
            row,
            problem=f"it is node {row.node}, and boards.json has node {known} for it: dcka board provision",
        )
    return row


def _with_twins(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """Two boards of one id would speak as one: both are told."""
    counted: Counter[Any] = Counter((row.network, row.node) for row in rows if row.node is not None)
    return [
        replace(
            row, problem=f"another board here is node {row.node} too: dcka board provision gives it its own"
        )
        if row.problem is None and counted[row.network, row.node] > 1
        else row
        for row in rows
    ]


def _dotted(version: Sequence[int]) -> str:
    return ".".join(map(str, version))
