"""Files onto a board: aside first, verified there, then renamed, so that a cut leaves the old file or the new.

A piece travels as base64 in a call that raw-paste mode takes: 4 bytes for 3, where a literal needs up to 4 for 1.
"""

import errno
import hashlib
import re
from binascii import b2a_base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from dcka.boards import board_code
from dcka.boards.errors import BoardError
from dcka.boards.repl import BoardRaised, Repl

Progress = Callable[[int, int], None]
"""Called with the bytes that are there, and how many there will be."""

# A piece is in the heap four times while it is read: as text, as a constant, decoded, and what reading took.
_MAX_PIECE = 3072
_MIN_PIECE = 192
_HEAP_PARTS = 12
# What is on flash for sure, should the power fail in a long file that can be resumed.
_FLUSH_BYTES = 24 * 1024
# LittleFS: pointers take some bytes of each block; a folder takes two blocks, and so does a file's name at worst.
_POINTER_BYTES = 8
_FOLDER_BLOCKS = 2
_SPARE_BLOCKS = 4
# Silence that is none: a board writes and hashes some 100 KB in a second.
_SLOWEST_BYTES_S = 50_000
_STEP_S = 10.0
# "OSError: [Errno 17] EEXIST", but "OSError: 28": MicroPython has names for some.
_ERRNO = re.compile(r"OSError: (?:\[Errno )?(\d+)")
_CLOSE = "try:_d_e()\nexcept (NameError,OSError):pass"


class BoardFull(BoardError):
    """The board's flash has no room for it; says how much there is."""


class FileDamaged(BoardError):
    """What the board has stored is not what was sent; its old file is in place."""


@dataclass(frozen=True)
class Room:
    """The board's file system, in bytes."""

    free: int
    total: int
    block: int

    @classmethod
    def of(cls, values: tuple[int, int, int]) -> "Room":
        """Of a block's bytes, all blocks and the free ones, as statvfs has them.

        LittleFS counts blocks that files share more than once: on a full flash the free ones pass below 0, unsigned.
        """
        block, blocks, free = values
        return cls((free if free <= blocks else 0) * block, blocks * block, block)


def put_file(
    repl: Repl, path: str, content: bytes, *, progress: Progress | None = None, resume: bool = False
) -> None:
    """Put `content` at the absolute `path`, in the place of what is there.

    With `resume` a PATH.new that an earlier call left is gone on with, where it is the beginning of `content`.
    Raises BoardFull before the first byte, FileDamaged, and BoardError; the old file is then as it was.
    """
    repl.load(board_code.HELPERS)
    begun = _begun(repl, path, content) if resume else 0
    require_room(repl, {path: content[begun:]})
    send(repl, path, content, progress or _nobody, begun, flush=resume)


def room(repl: Repl) -> Room:
    """Ask for the free space."""
    repl.load(board_code.HELPERS)
    values = repl.value("os.statvfs('/')[1:4]", _STEP_S)
    if not isinstance(values, tuple) or len(values) != 3:
        raise BoardError(f"{repl.port}: the board does not tell its free space, but {values!r}")
    return Room.of(values)


