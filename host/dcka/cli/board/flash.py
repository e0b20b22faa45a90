"""`dcka board flash`: MicroPython onto boards."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.boards.chips import Chip
    from dcka.boards.flashing import FlashOutcome, OnProgress, Progress
    from dcka.boards.images import Image

_PROOFS = {
    "given": "its SHA-256 is the one of --sha256",
    "pinned": "its SHA-256 is the pinned one",
    "kept": "its SHA-256 is that of the first download",
    "none": "its own checksums are right; there is no other SHA-256 to compare it with",
}
_SLOWEST, _FASTEST = 9600, 4_000_000


@click.command(
    "flash",
    epilog=examples(
        "dcka board flash --all                              the right image for each, fetched once",
        "dcka board flash --port /dev/ttyUSB0 --erase        with everything on it erased first",
        "dcka board flash --all --image ESP32_GENERIC-20260824-v1.29.0.bin --jobs 4",
    ),
)
@click.option("--port", "ports", multiple=True, metavar="PATH", help="A board's port; may be repeated.")
@click.option("--all", "all_", is_flag=True, help="Every board that is plugged in.")
@click.option(
    "--image",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A MicroPython image.  [default: fetched for each board's chip, and kept]",
)
@click.option("--sha256", metavar="DIGEST", help="What the image has to have; else it is not flashed.")
@click.option("--allow-old", is_flag=True, help="Flash a MicroPython that the firmware does not run on.")
@click.option("--erase", is_flag=True, help="Erase the whole flash first, with all files on the board.")
@click.option(
    "--baud",
    type=click.IntRange(_SLOWEST, _FASTEST),
    metavar="N",
    help="The first speed to try; slower ones follow where it fails.  [default: 921600]",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Boards flashed at a time.  [default: 8]"
)
@json_option
def command(
    ports: tuple[str, ...],
    all_: bool,
    image: Path | None,
    sha256: str | None,
    allow_old: bool,
    erase: bool,
    baud: int | None,
    jobs: int | None,
    output: Output,
) -> int:
    """Write MicroPython onto boards.

    Each board is asked for its chip first, and refused an image for another one. What was written is verified by the
    board, and where the cable is too bad for a speed, the next slower one is tried. The files on a board stay, unless
    --erase is given. An image is fetched from micropython.org once and then taken from the cache; without a network,
    the message says where to put it by hand. MicroPython has to be 1.23 or later, on RISC-V chips 1.24.

    A board that fails does not stop the others. The exit code is that of the first board that failed.
    """
    from dcka.boards.flash_ports import flash_ports, slower_than
    from dcka.boards.flashing import BAUDS, PARALLEL
    from dcka.boards.ports import chosen_ports
    from dcka.cli.board.places import boards_among

    chosen = boards_among(chosen_ports(ports, all_), all_, output)
    images: dict[str, Image] = {}
    image_for = image_source(image, sha256, allow_old, images, output)
    begun = time.monotonic()
    with progress_bars(output, [port.path for port in chosen]) as tell:
        outcomes = flash_ports(
            [port.path for port in chosen],
            image_for,
            erase=erase,
            bauds=slower_than(baud) if baud else BAUDS,
            parallel=jobs or PARALLEL,
            on_progress=tell,
        )
    return _report(outcomes, images, time.monotonic() - begun, output)


def image_source(
    file: Path | None, sha256: str | None, allow_old: bool, known: "dict[str, Image]", output: Output
) -> "Callable[[Chip], Image]":
    """What gives the image for a chip, and notes it in `known`. A file is read at once: raises BoardError."""
    from dcka.boards.fetch import fetch_image
    from dcka.boards.images import check_digest, check_version, read_image

    given = read_image(file) if file is not None else None
    if given is not None and sha256 is not None:
        check_digest(given, sha256)

    def accepted(image: "Image") -> "Image":
        if not allow_old:
            check_version(image)
        return image

    def image_for(chip: "Chip") -> "Image":
        if not chip.wifi:
            output.say(f"warning: an {chip.title} has no Wi-Fi of its own; it cannot join a network of nodes")
        image = given
        if image is None:
            fetched = fetch_image(chip, sha256=sha256)
            image = accepted(fetched.image)
            source = "fetched" if fetched.loaded else "from the cache"
            output.say(f"{image.name}, {source}: {_PROOFS[fetched.proof]}")
        known[chip.name] = image
        return image

    if given is not None:
        accepted(given)
    return image_for


def _report(
    outcomes: "Sequence[FlashOutcome]", images: "dict[str, Image]", wall_s: float, output: Output
) -> int:
    failed = [outcome for outcome in outcomes if not outcome.ok]
    names = ("port", "chip", "mac", "ok", "verified", "seconds", "baud", "error")
    record = {
        "boards": [{name: getattr(outcome, name) for name in names} for outcome in outcomes],
        "flashed": len(outcomes) - len(failed),
        "failed": len(failed),
        "images": {
            chip: {"name": image.name, "micropython": image.version_text, "sha256": image.sha256}
            for chip, image in images.items()
        },
        "wall_s": wall_s,
    }
    if output.json_mode:
        output.result(record)
    elif len(outcomes) > len(failed) or len(outcomes) > 1:
        _show(outcomes, images, wall_s)
    for error in dict.fromkeys(outcome.error for outcome in failed):  # no image: once, not for each board
        output.say(f"dcka: {error}")
    return failed[0].exit_code if failed else 0


def _show(outcomes: "Sequence[FlashOutcome]", images: "dict[str, Image]", wall_s: float) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("port", "chip", "MAC", "MicroPython", "baud", "seconds", "result"):
        table.add_column(name, justify="right" if name in ("baud", "seconds") else "left", no_wrap=True)
    for outcome in outcomes:
        image = images.get(outcome.chip or "")
        table.add_row(
            Text(outcome.port),
            outcome.chip or "-",
            outcome.mac or "-",
            image.version_text if image is not None and outcome.ok else "-",
            str(outcome.baud or "-"),
            f"{outcome.seconds:.1f}" if outcome.ok else "-",
            Text("verified", style="green") if outcome.ok else Text("failed", style="red"),
        )
    console = Console(highlight=False)
    console.print(table)
    flashed = sum(outcome.ok for outcome in outcomes)
    console.print(f"{flashed} of {len(outcomes)} boards flashed in {wall_s:.1f} s")


@contextlib.contextmanager
def progress_bars(output: Output, ports: Sequence[str]) -> "Iterator[OnProgress | None]":
    """A bar for each board on a terminal; nothing elsewhere."""
    if not output.console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[phase]:<10}"),
        BarColumn(),
        DownloadColumn(),
    )
    with Bars(*columns, console=output.console, transient=True) as bars:
        tasks = {port: bars.add_task(port, total=None, phase="waiting") for port in ports}

        def tell(port: str, progress: "Progress") -> None:
            total = progress.total or None
            bars.update(tasks[port], completed=progress.done, total=total, phase=progress.phase)

        yield tell
