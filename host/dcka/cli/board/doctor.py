"""`dcka board doctor`: why a board does not answer, or does not join, and what to do."""

import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dcka.cli.options import examples, json_option, network_option, state_option
from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.boards.doctor.board import Expected
    from dcka.boards.doctor.verdicts import Check
    from dcka.boards.ports import PortInfo

_MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "wrong": ("WRONG", "red")}
_NAME_WIDTH = 13
_MOST_COLUMNS = 110


@click.command(
    "doctor",
    epilog=examples(
        "dcka board doctor                         the computer and its ports; no board is touched",
        "dcka board doctor --port /dev/ttyUSB0     one board, from the cable to the network",
        "dcka board doctor --all --json",
    ),
)
@click.option("--port", "ports", multiple=True, metavar="PATH", help="Examine this board; may be repeated.")
@click.option("--all", "all_", is_flag=True, help="Examine every board.")
@click.option(
    "--wait", "wait_s", type=click.FloatRange(min=0), default=30.0, show_default=True, metavar="SECONDS",
    help="How long a node may take until it is ready; 0 = do not wait.",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Boards examined at a time.  [default: 8]"
)
@network_option
@state_option
@json_option
def command(
    ports: tuple[str, ...],
    all_: bool,
    wait_s: float,
    jobs: int | None,
    network: Path | None,
    state: Path | None,
    output: Output,
) -> int:
    """Find out why a board does not answer, or does not join.

    Looks at the computer first: is a board on the USB, has it a driver, may you open its port, has another program
    taken it? With --port or --all also at the boards: MicroPython, file system, firmware, configuration, safe mode,
    crashes, data; then it restarts them, and listens whether they join. This interrupts a node that is well. Nothing
    is changed on a board or on the computer.

    The exit code is 0 if nothing has to be put right, else 1.
    """
    from dcka.boards.doctor.examine import examine_computer
    from dcka.boards.doctor.verdicts import all_well
    from dcka.boards.ports import chosen_ports, find_ports
    from dcka.boards.usb import is_board

    listed = find_ports()
    chosen = chosen_ports(ports, all_) if ports else listed
    checks = examine_computer(listed, chosen)
    if ports or all_:
        closed = {check.port for check in checks if check.verdict == "wrong"}
        meant = [port for port in chosen if port.path in ports or is_board(port)]
        checks += _examined([port for port in meant if port.path not in closed], network, state, wait_s, jobs)
        # A board's checks below those of its port.
        places = ["", *(port.path for port in chosen)]
        checks.sort(key=lambda check: places.index(check.port))
    well = all_well(checks)
    output.result({"well": well, "checks": [check.record() for check in checks]}, _words(checks))
    if listed and not (ports or all_):
        output.say("no board was touched; to examine one, which interrupts it: --port PATH, or --all")
    return 0 if well else 1


def _examined(
    ports: "Sequence[PortInfo]", network: Path | None, state: Path | None, wait_s: float, jobs: int | None
) -> "list[Check]":
    """The boards on these ports."""
    from dcka.boards.doctor.examine import examine_boards, visit
    from dcka.boards.flashing import PARALLEL
    from dcka.cli.board.places import build_names

    names = build_names(network)
    return examine_boards(
        ports,
        _expected(network, state, names),
        jobs or PARALLEL,
        visit=lambda port: visit(port, wait_s, names),
    )


def _expected(
    network: Path | None, state: Path | None, names: Mapping[str, Mapping[str, str]]
) -> "Callable[[PortInfo], Expected]":
    from dcka.boards.doctor.board import Expected
    from dcka.boards.ports import find_ports
    from dcka.boards.whose import who_is
    from dcka.cli.board.places import config_if_any, registry_for
    from dcka_core.voice import VERSION

    config = config_if_any(network)
    registry = registry_for(network, state)

    def expected(port: "PortInfo") -> Expected:
        who = who_is(port, find_ports(), registry.boards() if registry else ())
        return Expected(
            VERSION,
            config.network.name if config else None,
            config.ids if config else (),
            who.node if who.sure else None,
            names,
        )

    return expected


def _words(checks: "Sequence[Check]") -> str:
    """A line a check, below the name of the port that it is about; what to do below it."""
    lines: list[str] = []
    place = None
    for check in checks:
        if check.port != place:
            place = check.port
            lines.append(place or "this computer")
        mark, colour = _MARKS[check.verdict]
        first, *more = _wrapped(f"{check.name:{_NAME_WIDTH}} ", check.says)
        lines += [f"  {_coloured(f'{mark:5}', colour)} {first}", *(f"  {'':5} {line}" for line in more)]
        if check.todo and check.verdict != "ok":
            lines += [f"  {'':5} {line}" for line in _wrapped(f"{'':{_NAME_WIDTH}} → ", check.todo)]
    wrong = sum(check.verdict == "wrong" for check in checks)
    lines.append(f"{wrong} to put right" if wrong else "all is well")
    return "\n".join(lines)


def _wrapped(head: str, text: str) -> list[str]:
    """The text behind the head, in lines that fit the terminal; an option is never broken at its dashes."""
    width = min(shutil.get_terminal_size((_MOST_COLUMNS, 24)).columns, _MOST_COLUMNS) - 8
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _coloured(text: str, colour: str) -> str:
    return click.style(text, fg=colour) if sys.stdout.isatty() else text
