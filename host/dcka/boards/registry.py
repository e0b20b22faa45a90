"""Which board is which node: `.dcka/boards.json`, by MAC, since ports change their names and chips do not."""

import contextlib
import fcntl
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from dcka.boards.errors import BoardError
from dcka.config import State, StateError

FILE = "boards.json"
VERSION = 1
MAX_NODE = 65535  # docs/protocol.md

_LOCK = "boards.lock"
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")

Result = TypeVar("Result")


class RegistryError(BoardError):
    """boards.json is not as it has to be, or has no room for a board; names the file or the board."""


@dataclass(frozen=True)
class Board:
    """A board that was met once.

    `node`: the id that it was given last, None where another board took it over. `port`: where it was last seen,
    None where another board is there now. `serial`: the serial number of its USB port, and `name`: that port's
    name for people, as the system gave them then; "" for none.
    """

    mac: str
    node: int | None = None
    port: str | None = None
    serial: str = ""
    name: str = ""


class Registry:
    """The boards of one state folder. Each call reads the file anew, so that several programs may share it.

    MACs are "aa:bb:cc:dd:ee:ff", in either case. All calls raise RegistryError, or StateError, for a file that is
    damaged, and those that change something StateError where it cannot be written; the file is then as it was.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._threads = threading.RLock()
        self._inside = False

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Within the block no other program, nor another thread, changes the registry; blocks may be nested.

        For what is read here and decides what is written: which id is free, and to whom it is given.
        """
        with self._threads:
            if self._inside:
                yield
                return
            self._state.make_folder(self._state.folder)
            with _flock(self._state.folder / _LOCK):
                self._inside = True
                try:
                    yield
                finally:
                    self._inside = False

    @property
    def file(self) -> Path:
        """boards.json."""
        return self._state.folder / FILE

    def boards(self) -> tuple[Board, ...]:
        """All that are known: those with a node first, in the order of their ids."""
        return _in_order(self._read())

    def board(self, mac: str) -> Board | None:
        """What is known of this board."""
        return self._read().get(_mac(mac))

    def of_node(self, node: int) -> Board | None:
        """The board that has this id."""
        return next((board for board in self._read().values() if board.node == node), None)

    def node_of(self, mac: str) -> int | None:
        """The id that this board was given."""
        board = self.board(mac)
        return board.node if board else None

    def mac_of(self, node: int) -> str | None:
        """The MAC of the board with this id."""
        board = self.of_node(node)
        return board.mac if board else None

    def port_of(self, node: int) -> str | None:
        """Where the board with this id was seen last: a hint, until the board there has told its MAC."""
        board = self.of_node(node)
        return board.port if board else None

    def assign(self, mac: str, node: int) -> str | None:
        """Give the board this id. A board that had it before loses it; its MAC is returned."""
        mac = _mac(mac)
        if isinstance(node, bool) or not 1 <= node <= MAX_NODE:
            raise RegistryError(f"node {node} for board {mac}: ids are 1 to {MAX_NODE}")

        def change(boards: dict[str, Board]) -> str | None:
            before = next((board.mac for board in boards.values() if board.node == node), None)
            if before is not None:
                boards[before] = replace(boards[before], node=None)
            boards[mac] = replace(boards.get(mac, Board(mac)), node=node)
            return before if before != mac else None

        return self._change(change)

    def seen(self, mac: str, port: str, serial: str | None = None, name: str | None = None) -> None:
        """Note where the board is now; whichever was there before has moved. None leaves what is known."""
        mac = _mac(mac)

        def change(boards: dict[str, Board]) -> None:
            for other in list(boards.values()):
                if other.port == port and other.mac != mac:
                    boards[other.mac] = replace(other, port=None)
            known = boards.get(mac, Board(mac))
            boards[mac] = replace(
                known,
                port=port,
                serial=known.serial if serial is None else serial,
                name=known.name if name is None else name,
            )

        self._change(change)

    def forget(self, mac: str) -> None:
        """Drop the board and its id; one that is not known is no error."""
        self._change(lambda boards: boards.pop(_mac(mac), None))

    def _change(self, change: Callable[[dict[str, Board]], Result]) -> Result:
        """Read, change and write under a lock, so that no program writes over what another has just written."""
        with self.alone():
            boards = self._read()
            before = dict(boards)
            result = change(boards)
            if boards != before:
                self._state.write(
                    self.file, {"v": VERSION, "boards": [_record(board) for board in _in_order(boards)]}
                )
            return result

    def _read(self) -> dict[str, Board]:
        record = self._state.read(self.file)
        if record is None:
            return {}
        try:
            if not isinstance(record, dict) or record["v"] != VERSION:
                raise ValueError(f"it is not of version {VERSION}")
            boards = [_board(entry) for entry in record["boards"]]
            for key in ("mac", "node", "port"):
                _require_single(key, [getattr(board, key) for board in boards])
        except (KeyError, TypeError, ValueError) as error:
            raise RegistryError(
                f"{self.file} is damaged ({_why(error)}); put it right, or remove it and run "
                f"dcka board list: it asks the boards that are plugged in who they are"
            ) from error
        return {board.mac: board for board in boards}


@contextlib.contextmanager
def _flock(file: Path) -> Iterator[None]:
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StateError(f"{file} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _mac(text: str) -> str:
    mac = text.lower().replace("-", ":")
    if not _MAC.fullmatch(mac):
        raise RegistryError(f'"{text}" is no MAC; write one as aa:bb:cc:dd:ee:ff')
    return mac


def _in_order(boards: dict[str, Board]) -> tuple[Board, ...]:
    return tuple(sorted(boards.values(), key=lambda board: (board.node is None, board.node or 0, board.mac)))


def _record(board: Board) -> dict[str, object]:
    return {name: getattr(board, name) for name in ("mac", "node", "port", "serial", "name")}


def _board(entry: dict[str, object]) -> Board:
    """An entry of the file. Raises KeyError, TypeError and ValueError where it is none."""
    mac, node, port = entry["mac"], entry["node"], entry["port"]
    serial, name = entry["serial"], entry["name"]
    if not isinstance(mac, str) or not _MAC.fullmatch(mac):
        raise ValueError(f"mac is {mac!r}")
    if node is not None and (
        not isinstance(node, int) or isinstance(node, bool) or not 1 <= node <= MAX_NODE
    ):
        raise ValueError(f"board {mac} has the node {node!r}")
    if port is not None and not isinstance(port, str):
        raise ValueError(f"board {mac} has the port {port!r}")
    if not isinstance(serial, str) or not isinstance(name, str):
        raise ValueError(f"board {mac} has the serial {serial!r} and the name {name!r}")
    return Board(mac, node, port, serial, name)


def _require_single(key: str, values: list[object]) -> None:
    said = [value for value in values if value is not None]
    twice = next((value for value in said if said.count(value) > 1), None)
    if twice is not None:
        raise ValueError(f"{key} {twice} is there twice")


def _why(error: Exception) -> str:
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