def needed(files: Mapping[str, bytes], block: int) -> int:
    """The bytes of flash that new files take at most, in whole blocks, with their folders."""
    blocks = sum(-(-len(content) // (block - _POINTER_BYTES)) for content in files.values())
    # All above a file: on a new version's way, none of them is there yet.
    folders = {str(folder) for path in files for folder in PurePosixPath(path).parents}
    return (blocks + len(folders) * _FOLDER_BLOCKS + _SPARE_BLOCKS) * block


def require_room(repl: Repl, files: Mapping[str, bytes]) -> None:
    """Raises BoardFull where the files do not fit beside all that is there: old ones go after the new ones came."""
    there = room(repl)
    need = needed(files, there.block)
    if need > there.free:
        what = next(iter(files)) if len(files) == 1 else f"{len(files)} new files"
        raise BoardFull(
            f"{repl.port}: {what} need {_kilo(need)} of flash, and {_kilo(there.free)} of {_kilo(there.total)} "
            f"are free; nothing was sent. Remove files that are not dcka's from the board, or use one with more flash"
        )


def send(
    repl: Repl,
    path: str,
    content: bytes,
    progress: Progress = lambda done, total: None,
    begun: int = 0,
    flush: bool = False,
) -> None:
    """As `put_file`, without looking at the free space; goes on from `begun`."""
    repl.load(board_code.HELPERS)
    repl.load(board_code.WRITE)
    size = _piece_bytes(repl)
    while True:
        try:
            _send_pieces(repl, path, content, size, progress, begun, flush)
            return
        except BoardRaised as error:
            if "MemoryError" not in error.last or size <= _MIN_PIECE:
                raise _explained(repl, path, error) from None
            # A heap in crumbs: once more from the start, in smaller pieces. The open file would be written over later.
            size, begun = max(_MIN_PIECE, size // 2 // 3 * 3), 0
            repl.run(_CLOSE)


def copy(repl: Repl, source: str, path: str, content: bytes) -> None:
    """Put `content`, which the board has at `source`, at `path`, on the board. Raises as `send`."""
    repl.load(board_code.HELPERS)
    repl.load(board_code.COPY)
    try:
        _judge(
            repl,
            path,
            content,
            repl.run(f"_d_c({source!r},{path!r})\n{_adoption(path, content)}", _patience(content)),
        )
    except BoardRaised as error:
        raise _explained(repl, path, error) from None


def digest(content: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def _send_pieces(
    repl: Repl, path: str, content: bytes, size: int, progress: Progress, begun: int, flush: bool
) -> None:
    """Opening, writing and ending share a call where the file is small: a call takes longer than a KB does."""
    calls = [f"_d_o({path + '.new'!r},{'ab' if begun else 'wb'!r})"]
    done, flushed = begun, begun
    while done < len(content):
        piece = content[done : done + size]
        done += len(piece)
        keep = flush and done - flushed >= _FLUSH_BYTES
        flushed = done if keep else flushed
        calls.append(f"_d_w({b2a_base64(piece, newline=False)!r},{int(keep)})")
        if done < len(content):
            repl.run("\n".join(calls), _STEP_S)
            calls = []
            progress(done, len(content))
    calls += ["_d_e()", _adoption(path, content)]
    _judge(repl, path, content, repl.run("\n".join(calls), _patience(content)))
    progress(len(content), len(content))


def _adoption(path: str, content: bytes) -> str:
    return f"print(repr(_d_v({path!r},{len(content)},{digest(content)!r})))"


def _judge(repl: Repl, path: str, content: bytes, said: str) -> None:
    if said.strip() != "None":
        raise FileDamaged(
            f"{repl.port}: {path} arrived damaged: its SHA-256 is not that of the {len(content)} bytes that were sent. "
            f"The old file is in place; try again, with another cable if need be"
        )


def _explained(repl: Repl, path: str, error: BoardRaised) -> BoardError:
    """What a board says where a file can't be written, in words for a person; what was begun is taken away."""
    found = _ERRNO.search(error.last)
    if found and int(found[1]) == errno.ENOSPC:
        repl.run(f"{_CLOSE}\n_d_x({path + '.new'!r})", _STEP_S)
        there = room(repl)
        return BoardFull(
            f"{repl.port}: the flash was full while {path} was written ({_kilo(there.free)} of {_kilo(there.total)} "
            f"are free); the old file is in place. Remove files that are not dcka's from the board"
        )
    return BoardError(f"{repl.port}: {path} cannot be written: the board raised {error.last}")


def _begun(repl: Repl, path: str, content: bytes) -> int:
    """How many bytes of PATH.new are the beginning of `content`."""
    there = repl.value(f"_d_h({path + '.new'!r})", _patience(content))
    if not isinstance(there, tuple) or not 0 < there[0] <= len(content):
        return 0
    return int(there[0]) if there[1] == digest(content[: there[0]]) else 0


def _piece_bytes(repl: Repl) -> int:
    """A multiple of 3, which base64 does not have to pad."""
    free = repl.value("(gc.collect(),gc.mem_free())[1]")
    size = int(free) // _HEAP_PARTS if isinstance(free, int) else _MIN_PIECE
    return max(_MIN_PIECE, min(_MAX_PIECE, size // 3 * 3))


def _patience(content: bytes) -> float:
    """How long the board may be silent over this file, in seconds."""
    return _STEP_S + len(content) / _SLOWEST_BYTES_S


def _nobody(_done: int, _total: int) -> None:
    pass


def _kilo(count: int) -> str:
    return f"{count // 1024:,} KB"
