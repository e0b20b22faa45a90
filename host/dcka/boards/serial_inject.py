"""Data files onto boards over the cable: asked first who they are, then all written at once, each verified there."""

import contextlib
import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from dcka.boards import board_code
from dcka.boards.errors import BoardError
from dcka.boards.flashing import PARALLEL
from dcka.boards.installed import read_installed
from dcka.boards.repl import Repl, open_repl
from dcka.boards.transfer import BoardFull, put_file
from dcka.inject.dataset import Dataset

DATA_FILE = "/data.bin"
READINGS_FILE = "/readings.bin"
ASIDE = "/data.new"  # of a transfer by MQTT
# A board boots in two seconds, 5,000 points load in another two; a node that has no radio link yet loads them, too.
LOAD_S = 60.0
HASH_S = 30.0

_LOADED = re.compile(r"dcka: data (\d+) points")

OnProgress = Callable[[str, int, int], None]
"""Called with the port, the bytes that its board has, and all; from several threads."""


class DataNotTaken(BoardError):
    """The board has the file, and its node does not use it; says why."""


class NoNode(BoardError):
    """The board is none of this network's nodes."""


@dataclass(frozen=True)
class BoardResult:
    """What became of one board. `node` is None where it could not be asked. `skipped`: it had this very file.

    `error`: a line for a person, "" where all went well; `exit_code` is that of its class.
    """

    port: str
    node: int | None
    points: int
    bytes: int
    skipped: bool
    seconds: float
    error: str
    exit_code: int

    def record(self) -> dict[str, object]:
        """For JSON."""
        return {**vars(self), "error": self.error or None, "ok": not self.error}


@dataclass
class _Board:
    """A board whose REPL is open, or why it is not."""

    port: str
    repl: Repl | None = None
    node: int | None = None
    held: tuple[int, str] | None = None
    error: BoardError | None = None


def inject_boards(
    ports: Sequence[str],
    dataset: Dataset,
    network: str,
    parallel: int = PARALLEL,
    on_progress: OnProgress | None = None,
    load_s: float = LOAD_S,
    replace: bool = False,
) -> list[BoardResult]:
    """Give each board its node's data file, at most `parallel` at a time; what became of each, in the order of ports.

    All are asked who they are before the first byte is written. What one board fails in does not stop the others; only
    where two are the same node, neither gets anything. A board whose file is the right one already is restarted alone.
    An interrupted transfer goes on where it was. The old file stays, byte for byte, until the new one is verified on
    the board; with `replace` it is removed first. Afterwards each board restarts, and its node has to say within
    `load_s` seconds that it has the points.
    """
    with ThreadPoolExecutor(max(1, parallel)) as pool, contextlib.ExitStack() as stack:
        boards = list(pool.map(lambda port: _asked(port, dataset, network, stack), ports))
        _refuse_twins(boards)
        told = on_progress or (lambda port, done, total: None)
        return list(pool.map(lambda board: _give(board, dataset, told, load_s, replace), boards))


def await_data(lines: Iterator[str], port: str, points: int, load_s: float = LOAD_S) -> None:
    """Read a node's lines until it says that it has its points. Raises DataNotTaken."""
    last = ""
    for line in lines:
        last = line.strip() or last
        found = _LOADED.fullmatch(line)
        if found and int(found[1]) == points:
            return
        if found:
            raise DataNotTaken(
                f"{port}: its node has loaded {int(found[1]):,} points, and the file has {points:,}; inject again"
            )
        if line.startswith("dcka: data refused: "):
            raise DataNotTaken(f"{port}: its node refuses the data: {line.partition('refused: ')[2]}")
        if line == "dcka: no data":
            raise DataNotTaken(f"{port}: its node does not see the data file that is there; inject again")
        if line.startswith(("dcka: crash: ", "dcka: safe mode: ")):
            raise DataNotTaken(
                f"{port}: the data are on the board, and its node does not run ({line.removeprefix('dcka: ')}): "
                f"dcka board doctor --port {port}"
            )
    said = f'its last line is "{last[:120]}"' if last else "it said nothing"
    raise DataNotTaken(
        f"{port}: the data are on the board, and its node has not said within {load_s:g} s that it has them; {said}: "
        f"dcka board doctor --port {port}"
    )


