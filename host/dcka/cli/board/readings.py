"""`dcka board readings`: what a board's node has sensed, over the cable."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.boards.stored_readings import Stored


@click.command(
    "readings",
    epilog=examples(
        "dcka board readings /dev/ttyUSB0                       how many there are, from when to when",
        "dcka board readings /dev/ttyUSB0 --out node3.csv       all of them, as a table",
    ),
)
@click.argument("port")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE.csv", help="Where to put them.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@json_option
def command(port: str, out: Path | None, force: bool, output: Output) -> None:
    """Say what readings a board holds, and fetch them.

    Readings never leave a node by radio; who holds the cable may have them. The node's program is stopped meanwhile,
    which writes down what waits in its memory first, and is started again. Nothing on the board is changed. Where a
    node has had other columns before, the file has those of the newest, and --json counts the others.
    """
    from dcka.boards.installed import read_installed
    from dcka.boards.repl import open_repl
    from dcka.boards.stored_readings import BoardSegments, stored_readings
    from dcka.config import write_whole
    from dcka.errors import UsageError

    if out is not None and out.exists() and not force:
        raise UsageError(f"{out} is there already; overwrite it with --force")

    def tell(done: int, total: int) -> None:
        if output.console.is_terminal:
            output.say(f"{done} of {total} segments")

    with open_repl(port) as repl:
        node = read_installed(repl)
        found = stored_readings(BoardSegments(repl, tell))
        sets = [_facts(one) for one in found]
        if out is not None and found:
            write_whole(out, "".join(found[0].csv()).encode())
    record: dict[str, Any] = {
        "port": port,
        "network": node.network,
        "node": node.node,
        "readings": sets[0]["readings"] if sets else 0,
        "columns": sets[0]["columns"] if sets else [],
        "oldest": sets[0]["oldest"] if sets else None,
        "newest": sets[0]["newest"] if sets else None,
        "earlier": sets[1:],
        "file": out.absolute() if out is not None and found else None,
    }
    output.result(record, _words(record))


def _facts(stored: "Stored") -> dict[str, Any]:
    from dcka.sensing.told import moment

    times = [time_s for time_s, _ in stored.rows()]
    return {
        "columns": list(stored.names),
        "readings": len(times),
        "oldest": moment(min(times)) if times else None,
        "newest": moment(max(times)) if times else None,
    }


def _words(record: dict[str, Any]) -> str:
    who = f"node {record['node']} on {record['port']}" if record["node"] is not None else record["port"]
    if not record["readings"]:
        return f"{who} holds no readings of its own"
    columns = ", ".join(record["columns"])
    lines = [
        f"{who}: {record['readings']:,} readings of {columns}, from {record['oldest']} to {record['newest']}"
    ]
    for one in record["earlier"]:
        lines.append(f"and {one['readings']:,} of {', '.join(one['columns'])} before")
    if record["file"]:
        lines.append(f"wrote {record['file']}")
    return "\n".join(lines)
