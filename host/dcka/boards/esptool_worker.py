"""The process that speaks to a board's bootloader: `python -m dcka.boards.esptool_worker REQUEST`.

esptool is a program of its own, under the GPL, with one log and one configuration for a whole process. It is
imported here and nowhere else, and each board has a process of its own.

REQUEST is JSON: `do` is "detect" or "flash"; `port`; `attempts`, how often to try to reach the bootloader. For "flash"
further: `parts`, a list of [address in the flash, file]; `chip` and `mac`, what the board has to be, or null; `erase`;
`bauds`, the speeds to try in turn, fastest first.

Answers are lines of JSON on stdout with a key `event`:

    opened                                the port is open, the board is being asked
    connected chip title image mac flash  `flash` in bytes, 0 where it is not known
    erasing baud
    writing baud done total               bytes of all parts
    verifying baud
    slower baud why                       it broke off; begun afresh at this speed
    done baud                             written, verified, restarted ("flash"), or restarted ("detect")
    error kind text                       the end; `kind` is the name of a class of `flash_errors`

The exit code is 0 after `done`, 1 after `error`; anything else is a fault of ours, with a traceback on stderr.
"""

import json
import os
import re
import struct
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import serial  # type: ignore[import-untyped]
from esptool import (  # type: ignore[import-untyped]
    attach_flash,
    detect_chip,
    detect_flash_size,
    erase_flash,
    run_stub,
    verify_flash,
    write_flash,
)
from esptool.logger import TemplateLogger, log  # type: ignore[import-untyped]
from esptool.util import FatalError, flash_size_bytes  # type: ignore[import-untyped]

from dcka.boards.chips import chip_named
from dcka.boards.errors import BoardError, BoardSilent, WrongChip
from dcka.boards.flash_errors import BoardLocked, BoardSwapped, FlashTooSmall, LinkBroken, NotVerified
from dcka.boards.ports import check_port

ROM_BAUD = 115200
_FAILURES = (FatalError, OSError, termios.error)  # pyserial's own exception is an OSError
_MISMATCH = ("MD5 of file", "Verification failed", "Write failed, the written")
_LOCKED = ("Secure Boot", "encrypt", "security features", "Secure Download")
_TEXT_BYTES = 2000  # a line of output that is longer is cut, and then no JSON

Parts = list[tuple[int, bytes]]


def emit(event: str, **values: object) -> None:
    """One line for the parent."""
    sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
    sys.stdout.flush()


class Log(TemplateLogger):  # type: ignore[misc]
    """esptool's words go nowhere, its progress becomes events, a thousandth at a time at most."""

    def __init__(self) -> None:
        self.baud = 0
        self.total = 0
        self.before = 0
        """Bytes of the parts that are written already."""
        self.part = 0
        """Bytes of the part that is being written."""
        self._last = -1

    @property
    def begun(self) -> bool:
        """Whether anything was written, at whatever speed."""
        return self._last >= 0

    def progress_bar(
        self, cur_iter: int, total_iters: int, prefix: str = "", suffix: str = "", bar_length: int = 30
    ) -> None:
        """`cur_iter` of `total_iters` compressed bytes of the present part are sent."""
        done = self.before + self.part * cur_iter // max(1, total_iters)
        if done * 1000 // self.total != self._last:
            self._last = done * 1000 // self.total
            emit("writing", baud=self.baud, done=done, total=self.total)

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def note(self, message: str) -> None:
        """Nothing."""

    def warning(self, message: str) -> None:
        """Nothing."""

    def error(self, message: str) -> None:
        """Nothing: what ends the work comes as an exception too."""

    def stage(self, finish: bool = False) -> None:
        """Nothing."""

    def set_verbosity(self, verbosity: str) -> None:
        """Nothing."""


@contextmanager
def connected(port: str, attempts: int) -> Iterator[Any]:
    """esptool's object for the board on `port`, in its bootloader; the port is closed at the end of the block.

    Raises what `check_port` does, and BoardSilent where nothing answers.
    """
    check_port(port)
    emit("opened")
    # Opened here and not by esptool, which leaves it open where nothing answers: we would find it in use by ourselves.
    line = None
    try:
        line = serial.serial_for_url(port, ROM_BAUD, exclusive=True)
        esp = detect_chip(line, ROM_BAUD, connect_attempts=attempts)
    except _FAILURES as error:
        if line is not None:
            line.close()
        check_port(port)  # gone or taken meanwhile?
        raise BoardSilent(_silent(port, str(error))) from error
    try:
        yield esp
    finally:
        line.close()


def _silent(port: str, why: str) -> str:
    if "Wrong boot mode" in why:
        return (
            f"the board on {port} starts its program instead of its bootloader: hold its BOOT button, press RESET, "
            f"let go of BOOT, then try again"
        )
    if "autodetect" in why:
        return f"what answers on {port} is no chip of the ESP32 family that esptool knows ({_short(why)})"
    return (
        f"no ESP32 answers on {port}: use a cable that carries data, or hold the board's BOOT button, press RESET, "
        f"let go of BOOT, and try again"
    )


def describe(esp: Any, port: str) -> dict[str, Any]:
    """What the board is; emitted as `connected`. Raises BoardSilent where it stops answering."""
    try:
        attach_flash(esp)
        size = flash_size_bytes(detect_flash_size(esp)) if not esp.secure_download_mode else None
        mac = ":".join(f"{byte:02x}" for byte in esp.read_mac("BASE_MAC"))
    except _FAILURES as error:
        raise BoardSilent(
            f"the board on {port} answered, then no more ({_short(error)}): try again"
        ) from error
    title = esp.CHIP_NAME
    found = {
        "chip": title.lower().replace("-", ""),
        "title": title,
        "image": esp.IMAGE_CHIP_ID if hasattr(esp, "IMAGE_CHIP_ID") else None,
        "mac": mac,
        "flash": size or 0,
    }
    emit("connected", **found)
    return found


