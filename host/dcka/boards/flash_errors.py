"""What can go wrong while a board is flashed, by names that travel from the worker process to its parent."""

from dcka.boards import errors
from dcka.boards.errors import BoardError


class BoardSwapped(BoardError):
    """On this port there is another board than a moment ago; nothing was written."""


class LinkBroken(BoardError):
    """The board stopped answering while it was written to."""


class NotVerified(BoardError):
    """What is in the flash afterwards is not what was written."""


class FlashTooSmall(BoardError):
    """The flash has no room for what is to be written; nothing was written."""


class BoardLocked(BoardError):
    """The chip's own security (secure boot, flash encryption) forbids it; nothing was written."""


_KINDS: dict[str, type[BoardError]] = {
    kind.__name__: kind
    for kind in (
        *(kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BoardError)),
        BoardSwapped,
        LinkBroken,
        NotVerified,
        FlashTooSmall,
        BoardLocked,
    )
}


def error_of(kind: str, text: str) -> BoardError:
    """The error of the class with this name; a BoardError for a name that is not known."""
    return _KINDS.get(kind, BoardError)(text)
