"""Opening a port to listen only: nothing is written, and the board is neither interrupted nor reset."""

import errno
import fcntl
import os
import termios

from dcka.boards.errors import BoardError
from dcka.boards.ports import check_port

BAUD = termios.B115200  # the console of every MicroPython board; USB of the chip's own takes any
READ_BYTES = 4096


class Listener:
    """An open port. It is read-only, so that not even a fault of ours could send something."""

    def __init__(self, path: str) -> None:
        """Raises PortMissing, PortBusy and PortForbidden, and BoardError for what is no serial port."""
        check_port(path)
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError as error:
            raise BoardError(f"{path} cannot be opened: {error.strerror}") from error
        try:
            # The lock that other programs ask for (pyserial's `exclusive`), so that they say who is here.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._set_up()
        except (OSError, termios.error) as error:
            os.close(self._descriptor)
            raise BoardError(f"{path} is no serial port that can be listened to: {error.args[-1]}") from error

    def _set_up(self) -> None:
        """Bytes as they come, at the console's speed.

        The kernel raises DTR and RTS together when a port is opened, which the reset circuit of boards takes for
        nothing; without HUPCL it leaves them so at the end, since one falling before the other would be a reset.
        """
        flags: list[int | list[bytes | int]] = termios.tcgetattr(self._descriptor)
        flags[0] = 0
        flags[1] = 0
        flags[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
        flags[3] = 0
        flags[4] = flags[5] = BAUD
        termios.tcsetattr(self._descriptor, termios.TCSANOW, flags)

    def fileno(self) -> int:
        """For select."""
        return self._descriptor

    def read(self) -> bytes | None:
        """What has come, b"" for nothing yet; None where the port is gone."""
        try:
            return os.read(self._descriptor, READ_BYTES) or None
        except BlockingIOError:
            return b""
        except OSError as error:
            if error.errno in (errno.EIO, errno.ENXIO, errno.ENODEV, errno.EBADF):
                return None
            raise

    def close(self) -> None:
        """Let go of the port; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
