"""`dcka board inject`: readings from a file, or of an example, to boards over the cable."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.options import configuration, examples, json_option, network_option, state_of, state_option
from dcka.cli.output import Output
from dcka.cli.readings import dataset_of, facts_of, reading_options, warn_of_k

if TYPE_CHECKING:
    from dcka.boards.serial_inject import BoardResult
    from dcka.config import State
    from dcka.inject.dataset import Dataset


@click.command(
    "inject",
    epilog=examples(
        "dcka board inject --all readings.csv --split-by mote --columns humidity,temperature",
        "dcka board inject --port /dev/ttyUSB0 --data gaussians",
        "dcka board inject --all --jobs 2 --json readings.csv",
    ),
)
@click.option("--port", "ports", multiple=True, metavar="PATH", help="A board's port; may be repeated.")
@click.option("--all", "all_", is_flag=True, help="Every board that is plugged in.")
@reading_options
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Boards written at a time.  [default: 8]"
)
@network_option
@state_option
@json_option
def command(
    ports: tuple[str, ...],
    all_: bool,
    file: Path | None,
    data: str | None,
    jobs: int | None,
    network: Path | None,
    state: Path | None,
    output: Output,
    **reading: Any,
) -> int:
    """Give boards their readings over the cable.

    As dcka inject, for nodes that are not online yet. The file is read whole and checked before a board is touched;
    each board says which node it is, and gets that node's part. The board is asked for its free space before the
    first byte, keeps its old data until the new ones are verified on it, and restarts. A transfer that was cut goes
    on where it was with the same call. Where no board failed, the data set is kept for dcka run and dcka check.
    A run that is under way is interrupted at the boards.

    The exit code is that of the first board that failed.
    """
    from dcka.boards.flashing import PARALLEL
    from dcka.boards.ports import chosen_ports
    from dcka.boards.serial_inject import inject_boards, totals
    from dcka.cli.board.places import boards_among

    config = configuration(network)
    dataset = dataset_of(file, data, config, reading)
    chosen = [port.path for port in boards_among(chosen_ports(ports, all_), all_, output)]
    for sentence in dataset.report.sentences():
        output.say(sentence)
    warn_of_k(dataset, config, output)
    begun = time.monotonic()
    with _progress(output, chosen) as tell:
        results = inject_boards(chosen, dataset, config.network.name, jobs or PARALLEL, tell)
    failed = [result for result in results if result.error]
    if not failed:
        _keep(dataset, state_of(config, state))
    wall_s = time.monotonic() - begun
    record = {**facts_of(dataset), **totals(results, config.ids), "kept": not failed, "wall_s": wall_s}
    output.result(record, _words(record, results))
    for result in failed:
        output.say(f"dcka: {result.error}")
    return failed[0].exit_code if failed else 0


def _keep(dataset: "Dataset", folder: "State") -> None:
    folder.make_folder(folder.folder)
    dataset.save(folder.folder)


@contextlib.contextmanager
def _progress(output: Output, ports: Sequence[str]) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each board on a terminal; nothing elsewhere."""
    if not output.console.is_terminal:
        yield lambda port, done, total: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    lock = threading.Lock()
    with Progress(*columns, console=output.console) as bars:
        tasks = {port: bars.add_task(port, total=None) for port in ports}

        def tell(port: str, done: int, total: int) -> None:
            with lock:
                bars.update(tasks[port], completed=done, total=total)

        yield tell


def _words(record: dict[str, Any], results: "Sequence[BoardResult]") -> str:
    lines = []
    for result in results:
        if not result.error:
            how = "had it already" if result.skipped else f"{result.bytes:,} bytes, verified"
            lines.append(f"node {result.node} on {result.port}: {result.points:,} points, {how}")
    done = f"{len(lines)} of {len(results)} boards hold their points of {', '.join(record['columns'])}"
    lines.append(f"{done} (data set {record['dataset']})")
    if record["without_board"]:
        named = ", ".join(map(str, record["without_board"]))
        lines.append(f"not plugged in, so they have not got theirs now: nodes {named}")
    if not record["kept"]:
        lines.append("the data set is not kept for dcka run yet: call again, for the boards that failed")
    return "\n".join(lines)