def _asked(port: str, dataset: Dataset, network: str, stack: contextlib.ExitStack) -> _Board:
    """Open the board's REPL, for as long as `stack` lasts, and ask which node it is and what data it holds."""
    board = _Board(port)
    try:
        board.repl = stack.enter_context(open_repl(port))
        installed = read_installed(board.repl)
        board.node = _node(port, installed.network, installed.node, dataset, network)
        held = board.repl.value(f"_d_h({DATA_FILE!r})", HASH_S)
        board.held = held if isinstance(held, tuple) else None
    except BoardError as error:
        board.error = error
    return board


def _node(port: str, network: str | None, node: int | None, dataset: Dataset, wanted: str) -> int:
    if node is None or network is None:
        raise NoNode(f"{port}: this board is no node yet: dcka board provision --port {port}")
    if network != wanted:
        raise NoNode(
            f"{port}: this board is node {node} of the network {network}, and network.toml is {wanted}'s; go to the "
            f"folder of {network}, or provision the board anew"
        )
    if node not in dataset.points:
        raise NoNode(
            f"{port}: this board is node {node}, and {wanted} has no such node: dcka board provision --port {port}"
        )
    return node


def _refuse_twins(boards: Sequence[_Board]) -> None:
    by_node: dict[int, list[_Board]] = {}
    for board in boards:
        if board.node is not None and board.error is None:
            by_node.setdefault(board.node, []).append(board)
    for node, same in by_node.items():
        for board in same if len(same) > 1 else ():
            others = ", ".join(other.port for other in same if other is not board)
            board.error = NoNode(
                f"{board.port}: the board at {others} is node {node}, too; provision one of them with another id"
            )


def _give(
    board: _Board, dataset: Dataset, on_progress: OnProgress, load_s: float, replace: bool
) -> BoardResult:
    """Write one board's file, and wait for its node."""
    begun = time.monotonic()
    points = size = 0
    skipped = False
    try:
        if board.error is not None or board.repl is None or board.node is None:
            raise board.error or BoardError(f"{board.port}: the board could not be asked")
        content = dataset.data_file(board.node)
        points, size = len(dataset.points[board.node]), len(content)
        skipped = board.held == (size, hashlib.sha256(content).hexdigest())
        _clear(board.repl, replace and not skipped)
        _write(board.repl, content, skipped, lambda done, total: on_progress(board.port, done, total))
        board.repl.soft_reset()
        await_data(board.repl.lines(load_s), board.port, points, load_s)
    except BoardError as error:
        seconds = time.monotonic() - begun
        return BoardResult(board.port, board.node, points, size, False, seconds, str(error), error.exit_code)
    return BoardResult(board.port, board.node, points, size, skipped, time.monotonic() - begun, "", 0)


def _clear(repl: Repl, all_: bool) -> None:
    """Remove what a transfer by MQTT has left half; and where `all_`, the old data."""
    repl.load(board_code.HELPERS)
    for name in (ASIDE, DATA_FILE, READINGS_FILE) if all_ else (ASIDE,):
        repl.run(f"_d_x({name!r})", HASH_S)


def _write(repl: Repl, content: bytes, there: bool, on_progress: Callable[[int, int], None]) -> None:
    if there:
        # What an interrupted transfer of other data has left is of no use any more.
        repl.load(board_code.HELPERS)
        repl.run(f"_d_x({DATA_FILE + '.new'!r})", HASH_S)
        on_progress(len(content), len(content))
    else:
        try:
            put_file(repl, DATA_FILE, content, progress=on_progress, resume=True)
        except BoardFull as error:
            raise BoardFull(f"{error}. Where the old data take it: --replace removes them first") from None


def totals(results: Sequence[BoardResult], wanted: Sequence[int]) -> Mapping[str, object]:
    """For a verb's record: who has the data now, and who of `wanted` had no board in this call."""
    done = [result for result in results if not result.error]
    reached = {result.node for result in results if result.node is not None}
    return {
        "boards": [result.record() for result in results],
        "skipped": [result.node for result in done if result.skipped],
        "bytes": sum(result.bytes for result in done if not result.skipped),
        "without_board": [node for node in wanted if node not in reached],
    }
