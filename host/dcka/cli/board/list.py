"""`dcka board list`: which boards are plugged in, and who they are."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.options import examples, json_option, network_option, state_option
from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.boards.identify import BoardRow
    from dcka.boards.ports import PortInfo
    from dcka.boards.registry import Registry

_NO_BOARD = "this computer sees no board; dcka board doctor says what to try"
_COLUMNS = ("port", "usb", "chip", "mac", "micropython", "node", "network", "firmware")
_HEADINGS = {"mac": "MAC", "usb": "USB", "micropython": "MicroPython"}


@click.command(
    "list",
    epilog=examples(
        "dcka board list                        every board",
        "dcka board list --quick                the ports alone; no board is interrupted",
        "dcka board list --port /dev/ttyUSB0 --json",
    ),
)
@click.option(
    "--port", "ports", multiple=True, metavar="PATH", help="This port alone; may be repeated.  [default: all]"
)
@click.option("--all", "all_", is_flag=True, help="Every board: so it is without --port, too.")
@click.option("--quick", is_flag=True, help="Ports and their USB names only: nothing is opened.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Boards asked at a time.  [default: 8]")
@network_option
@state_option
@json_option
def command(
    ports: tuple[str, ...],
    all_: bool,
    quick: bool,
    jobs: int | None,
    network: Path | None,
    state: Path | None,
    output: Output,
) -> int:
    """Show the boards that are plugged in.

    Each is asked who it is, over the cable. This interrupts what runs on it for some seconds; then it restarts, and a
    node joins its network again. A board on which no MicroPython answers is restarted into its bootloader and asked
    for chip and MAC. A port that another program has open is not opened, nor is one whose USB chip no ESP32 board
    has, unless it is named by --port. A node with a question mark was there last time, and was not asked now.

    Where a network file is there, the MACs and ports are noted in .dcka/boards.json, and so are the ids of boards
    that it does not know yet. The exit code is 0, or with --port that of the first port that cannot be asked.
    """
    from dcka.boards.flashing import PARALLEL
    from dcka.boards.identify import identify_all, listed
    from dcka.boards.ports import chosen_ports, find_ports
    from dcka.cli.board.places import registry_for

    chosen = chosen_ports(ports, all_) if ports else find_ports()
    registry = registry_for(network, state)
    known = registry.boards() if registry else ()
    if quick:
        rows = listed(chosen, known)
    else:
        rows = identify_all(chosen, known, jobs or PARALLEL, chosen=bool(ports))
        if registry is not None:
            _note(registry, rows, chosen)
    if rows and not output.json_mode:
        _show(rows)
    else:
        output.result({"ports": [row.record() for row in rows]}, _NO_BOARD)
    return next((row.exit_code for row in rows if row.exit_code), 0) if ports else 0


def _note(registry: "Registry", rows: "Sequence[BoardRow]", ports: "Sequence[PortInfo]") -> None:
    """Where each board is now; and its id, where the registry has neither the board's nor another board with it."""
    by_path = {port.path: port for port in ports}
    for row in rows:
        if row.mac is None:
            continue
        port = by_path[row.port]
        registry.seen(row.mac, row.port, port.serial or "", port.usb)
        unknown = registry.node_of(row.mac) is None
        if row.node is not None and unknown and registry.of_node(row.node) is None:
            registry.assign(row.mac, row.node)


def _show(rows: "Sequence[BoardRow]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    shown = [name for name in _COLUMNS if name in ("port", "node") or any(getattr(row, name) for row in rows)]
    for name in shown:
        table.add_column(_HEADINGS.get(name, name), no_wrap=name in ("port", "mac"))
    for row in rows:
        table.add_row(*(_cell(row, name) for name in shown))
    console = Console(highlight=False)
    console.print(table, markup=False)
    for row in rows:
        if row.problem:
            console.print(f"{row.port}: {row.problem}", style="yellow", markup=False, soft_wrap=True)


def _cell(row: "BoardRow", name: str) -> Any:
    from rich.text import Text

    value = getattr(row, name)
    if name == "node" and value is None and row.guess is not None:
        return Text(f"{row.guess}?", style="dim")
    return Text("-" if value in (None, "") else str(value))
