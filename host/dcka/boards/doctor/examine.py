"""The examination: the computer, then each port, then each board, as far as one can get."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dcka.boards.asking import PATIENCE_S, Detect, ask_all
from dcka.boards.console_text import RealNames
from dcka.boards.doctor.access import Access, access_to, check_access
from dcka.boards.doctor.board import Expected, check_board, no_micropython, nothing_answers
from dcka.boards.doctor.computer import Computer, check_computer, this_computer
from dcka.boards.doctor.look import Look, look
from dcka.boards.doctor.verdicts import Check, all_well, ok, wrong
from dcka.boards.errors import BoardError, BoardSilent
from dcka.boards.flashing import PARALLEL, Detected, detect_all
from dcka.boards.joining import JoinError, wait_until_joined
from dcka.boards.ports import PortInfo
from dcka.boards.repl import open_repl

WAIT_S = 30.0
"""How long a node may take from its restart until it is ready: Wi-Fi, broker, subscriptions."""


@dataclass(frozen=True)
class Seen:
    """What a visit to a board brought. `join`: None where its program could not run; "" where it got ready, else why
    not, with what to do."""

    look: Look
    join: str | None = None


# Errors of the other parts say in their one line what to do.
_SAID = ""

Visit = Callable[[str], Seen]


def visit(port: str, wait_s: float = WAIT_S, names: Mapping[str, Mapping[str, str]] | None = None) -> Seen:
    """Look at a board from within, restart it, and listen whether its node gets ready. Raises BoardError.

    `names`: see RealNames, for what it says if it crashes.
    """
    real = RealNames(names or {})
    with open_repl(port, PATIENCE_S) as repl:
        found = look(repl)
        if not isinstance(found.config, dict) or wait_s <= 0:
            return Seen(found)
        repl.soft_reset()
        try:
            wait_until_joined(map(real.line, repl.lines(wait_s)), wait_s)
        except JoinError as error:
            return Seen(found, str(error))
        return Seen(found, "")


def examine_computer(
    listed: Sequence[PortInfo],
    chosen: Sequence[PortInfo],
    computer: Callable[[], Computer] = this_computer,
    access: Callable[[str], Access] = access_to,
) -> list[Check]:
    """The computer, and the `chosen` ports from outside; the others that are `listed` are told too. None is opened."""
    accesses = {port: access(port.path) for port in chosen}
    there = [port for port in chosen if accesses[port].there and port not in listed]
    checks = check_computer(computer(), [*listed, *there])
    for port, found in accesses.items():
        checks += [replace(check, port=port.path) for check in check_access(port, found)]
    return checks


def examine_boards(
    ports: Sequence[PortInfo],
    expected: Callable[[PortInfo], Expected],
    parallel: int = PARALLEL,
    *,
    visit: Visit = visit,
    detect: Detect = detect_all,
) -> list[Check]:
    """The boards on these ports, from within, at most `parallel` at a time. Interrupts and restarts them.

    Where MicroPython does not answer, the bootloader is asked. Main thread only.
    """
    paths = [port.path for port in ports]
    answers = ask_all(paths, visit, lambda seen: isinstance(seen, BoardSilent), detect, parallel)
    checks = []
    for port, (seen, detected) in zip(ports, answers, strict=True):
        found = _checks(port.path, seen, detected, expected(port))
        checks += [replace(check, port=port.path) for check in found]
    return checks


def _checks(
    port: str, seen: Seen | BoardError, detected: Detected | BoardError | None, expected: Expected
) -> list[Check]:
    if isinstance(seen, BoardError):
        if isinstance(detected, Detected):
            return [no_micropython(detected.chip, port)]
        if isinstance(detected, BoardSilent):
            return [nothing_answers(port)]
        return [wrong("answer", str(detected or seen), _SAID)]
    checks = check_board(seen.look, expected, port)
    return [*checks, _joined(seen.join)] if seen.join is not None and all_well(checks) else checks


def _joined(why_not: str | None) -> Check:
    if not why_not:
        return ok("network", "it is ready: joined, connected, subscribed")
    return wrong("network", why_not, _SAID)
