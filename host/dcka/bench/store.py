"""What keeping readings costs the flash: `dcka bench store`.

A node's own code keeps readings on LittleFS, in the MicroPython of this computer, on a chip of 4 KB blocks in memory
that counts its erases. docs/sensors.md has the model that makes years of the counts.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcka.bench.errors import BenchError
from dcka.emulation.build import build, install
from dcka.emulation.micropython import available, launch
from dcka.errors import UsageError
from dcka.scratch import scratch_folder
from dcka_core.segments import SEGMENT_BYTES

ERASES = 100_000
"""What a block of a board's flash is good for, by the data sheets of such chips (Winbond W25Q32JV, section 4)."""
YEAR_S = 365 * 86_400
BLOCK_BYTES = 4096
FLASH_KB = 2048
"""The file system of MicroPython on a flash of 4 MB."""
PROGRAM_KB = 300
"""What a version of the program and one before it take of it."""
SYNCS = (1, 5, 10, 30, 60, 100)
_HEAP = "16M"
_LIMIT_S = 300.0
# So many that the oldest segments are dropped, and each block has been used.
_READINGS = 20_000
_MOST_READINGS = 1_000_000


@dataclass(frozen=True)
class Case:
    """`columns` of two decimals each, a reading each `every_s` seconds, written in pieces of `sync_every`."""

    every_s: int = 60
    sync_every: int = 10
    columns: int = 2
    readings: int = _READINGS
    keep_kb: int = 1024
    reserve_kb: int = 384

    def check(self) -> None:
        """Raises UsageError for what no node can be set to."""
        for name, low, high in (
            ("every_s", 1, 86_400),
            ("sync_every", 1, 100),
            ("columns", 1, 32),
            ("readings", 1000, _MOST_READINGS),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                flag = "--" + name.replace("_", "-")
                raise UsageError(f"{flag} {value}: it must be a whole number from {low} to {high:,}")

    def argument(self, sync_every: int) -> list[object]:
        """What `store_on_node.wear` takes."""
        columns = " ".join(f"c{number}/2" for number in range(1, self.columns + 1))
        limits = [self.reserve_kb * 1024, SEGMENT_BYTES, self.keep_kb * 1024]
        blocks = FLASH_KB * 1024 // BLOCK_BYTES
        return [blocks, PROGRAM_KB * 1024, columns, self.readings, self.every_s, sync_every, limits]


def store(case: Case, say: Callable[[str], None]) -> dict[str, Any]:
    """The record of the case, and of the same with other `sync_every` under `table`.

    Raises UsageError, and BenchError where there is no MicroPython.
    """
    case.check()
    others = sorted({*SYNCS, case.sync_every})
    say(f"{case.readings:,} readings on LittleFS, {len(others)} times")
    rows = [
        _row(case, sync_every, counted)
        for sync_every, counted in zip(others, _measured(case, others), strict=True)
    ]
    own = next(row for row in rows if row["sync_every"] == case.sync_every)
    model = {
        "erases_of_a_block": ERASES,
        "block_bytes": BLOCK_BYTES,
        "flash_kb": FLASH_KB,
        "program_kb": PROGRAM_KB,
        "keep_kb": case.keep_kb,
        "reserve_kb": case.reserve_kb,
        "segment_bytes": SEGMENT_BYTES,
    }
    return {
        **own,
        "every_s": case.every_s,
        "columns": case.columns,
        "readings": case.readings,
        "model": model,
        "table": rows,
    }


def _measured(case: Case, others: list[int]) -> list[dict[str, int]]:
    if not available():
        raise BenchError(str(available().reason).partition(": use")[0])
    program = Path(__file__).with_name("store_on_node.py")
    asked = "".join(json.dumps(case.argument(sync_every)) + "\n" for sync_every in others)
    with scratch_folder("bench") as folder:
        install(build(source=True, parts=("sensing",)), folder)
        (folder / "store_on_node.py").write_text(program.read_text("utf-8"), encoding="utf-8")
        try:
            done = subprocess.run(
                [sys.executable, *launch(_HEAP, "store_on_node.py")],
                cwd=folder,
                env={**os.environ, "MICROPYPATH": "."},
                input=asked,
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"it was not done after {_LIMIT_S:g} s: take fewer --readings") from error
    if done.returncode != 0:
        raise BenchError(f"MicroPython: {(done.stderr + done.stdout).strip()[-300:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _row(case: Case, sync_every: int, counted: dict[str, int]) -> dict[str, Any]:
    readings = counted["readings"]
    a_year = YEAR_S / case.every_s
    bytes_each = counted["stored_bytes"] / counted["stored"]
    return {
        "sync_every": sync_every,
        "writes_per_reading": round(counted["writes"] / readings, 3),
        "bytes_written_per_reading": round(counted["bytes"] / readings, 1),
        "erases_per_reading": round(counted["erases"] / readings, 4),
        "erases_per_sync": round(counted["erases"] / counted["syncs"], 3),
        "bytes_per_reading": round(bytes_each, 2),
        "days_kept": round(case.keep_kb * 1024 / bytes_each * case.every_s / 86_400, 1),
        "years": round(ERASES / (counted["hottest"] / readings * a_year), 1),
        "at_risk_s": sync_every * case.every_s,
    }


def store_text(record: dict[str, Any]) -> str:
    """The record for people."""
    head = f"{record['columns']} columns, a reading every {record['every_s']} s, {record['readings']:,} readings\n"
    titles = (
        "sync_every",
        "writes",
        "bytes written",
        "erases",
        "bytes kept",
        "days kept",
        "years",
        "at risk",
    )
    rows = [
        (
            str(row["sync_every"]),
            f"{row['writes_per_reading']:.2f}",
            f"{row['bytes_written_per_reading']:.0f}",
            f"{row['erases_per_reading']:.4f}",
            f"{row['bytes_per_reading']:.1f}",
            f"{row['days_kept']:.0f}",
            f"{row['years']:,.1f}",
            f"{row['at_risk_s']} s",
        )
        for row in record["table"]
    ]
    widths = [max(len(row[place]) for row in (titles, *rows)) for place in range(len(titles))]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in (titles, *rows)
    ]
    return head + "\n".join(lines)
