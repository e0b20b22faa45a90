"""What can be wrong with a board or its port. The exit codes tell a script which it was."""

from dcka.errors import DckaError


class BoardError(DckaError):
    """A board, its port or its files are not as they have to be; names the port."""


class PortMissing(BoardError):
    """There is no such port."""

    exit_code = 3


class PortBusy(BoardError):
    """Another program has the port open; named where the system tells."""

    exit_code = 4


class PortForbidden(BoardError):
    """The user may not open the port."""

    exit_code = 5


class BoardSilent(BoardError):
    """The port is open, and nothing that we understand answers."""

    exit_code = 6


class WrongChip(BoardError):
    """The image or the firmware is for another chip."""

    exit_code = 7
