"""Serial ports: which there are, which are meant, and whether one can be had.

A port is only ever opened here without waiting and without touching DTR and RTS: on most boards those two lines
are the reset button and the BOOT button. (The kernel raises both as it opens a port. On a board with the usual
circuit of two transistors both together do nothing; a board that wires DTR straight to reset restarts, and no
program can prevent that.)
"""

import errno
import fcntl
import grp
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from serial.tools import list_ports  # type: ignore[import-untyped]

from dcka.boards.errors import BoardError, PortBusy, PortForbidden, PortMissing
from dcka.errors import UsageError

PORTS_VARIABLE = "DCKA_PORTS"
"""Environment variable: paths, with the system's separator between them, of ports that the system does not list."""

_TIOCGEXCL = 0x80045440  # linux/tty.h: whether somebody has claimed the port for themselves; not in termios
_GONE = (errno.ENOENT, errno.ENXIO, errno.ENODEV)
_HELD = (errno.EBUSY, errno.EAGAIN)
_LSOF_S = 5.0

Opener = Callable[[str, int], int]


@dataclass(frozen=True)
class PortInfo:
    """A serial port. `usb` is what its adapter calls itself, "" where that is not known; `serial` and `location`
    (bus and socket, such as "1-2.3") are the adapter's."""

    path: str
    usb: str = ""
    vid: int | None = None
    pid: int | None = None
    serial: str | None = None
    location: str | None = None

    def __str__(self) -> str:
        return f"{self.path} ({self.usb})" if self.usb else self.path


def find_ports() -> list[PortInfo]:
    """The ports of USB adapters and those of DCKA_PORTS, each once, in the order of their names; none is opened."""
    found = [_described(port) for port in list_ports.comports() if port.vid is not None]
    named = os.environ.get(PORTS_VARIABLE, "").split(os.pathsep)
    found += [PortInfo(path) for path in named if path]
    return sorted(_unique(found), key=lambda port: _natural(port.path))


def chosen_ports(ports: Sequence[str], all_: bool) -> list[PortInfo]:
    """What `--port` (repeated) or `--all` means; none is opened.

    Raises UsageError for both and for neither, with the ports that there are; PortMissing for --all without any.
    """
    if ports and all_:
        raise UsageError("--port and --all exclude each other: leave one of them out")
    found = find_ports()
    if all_ and not found:
        raise PortMissing(f"no board: {_listed(found)}")
    if all_:
        return found
    if not ports:
        raise UsageError(f"say which board is meant, with --port PATH or --all; {_listed(found)}")
    known = {os.path.realpath(port.path): port for port in found}
    return list(_unique(known.get(os.path.realpath(path), PortInfo(path)) for path in ports))


