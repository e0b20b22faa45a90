"""The ROM bootloader of an emulated board: esp32-mock-bootloader's server on our line, with this board's flash and MAC.

The server comes as one blocking call for one client, so it runs in a thread; it imports esptool, which takes a fifth of
a second, so it is imported when it is needed first, or when `prepare` says that it will be.
"""

import contextlib
import importlib
import mmap
import queue
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from esp32_mock_bootloader.server import FlashImage  # type: ignore[import-untyped]

SYNC = b"\x07\x07\x12\x20\x55\x55\x55\x55"
"""The begin of what esptool sends until a bootloader answers, after the command's header of 8 bytes."""
_BEGIN = b"\xc0"
_SERVER = "esp32_mock_bootloader.server"
_BLOCK_HEADER = struct.Struct("<IIII")


def find_sync(content: bytes) -> int:
    """Where a SYNC frame begins in what a client has sent; -1 where there is none."""
    place = content.find(SYNC)
    return max(0, content.rfind(_BEGIN, 0, place)) if place >= 0 else -1


def prepare() -> None:
    """Import what the bootloader needs, beside all else: under load a client would give up before that is done."""
    threading.Thread(target=importlib.import_module, args=(_SERVER,), name="rom import", daemon=True).start()


class Rom:
    """One stay in the bootloader. `send` is called from its thread with what it answers."""

    def __init__(
        self,
        chip: str,
        mac: str,
        flash: Path,
        send: Callable[[bytes], None],
        flip: int | None = None,
    ) -> None:
        self._link = _Link(send)
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._serve, args=(chip, mac, flash, flip), name="rom", daemon=True
        )
        self._thread.start()

    def feed(self, content: bytes) -> None:
        """What came over the line."""
        self._link.arrived.put(content)

    def leave(self) -> None:
        """The reset: wait until what was sent before is in the flash."""
        self._link.arrived.put(b"")
        self._thread.join()

    def _serve(self, chip: str, mac: str, flash: Path, flip: int | None) -> None:
        from esp32_mock_bootloader import protocol, registers, server  # type: ignore[import-untyped]

        # One process is one board. Without a place for it in its API, the MAC is set where it makes one up.
        registers.mac_bytes_for_chip = lambda _chip: tuple(int(part, 16) for part in mac.split(":"))
        registers.rom_profile.cache_clear()
        size = flash.stat().st_size
        protocol.MOCK_FLASH_ID = (size.bit_length() - 1) << 16 | protocol.MOCK_FLASH_ID & 0xFFFF
        with _mapped(flash) as content:
            server.handle_client(
                self._link,
                self._stop,
                chip,
                exit_on_disconnect=True,
                flash=_flash_image(server, content, flip),
            )


class _Link:
    """The line as the server asks for it."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self.arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.sendall = send
        self._timeout = 0.0

    def set_timeout(self, timeout: float) -> None:
        self._timeout = timeout

    def recv(self, _size: int) -> bytes:
        """What has come, b"" for the reset. Raises the server's timeout."""
        try:
            return self.arrived.get(timeout=self._timeout)
        except queue.Empty:
            raise TimeoutError from None

    def close(self) -> None:
        pass  # the line is the board's

    def ignore_eof_for_disconnect(self) -> bool:
        return False

    def abort_empty_session(self) -> bool:
        return False


@contextlib.contextmanager
def _mapped(file: Path) -> Iterator[mmap.mmap]:
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as content:
        yield content


def _flash_image(server: Any, content: mmap.mmap, flip: int | None) -> "FlashImage":
    """The server's flash, over the board's: it writes byte by byte into memory of its own."""

    class Image(server.FlashImage):  # type: ignore[misc] # the module is only known here
        def __init__(self) -> None:
            self.data = content
            self._defl_offset = self._plain_offset = 0
            self._decompressor: Any = None

        def write_defl_block(self, payload: bytes) -> None:
            if self._decompressor is not None:
                with contextlib.suppress(zlib.error):  # a torn stream: the host's comparison shall tell
                    block = self._decompressor.decompress(_block(payload))
                    self._put(self._defl_offset, block)
                    self._defl_offset += len(block)

        def write_plain_block(self, payload: bytes) -> None:
            block = _block(payload)
            self._put(self._plain_offset, block)
            self._plain_offset += len(block)

        def _put(self, start: int, block: bytes) -> None:
            kept = block[: max(0, len(content) - start)]
            content[start : start + len(kept)] = kept
            if flip is not None and start <= flip < start + len(kept):
                content[flip] ^= 1

    return Image()


def _block(payload: bytes) -> bytes:
    size = _BLOCK_HEADER.unpack_from(payload)[0]
    return payload[_BLOCK_HEADER.size : _BLOCK_HEADER.size + size]
