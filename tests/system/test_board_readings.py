"""A board that keeps readings: the power may be cut at any write of its flash, and the owner of the cable gets them."""

import csv
import time
from pathlib import Path

import pytest
from board_bench import caller

from dcka.boards.emulated import EmulatedBoard
from dcka.boards.repl import Repl

FIRMWARE = Path(__file__).parents[2] / "firmware"
SOURCES = ("dcka_core/segments.py", "dcka_core/errors.py", "dcka_device/segment_files.py")
# Segments of 30 readings, of which the last few are kept: the oldest are dropped while it goes on.
MAIN = """\
import time
from dcka_core.segments import Segments
from dcka_device.segment_files import SegmentFiles
segments = Segments(SegmentFiles(0), "temperature/2 humidity/1", 300, 1200)
times = [row[0] for row in segments.readings(0, 1 << 29)]
print("found", times[0] if times else 1, times[-1] if times else 0, len(times))
index = times[-1] + 1 if times else 1
while index <= LAST:
    segments.append(index, (100 * index, -index))
    if index % 5 == 0:
        segments.sync()
        print("synced", index)
        time.sleep_ms(10)
    index += 1
print("done")
"""
LIMIT_S = 120.0


def board_files(last: int) -> dict[str, bytes]:
    files = {name: (FIRMWARE / name).read_bytes() for name in SOURCES}
    return files | {"main.py": MAIN.replace("LAST", str(last)).encode()}


def said_until_the_end(board: EmulatedBoard, writes: int | None = None) -> list[str]:
    """What a board prints after it is switched on, until it is done, or its power is gone, after so many writes."""
    lines: list[str] = []
    limit = time.monotonic() + LIMIT_S
    repl = Repl(board.port)
    try:
        board.power_on()
        if writes is not None:
            board.cut_after_writes(writes)
        while time.monotonic() < limit:
            on = board.on
            for line in repl.lines(0.2):
                lines.append(line)
                if line == "done":
                    return lines
            if not on:
                return lines
    finally:
        repl.close()
    raise AssertionError(f"no end after {LIMIT_S} s: {lines[-3:]}")


def test_the_power_is_cut_at_writes_of_the_store(tmp_path: Path) -> None:
    known, cuts = 0, 0
    with EmulatedBoard(tmp_path / "board", extra_files=board_files(10**6), on=False) as board:
        for count in (0, 3, 7, 12, 18, 25, 33, 42):
            lines = said_until_the_end(board, count)
            cuts += not board.on
            for line in lines:
                # A line may be lost with the power: what was told is there, and perhaps more.
                if line.startswith("found "):
                    first, last, number = map(int, line.split()[1:])
                    assert last >= known and number == last - first + 1
                    known = last
                elif line.startswith("synced "):
                    known = int(line.split()[1])
            board.power_off()
    assert cuts == 8 and known > 30


def test_the_owner_of_the_cable_gets_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    call = caller(tmp_path, monkeypatch, capfd)
    with EmulatedBoard(tmp_path / "board", extra_files=board_files(123), on=False) as board:
        assert said_until_the_end(board)[-1] == "done"
        board.power_off()
        before = {name: content for name, content in board.files().items() if name.startswith("segments/")}
        assert said_until_the_end(board)[-1] == "done"
        told = call("readings", board.port, "--out", "node.csv", "--json", boards=(board,))
        assert told.code == 0, told.err
        record = told.json
        assert (record["columns"], record["newest"]) == (["temperature", "humidity"], "2020-01-01T00:02:00Z")
        with (tmp_path / "node.csv").open(newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0] == ["time", "temperature", "humidity"]
        assert rows[-1] == ["2020-01-01T00:02:00Z", "120.00", "-12.0"]
        assert len(rows) - 1 == record["readings"]
        assert call("readings", board.port, "--out", "node.csv", boards=(board,)).code == 2
        board.power_off()
        assert before.items() <= board.files().items()
    with EmulatedBoard(tmp_path / "empty") as board:
        told = call("readings", board.port, boards=(board,))
        assert told.code == 0 and "holds no readings" in told.out
