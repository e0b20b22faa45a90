"""Following what boards print: through resets, unplugging, and ports that come back under another name."""

import select
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from dcka.boards.console_text import Lines, RealNames, node_in
from dcka.boards.errors import BoardError
from dcka.boards.ports import PortInfo
from dcka.boards.whose import Identity, same_board, serial_of

SCAN_S = 0.5  # a USB port needs about a second to come back after a reset
QUIET_S = 1.0  # a line whose end has not come for so long is shown as it is

Kind = Literal["line", "opened", "gone", "waiting"]


class Source(Protocol):
    """An open port, as `listening.Listener`."""

    def fileno(self) -> int: ...
    def read(self) -> bytes | None: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Event:
    """A line of a board, or what became of its port. `at`: seconds since 1970. `identity`: who it is, then."""

    kind: Kind
    port: str
    identity: Identity
    at: float
    text: str

    def record(self) -> dict[str, object]:
        """For JSON."""
        return {
            "event": self.kind,
            "port": self.port,
            "node": self.identity.node,
            "sure": self.identity.sure,
            "mac": self.identity.mac,
            "time": self.at,
            "text": self.text,
        }


@dataclass
class _Followed:
    """One board; `source` is None while its port is not open."""

    info: PortInfo
    identity: Identity
    real_names: RealNames
    source: Source | None = None
    opened: bool = False
    lines: Lines = field(default_factory=Lines)
    heard_at: float = 0.0
    complaint: str = ""


class Follower:
    """Listens to `wanted`, and with `all_` to every port that appears.

    `scan` lists the ports that there are, `open_port` opens one or raises BoardError, `who` says which board is
    at a port, and `names` are those of the firmware (see RealNames). `clock` is in seconds since 1970.
    """

    def __init__(
        self,
        wanted: Sequence[PortInfo],
        all_: bool,
        scan: Callable[[], Sequence[PortInfo]],
        open_port: Callable[[str], Source],
        who: Callable[[PortInfo], Identity],
        names: Mapping[str, Mapping[str, str]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._all = all_
        self._scan, self._open_port, self._who, self._clock = scan, open_port, who, clock
        self._names = names
        self._boards: list[_Followed] = []
        self._scanned_at = clock()
        for info in wanted:
            self._follow(info)

    def start(self) -> list[Event]:
        """Open what can be opened. Raises the first port's BoardError where nothing can."""
        events: list[Event] = []
        first: BoardError | None = None
        for board in self._boards:
            error = self._try_to_open(board, board.info, events)
            first = first or error
        if first and not any(board.source for board in self._boards):
            raise first
        return events

    def turn(self, timeout_s: float) -> list[Event]:
        """What has happened, after `timeout_s` at the latest."""
        events: list[Event] = []
        now = self._clock()
        if not 0 <= now - self._scanned_at < SCAN_S:
            self._scanned_at = now
            self._look_around(events)
        open_ = {board.source.fileno(): (board, board.source) for board in self._boards if board.source}
        # A limit above SCAN_S would let a board that comes back wait.
        ready, _, _ = select.select(list(open_), [], [], min(timeout_s, SCAN_S))
        for descriptor in ready:
            self._read(*open_[descriptor], events)
        for board in self._boards:
            if board.lines.begun and abs(self._clock() - board.heard_at) >= QUIET_S:
                self._tell(board, board.lines.take(), events)
        return events

    def close(self) -> list[Event]:
        """Let go of all ports; what boards had begun to say."""
        events: list[Event] = []
        for board in self._boards:
            self._tell(board, board.lines.take(), events)
            self._drop(board)
        return events

    def _follow(self, info: PortInfo) -> _Followed:
        board = _Followed(info, self._who(info), RealNames(self._names))
        self._boards.append(board)
        return board

    def _look_around(self, events: list[Event]) -> None:
        """Open the ports of boards that have come back, and of new ones."""
        present = list(self._scan())
        taken = {board.info.path for board in self._boards if board.source}
        for board in self._boards:
            if board.source is None:
                free = [info for info in present if info.path not in taken]
                info = next((info for info in free if same_board(board.info, info, present)), None)
                if info is None and board.info.vid is None and board.info.path not in taken:
                    info = board.info  # no USB port: no list has it, and its path is all that there is
                if info is not None and self._try_to_open(board, info, events) is None:
                    taken.add(info.path)
        for info in present if self._all else ():
            followed = any(same_board(board.info, info, present) for board in self._boards)
            if not followed and info.path not in taken:
                self._try_to_open(self._follow(info), info, events)

    def _try_to_open(self, board: _Followed, info: PortInfo, events: list[Event]) -> BoardError | None:
        try:
            source = self._open_port(info.path)
        except BoardError as error:
            if str(error) != board.complaint:
                board.complaint = str(error)
                events.append(self._event(board, "waiting", str(error)))
            return error
        if board.opened and not serial_of(info, ()):
            # Another board may have been plugged in there.
            board.identity = self._who(info)
        board.opened = True
        board.info, board.source, board.complaint = info, source, ""
        events.append(self._event(board, "opened", info.usb))
        return None

    def _read(self, board: _Followed, source: Source, events: list[Event]) -> None:
        data = source.read()
        board.heard_at = self._clock()
        if data is None:
            self._tell(board, board.lines.take(), events)
            self._drop(board)
            events.append(self._event(board, "gone", "unplugged or reset; waiting for it to come back"))
            return
        self._tell(board, board.lines.feed(data), events)

    def _tell(self, board: _Followed, lines: Sequence[str], events: list[Event]) -> None:
        for line in lines:
            told = node_in(line)
            if told is not None:
                board.identity = board.identity.told(*told)
            events.append(self._event(board, "line", board.real_names.line(line)))

    def _drop(self, board: _Followed) -> None:
        if board.source is not None:
            board.source.close()
            board.source = None

    def _event(self, board: _Followed, kind: Kind, text: str) -> Event:
        return Event(kind, board.info.path, board.identity, self._clock(), text)