def check_port(path: str, opener: Opener = os.open) -> None:
    """Open the port for a moment and close it, to know that it can be had.

    Raises PortMissing, PortBusy (naming the holder where the system tells), PortForbidden, or BoardError for what is
    no serial port; each says what to do. Busy is seen however the other program has claimed the port, with a lock
    (pyserial, esptool, mpremote) or with TIOCEXCL (screen, picocom); one that claims nothing is not seen.
    """
    try:
        descriptor = opener(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        raise _refused(path, error) from error
    try:
        if not os.isatty(descriptor):
            raise BoardError(f"{path} is no serial port: `dcka board list` shows those that there are")
        if _is_claimed(descriptor):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        os.close(descriptor)  # and with it the lock


def holder(path: str) -> str | None:
    """The other program that has the port open, as "minicom (pid 123)"; None where none is seen.

    Another user's programs are seen by root alone.
    """
    real = os.path.realpath(path)
    if Path("/proc/self/fd").is_dir():
        return next(_holders_in_proc(real), None)
    return _holder_by_lsof(real)


def _described(port: object) -> PortInfo:
    """pyserial's record of a port, in ours."""
    values = vars(port)
    maker, product = values["manufacturer"], values["product"]
    name = product or (values["description"] if values["description"] != "n/a" else "") or ""
    if maker and maker.lower() not in name.lower():
        name = f"{name}, {maker}" if name else maker
    return PortInfo(
        values["device"], name, values["vid"], values["pid"], values["serial_number"], values["location"]
    )


def _unique(ports: Iterable[PortInfo]) -> Iterator[PortInfo]:
    """Each device once, by the first of its names."""
    seen: set[str] = set()
    for port in ports:
        real = os.path.realpath(port.path)
        if real not in seen:
            seen.add(real)
            yield port


def _natural(path: str) -> list[tuple[int, str]]:
    """A key that puts ttyUSB9 before ttyUSB10."""
    return [(int(digits or -1), text) for text, digits in re.findall(r"([^0-9]*)([0-9]*)", path)]


def _listed(ports: Sequence[PortInfo]) -> str:
    if ports:
        return f"there are {', '.join(str(port) for port in ports)}"
    return (
        "this computer sees no USB serial port; plug one in with a cable that carries data "
        "(`dcka board doctor` helps), or name others in DCKA_PORTS"
    )


def _is_claimed(descriptor: int) -> bool:
    """Whether somebody set TIOCEXCL. Root could open the port in spite of it, hence this question."""
    if sys.platform != "linux":
        return False
    try:
        answer = fcntl.ioctl(descriptor, _TIOCGEXCL, b"\0" * 4)
    except OSError:  # a driver that does not know the question: opening has answered it, but for root
        return False
    return bool(struct.unpack("i", answer)[0])


def _refused(path: str, error: OSError) -> BoardError:
    """The error for a person, by errno."""
    if error.errno in _GONE:
        return PortMissing(
            f"there is no port {path}: is the board plugged in? `dcka board list` shows the ports"
        )
    if error.errno in _HELD:
        who = holder(path) or "another program"
        return PortBusy(f"{path} is in use by {who}: close that, then try again")
    if error.errno in (errno.EACCES, errno.EPERM):
        return PortForbidden(f"you may not open {path}: {_permission(path)}")
    if error.errno == errno.EIO:
        return BoardError(f"{path} does not answer the system ({error.strerror}): plug the board in anew")
    return BoardError(f"{path} cannot be opened: {error.strerror}")


def _permission(path: str) -> str:
    """What a person has to do to be let in."""
    try:
        status = os.stat(path)
        group = grp.getgrgid(status.st_gid).gr_name
    except (OSError, KeyError):
        return "ask the administrator of this computer for access to serial ports"
    if status.st_mode & 0o060 == 0o060 and group not in ("root", "wheel"):
        return f"it is for the group {group}. Join it with: sudo usermod -aG {group} $USER, then log out and in again"
    return f"it is for its owner alone, not for a group such as dialout; for now: sudo chmod a+rw {path}"


def _holders_in_proc(real: str) -> Iterator[str]:
    """Other processes with `real` open, as Linux knows them."""
    for folder in Path("/proc").glob("[0-9]*"):
        if int(folder.name) == os.getpid():
            continue
        try:
            is_open = any(os.readlink(link) == real for link in (folder / "fd").iterdir())
            name = (folder / "comm").read_text().strip() if is_open else ""
        except OSError:  # ended meanwhile, or another user's
            continue
        if is_open:
            yield f"{name} (pid {folder.name})"


def _holder_by_lsof(real: str) -> str | None:
    """The same on macOS, whose lsof needs no privilege for one's own programs."""
    lsof = shutil.which("lsof", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if lsof is None:
        return None
    try:
        answer = subprocess.run(
            [lsof, "-F", "pc", "--", real], capture_output=True, text=True, timeout=_LSOF_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    pid = ""
    for line in answer.stdout.splitlines():
        if line[:1] == "p":
            pid = line[1:]
        elif line[:1] == "c" and pid != str(os.getpid()):
            return f"{line[1:]} (pid {pid})"
    return None
