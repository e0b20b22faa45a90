"""A whole board in one go: MicroPython, and a file system with firmware, configuration and data, written by esptool."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dcka.boards.broker_choice import is_pty
from dcka.boards.errors import BoardError
from dcka.boards.filesystem import BLOCK_BYTES, build_littlefs
from dcka.boards.flash_ports import ImageFor, refused
from dcka.boards.flashing import (
    PARALLEL,
    Detected,
    FlashJob,
    FlashOutcome,
    OnProgress,
    Progress,
    detect_all,
    flash_boards,
)
from dcka.boards.images import Image, ImageError, check_chip
from dcka.boards.versions import Version
from dcka.emulation.build import NO_NATIVE_CODE, host_march
from dcka.errors import DckaError

Parts = list[tuple[int, bytes]]
"""(address in the flash, content)."""


# esptool asks and answers a few times for each part; erasing so much takes as long.
_GAP_BYTES = 64 * 1024


@dataclass(frozen=True)
class Written:
    """What became of one board. `version`: what is on it, where it got so far; `image`: its MicroPython."""

    outcome: FlashOutcome
    version: Version | None = None
    image: Image | None = None


def native_march(chip_march: str, port: str) -> str | None:
    """What the board's MicroPython runs: the chip's native code; an emulated board's, this computer's. None: none."""
    march = host_march() if is_pty(port) else chip_march
    return None if march == NO_NATIVE_CODE else march


def parts_for(image: Image, version: Version, flash_bytes: int) -> Parts:
    """What to write to a flash of `flash_bytes`: the image, and the file system with all files of `version`.

    Long stretches that hold nothing are left out: LittleFS erases a block before it uses it. Raises FilesystemError
    where the files have no room, ImageError where the image leaves none, or where it is not known how much.
    """
    if not flash_bytes and not any(partition.name in ("vfs", "ffat") for partition in image.partitions):
        raise ImageError(
            f"{image.name}: its file system takes all the flash that is left, and the board does not tell how much "
            f"flash it has: flash MicroPython with dcka board flash, then use dcka board provision"
        )
    address, size = image.file_system(flash_bytes)
    content = build_littlefs(version.tree(), size // BLOCK_BYTES * BLOCK_BYTES)
    return [
        (image.offset, image.data),
        *((address + start, piece) for start, piece in used_stretches(content)),
    ]


def used_stretches(content: bytes) -> Parts:
    """The stretches of blocks that are not blank (0xFF), those with short gaps in between as one."""
    blank = b"\xff" * BLOCK_BYTES
    used = [
        start
        for start in range(0, len(content), BLOCK_BYTES)
        if content[start : start + BLOCK_BYTES] != blank[: len(content) - start]
    ]
    stretches: list[tuple[int, int]] = []
    for start in used:
        if stretches and start - stretches[-1][1] <= _GAP_BYTES:
            stretches[-1] = stretches[-1][0], start + BLOCK_BYTES
        else:
            stretches.append((start, start + BLOCK_BYTES))
    return [(start, content[start:end]) for start, end in stretches]


def in_one_piece(parts: Sequence[tuple[int, bytes]]) -> bytes:
    """The parts as one file, to be written at the address of the first; 0xFF in between. They must not overlap."""
    start = min(address for address, _ in parts)
    whole = bytearray()
    for address, content in sorted(parts):
        if address - start < len(whole):
            raise ImageError(f"two parts of the image overlap at {address:#x}")
        whole += b"\xff" * (address - start - len(whole)) + content
    return bytes(whole)


def install(
    ports: Sequence[str],
    image_for: ImageFor,
    versions_for: Callable[[Sequence[Detected]], Mapping[str, Version | DckaError]],
    *,
    erase: bool = False,
    parallel: int = PARALLEL,
    on_progress: OnProgress | None = None,
) -> list[Written]:
    """Write a whole board to each port; what became of each, in their order. What is written is verified.

    `image_for`: the MicroPython for a chip; may raise DckaError, which then stands for all boards with this chip.
    `versions_for`: called once with the boards that answered; MAC → the version for it, or what is wrong with it. What
    goes wrong with one board does not stop the others. Main thread only.
    """
    tell = on_progress or (lambda port, progress: None)
    for port in ports:
        tell(port, Progress("connecting", 0, 0))
    found = dict(zip(ports, detect_all(ports, parallel), strict=True))
    boards = [board for board in found.values() if isinstance(board, Detected)]
    images = _images(boards, image_for)
    versions = versions_for(boards) if boards else {}
    results: dict[str, Written] = {}
    jobs: dict[str, tuple[FlashJob, Version, Image]] = {}
    for port, board in found.items():
        try:
            jobs[port] = _job(port, board, images, versions, erase)
        except DckaError as error:
            results[port] = Written(refused(port, board, error))
            tell(port, Progress("failed", 0, 0))
    outcomes = flash_boards([job for job, _, _ in jobs.values()], parallel, on_progress)
    for outcome in outcomes:
        _, version, image = jobs[outcome.port]
        results[outcome.port] = Written(outcome, version, image)
    return [results[port] for port in ports]


def _images(boards: Iterable[Detected], image_for: ImageFor) -> dict[str, Image | DckaError]:
    """By the chip's name: the image, or why there is none."""
    images: dict[str, Image | DckaError] = {}
    for board in boards:
        if board.chip.name not in images:
            try:
                images[board.chip.name] = image_for(board.chip)
            except DckaError as error:
                images[board.chip.name] = error
    return images


def _job(
    port: str,
    board: Detected | BoardError,
    images: Mapping[str, Image | DckaError],
    versions: Mapping[str, Version | DckaError],
    erase: bool,
) -> tuple[FlashJob, Version, Image]:
    """What is to be written to a board. Raises what is wrong with it."""
    if isinstance(board, BoardError):
        raise board
    image, version = images[board.chip.name], versions[board.mac]
    if isinstance(image, DckaError):
        raise image
    if isinstance(version, DckaError):
        raise version
    check_chip(image, board.chip, port)
    parts = parts_for(image, version, board.flash_bytes)
    return FlashJob(port, parts, board.chip.name, board.mac, erase=erase), version, image
