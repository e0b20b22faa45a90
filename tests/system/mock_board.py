"""A board in its ROM bootloader on a pseudo terminal, with faults: esp32-mock-bootloader behind a port of ours."""

import errno
import os
import select
import struct
import threading
import tty
from typing import Self

from esp32_mock_bootloader import registers, server
from esp32_mock_bootloader.protocol import CMD

IDLE_S = 0.005


class MockBoard:
    """A chip that answers on `port` as its bootloader would, in a thread; `flash` is what it holds.

    To be set: `mac`; `silent`: it answers nothing; `wrong_md5`: its flash holds another thing than it was sent;
    `unplug_after`: it is gone after so many blocks; `mute_above` (baud) with `mute_after` (blocks): at a greater speed
    it stops answering. To be read: `writes` counts blocks, `erased` whole erasures, `opened` the clients that spoke,
    `bauds` has the speeds that were asked for. A terminal has no reset line: a SYNC among other commands stands for it.
    """

    def __init__(self, chip: str = "esp32", mac: str = "24:0a:c4:00:00:01") -> None:
        self.chip = chip
        self.mac = mac
        self.silent = False
        self.wrong_md5 = False
        self.unplug_after: int | None = None
        self.mute_above: int | None = None
        self.mute_after = 0
        self.writes = 0
        self.erased = 0
        self.opened = 0
        self.bauds: list[int] = []
        self.pending = b""
        """What was said after a reset."""
        self.flash = _Flash(self)
        self._stop = threading.Event()
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self.port = os.ttyname(slave)
        os.close(slave)  # so that a client that closes the port is seen
        self._plugged = True
        self._thread = threading.Thread(target=self._serve, name=f"mock board {self.port}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.unplug()

    def unplug(self) -> None:
        """The port is gone."""
        if self._plugged:
            self._plugged = False
            os.close(self._master)

    def holds(self, offset: int, data: bytes) -> bool:
        """Whether the flash has `data` at `offset`."""
        return self.flash.read(offset, len(data)) == data

    def _serve(self) -> None:
        while not self._stop.is_set() and self._plugged:
            server.handle_client(
                _Link(self, self._master, self._stop),  # type: ignore[arg-type]
                self._stop,
                self.chip,
                exit_on_disconnect=True,
                flash=self.flash,
            )


class _Flash(server.FlashImage):
    def __init__(self, board: MockBoard) -> None:
        super().__init__()
        self.board = board

    def erase_all(self) -> None:
        self.board.erased += 1
        super().erase_all()

    def write_defl_block(self, payload: bytes) -> None:
        """As the mock does it, in slices: it takes a second for a whole image, byte by byte."""
        length = struct.unpack_from("<I", payload)[0]
        assert self._decompressor is not None
        plain = self._decompressor.decompress(payload[16 : 16 + length])
        self.data[self._defl_offset : self._defl_offset + len(plain)] = plain
        self._defl_offset += len(plain)

    def md5_stub_response(self, payload: bytes, *, stub: bool = False) -> bytes:
        if self.board.wrong_md5:
            address = struct.unpack_from("<I", payload)[0]
            self.data[address] ^= 1
        return super().md5_stub_response(payload, stub=stub)


class _Link:
    """What the mock takes for its connection: one client's time on the pseudo terminal."""

    def __init__(self, board: MockBoard, master: int, stop: threading.Event) -> None:
        self._board = board
        self._master = master
        self._stop = stop
        self._timeout = IDLE_S
        self._spoken = False
        self._muted = False
        self._at_work = False
        self._fused = False
        self._baud = 115200
        self._writes = 0
        self._swallow = 0
        """The answers to come to commands that no client sent."""
        self._partial = bytearray()

    def recv(self, size: int) -> bytes:
        if self._board.pending:
            chunk, self._board.pending = self._board.pending, b""
            return self._taken(chunk)
        ready = select.select([self._master], [], [], self._timeout)[0]
        if not ready:
            raise TimeoutError
        try:
            chunk = os.read(self._master, size)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            if self._spoken:
                return b""
            self._stop.wait(IDLE_S)  # nobody has the port open
            raise TimeoutError from error
        return self._taken(chunk)

    def _taken(self, chunk: bytes) -> bytes:
        """What the mock gets of what the client said; nothing where the client has reset the board."""
        self._spoken = True
        for command, value in self._commands(chunk):
            if command == CMD["SYNC"] and self._at_work:
                self._board.pending = chunk
                return b""
            self._at_work |= command != CMD["SYNC"]
            self._notice(command, value)
        if self._board.silent or self._muted:
            raise TimeoutError
        if self._fused:
            return chunk
        self._fused = True
        self._board.opened += 1
        fuses = self._fuse_commands()
        self._swallow = fuses.count(b"\xc0") // 2
        return fuses + chunk

    def sendall(self, data: bytes) -> None:
        if self._swallow:
            self._swallow -= 1
        else:
            os.write(self._master, data)

    def set_timeout(self, timeout: float) -> None:
        self._timeout = timeout

    def close(self) -> None:
        """The port outlives its clients."""

    def ignore_eof_for_disconnect(self) -> bool:
        return False

    def abort_empty_session(self) -> bool:
        return False

    def _fuse_commands(self) -> bytes:
        """The commands that write the MAC where this chip has it, as the mock's own are the same for all boards."""
        mac = tuple(int(part, 16) for part in self._board.mac.split(":"))
        return b"".join(
            server.slip_encode(
                struct.pack("<BBHI", 0, CMD["WRITE_REG"], 16, 0)
                + struct.pack("<4I", address, value, 0xFFFFFFFF, 0)
            )
            for address, value in registers._mac_registers(self._board.chip, mac).items()
        )

    def _commands(self, chunk: bytes) -> list[tuple[int, int]]:
        """The commands that end in this chunk, with the first number of each."""
        self._partial += chunk
        *frames, rest = bytes(self._partial).split(b"\xc0")
        self._partial = bytearray(rest)
        plain = [frame.replace(b"\xdb\xdc", b"\xc0").replace(b"\xdb\xdd", b"\xdb") for frame in frames]
        return [
            (frame[1], struct.unpack_from("<I", frame, 8)[0])
            for frame in plain
            if len(frame) >= 12 and frame[0] == 0
        ]

    def _notice(self, command: int, value: int) -> None:
        board = self._board
        if command == CMD["CHANGE_BAUDRATE"]:
            self._baud = value
            board.bauds.append(value)
        if command != CMD["FLASH_DEFL_DATA"] and command != CMD["FLASH_DATA"]:
            return
        board.writes += 1
        self._writes += 1
        too_fast = board.mute_above is not None and self._baud > board.mute_above
        self._muted |= too_fast and self._writes > board.mute_after
        if board.unplug_after is not None and board.writes > board.unplug_after:
            board.unplug()
            self._stop.set()
            raise OSError(errno.ENODEV, "unplugged")
