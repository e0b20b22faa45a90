"""MicroPython onto the boards on some ports: each is asked for its chip, and gets the image for it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from dcka.boards.chips import Chip
from dcka.boards.errors import BoardError
from dcka.boards.flashing import (
    BAUDS,
    PARALLEL,
    Detected,
    FlashJob,
    FlashOutcome,
    OnProgress,
    Progress,
    detect_all,
    flash_boards,
)
from dcka.boards.images import Image, check_chip
from dcka.errors import DckaError

ImageFor = Callable[[Chip], Image]


def flash_ports(
    ports: Sequence[str],
    image_for: ImageFor,
    *,
    erase: bool = False,
    bauds: Sequence[int] = BAUDS,
    parallel: int = PARALLEL,
    on_progress: OnProgress | None = None,
) -> list[FlashOutcome]:
    """Flash every board that can be; how each port went, in their order.

    `image_for` is asked once for each chip that is there, and may raise DckaError: then no board with that chip is
    flashed. A board with another chip than the image's is left as it is. The others are as `flash_boards` has them,
    and their MAC has to be the one that was detected. Main thread only.
    """
    tell = on_progress or (lambda port, progress: None)
    for port in ports:
        tell(port, Progress("connecting", 0, 0))
    found = detect_all(ports, parallel)
    images: dict[Chip, Image | DckaError] = {}
    jobs: list[FlashJob] = []
    outcomes: dict[str, FlashOutcome] = {}
    for port, board in zip(ports, found, strict=True):
        job = _job(port, board, images, image_for)
        if isinstance(job, FlashJob):
            jobs.append(replace(job, erase=erase, bauds=bauds))
        else:
            outcomes[port] = refused(port, board, job)
            tell(port, Progress("failed", 0, 0))
    outcomes |= {outcome.port: outcome for outcome in flash_boards(jobs, parallel, on_progress)}
    return [outcomes[port] for port in ports]


def slower_than(baud: int) -> tuple[int, ...]:
    """`baud`, and those of the usual speeds that are slower."""
    return (baud, *(usual for usual in BAUDS if usual < baud))


def _job(
    port: str, board: Detected | BoardError, images: dict[Chip, Image | DckaError], image_for: ImageFor
) -> FlashJob | DckaError:
    """What is to be done with a board, or why nothing is."""
    if isinstance(board, BoardError):
        return board
    if board.chip not in images:
        try:
            images[board.chip] = image_for(board.chip)
        except DckaError as error:
            images[board.chip] = error
    image = images[board.chip]
    if isinstance(image, DckaError):
        return image
    try:
        check_chip(image, board.chip, port)
    except BoardError as error:
        return error
    return FlashJob(port, [(image.offset, image.data)], board.chip.name, board.mac)


def refused(port: str, board: Detected | BoardError, error: DckaError) -> FlashOutcome:
    """The outcome of a board that was not written to, and why."""
    known = board if isinstance(board, Detected) else None
    return FlashOutcome(
        port=port,
        chip=known.chip.name if known else None,
        mac=known.mac if known else None,
        ok=False,
        verified=False,
        seconds=0.0,
        baud=None,
        error=str(error),
        exit_code=error.exit_code,
    )