def require(found: Mapping[str, Any], esp: Any, request: Mapping[str, Any], parts: Parts) -> None:
    """Refuse, before anything is erased, what the board is not meant for.

    Raises BoardSwapped, WrongChip, FlashTooSmall.
    """
    port, title = request["port"], found["title"]
    if request["mac"] not in (None, found["mac"]):
        raise BoardSwapped(
            f"the board on {port} has the MAC {found['mac']}, a moment ago it was {request['mac']}: boards have "
            f"changed places; nothing was written, call again"
        )
    if request["chip"] not in (None, found["chip"]):
        wanted = chip_named(request["chip"]).title
        raise WrongChip(f"the image is for an {wanted}, and the board on {port} is an {title}")
    for offset, data in parts:
        if offset == esp.BOOTLOADER_FLASH_OFFSET and data[:1] == b"\xe9":
            image = struct.unpack_from("<H", data, 12)[0]
            if image != found["image"]:
                raise WrongChip(
                    f"the image is for the chip with the number {image}, and {port} is an {title}"
                )
        if found["flash"] and offset + len(data) > found["flash"]:
            raise FlashTooSmall(
                f"the board on {port} has {found['flash']} bytes of flash, and {len(data)} at {offset:#x} are too many"
            )


def write(request: Mapping[str, Any], parts: Parts, baud: int, erase: bool, progress: Log) -> None:
    """Connect, check, erase, write, verify, restart, at one speed. Raises LinkBroken where it broke off."""
    with connected(request["port"], request["attempts"]) as esp:
        found = describe(esp, request["port"])
        require(found, esp, request, parts)
        try:
            _write(esp, parts, baud, erase, progress)
        except _FAILURES as error:
            raise _explained(request["port"], baud, progress.begun or erase, error) from error


def _write(esp: Any, parts: Parts, baud: int, erase: bool, progress: Log) -> None:
    esp = run_stub(esp)
    if baud != ROM_BAUD:
        esp.change_baud(baud)
    esp.WRITE_FLASH_ATTEMPTS = 1  # after a break our next, slower attempt begins, not esptool's
    attach_flash(esp)
    if erase:
        emit("erasing", baud=baud)
        erase_flash(esp)
    progress.baud, progress.before = baud, 0
    progress.total = sum(len(data) for _, data in parts)
    for part in parts:
        progress.part = len(part[1])
        write_flash(esp, [part])
        progress.before += progress.part
    emit("verifying", baud=baud)
    verify_flash(esp, parts)
    esp.hard_reset()


def _explained(port: str, baud: int, begun: bool, error: Exception) -> BoardError:
    """esptool's exception, in the classes of this package. `begun`: the old content of the flash is lost."""
    text = _short(error)
    if text.startswith(_MISMATCH):
        return NotVerified(
            f"{port}: the flash does not hold what was written to it ({text}); try again with another cable or hub, "
            f"and if it stays so, the board's flash is worn out"
        )
    if any(word in text for word in _LOCKED):
        return BoardLocked(f"{port}: the chip forbids it: {text}")
    state = "; until it is flashed again the board does not start" if begun else "; nothing was written"
    if not os.path.exists(port):
        return LinkBroken(f"{port} is gone: the cable was pulled, or the board lost its power{state}")
    hint = (
        "try another cable, no hub, or --baud 115200" if baud != ROM_BAUD else "try another cable, and no hub"
    )
    return LinkBroken(f"{port}: writing broke off at {baud} baud ({text}); {hint}{state}")


def _short(error: object) -> str:
    """The first sentence of esptool's words."""
    words = str(error).strip() or type(error).__name__
    return re.split(r"\.\s|\n", words)[0].rstrip(".")


def flash(request: Mapping[str, Any], progress: Log) -> int:
    """Write all parts at the first of the speeds that lasts; that speed. Raises BoardError."""
    parts: Parts = [(offset, Path(file).read_bytes()) for offset, file in request["parts"]]
    broken: LinkBroken | None = None
    for baud in request["bauds"]:
        if broken is not None:
            emit("slower", baud=baud, why=str(broken)[:_TEXT_BYTES])
        try:
            write(request, parts, baud, request["erase"], progress)
        except BoardSilent as error:
            raise broken or error from error
        except LinkBroken as error:
            broken = error
            if not os.path.exists(request["port"]):
                break
        else:
            return int(baud)
    raise broken or ValueError("no speed to try")


def detect(request: Mapping[str, Any]) -> int:
    """Say what the board is, and restart it; the speed. Raises BoardError."""
    with connected(request["port"], request["attempts"]) as esp:
        describe(esp, request["port"])
        try:
            esp.hard_reset()
        except _FAILURES as error:
            raise BoardSilent(f"the board on {request['port']} was unplugged ({_short(error)})") from error
    return ROM_BAUD


def main(arguments: list[str]) -> int:
    """Do what the request says; the exit code."""
    request = json.loads(arguments[0])
    progress = Log()
    log.set_logger(progress)
    try:
        baud = flash(request, progress) if request["do"] == "flash" else detect(request)
    except BoardError as error:
        emit("error", kind=type(error).__name__, text=str(error)[:_TEXT_BYTES])
        return 1
    emit("done", baud=baud)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
