"""All parts as one record, and as words."""

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dcka.bench.errors import BenchUsageError
from dcka.bench.live import Say
from dcka.bench.monitor.listing import measure_listing
from dcka.bench.monitor.paint import measure_paint
from dcka.bench.monitor.telemetry import measure_telemetry

PARTS = ("telemetry", "listing", "paint")
LEAST_PER_S = 5000.0
MOST_LIST_MS = 300.0
MOST_PAINT_MS = 500.0
RATE, SECONDS = 6000, 10.0


def monitor(parts: Sequence[str], say: Say, *, rate: int = RATE, seconds: float = SECONDS) -> dict[str, Any]:
    """The figures of the parts, `missed`, sentences, and `ok`. The databases are where temporary files are.

    Raises BenchUsageError, BenchError, and NoBrowser where there is no Chromium for the page.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise BenchUsageError(f"there is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    began = time.monotonic()
    record: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="dcka-bench-") as folder:
        if "telemetry" in parts:
            (Path(folder) / "telemetry").mkdir()
            record |= measure_telemetry(Path(folder) / "telemetry", rate, seconds, say)
        if "listing" in parts:
            record |= measure_listing(Path(folder), say)
    if "paint" in parts:
        say("the page of 200 nodes that speak ten times a second, in a browser")
        record |= measure_paint(seconds=seconds).record()
    missed = _missed(record)
    for sentence in missed:
        say(sentence)
    return {**record, "missed": missed, "ok": not missed, "seconds": time.monotonic() - began}


def _missed(record: Mapping[str, Any]) -> list[str]:
    found = []
    if record.get("lost"):
        found.append(f"{record['lost']:,} of {record['sent']:,} messages were lost")
    if record.get("telemetry_per_s", LEAST_PER_S) < LEAST_PER_S:
        found.append(f"{record['telemetry_per_s']:,.0f} messages a second, and {LEAST_PER_S:,.0f} is the aim")
    if record.get("list_10000_ms", 0.0) > MOST_LIST_MS:
        found.append(f"{record['list_10000_ms']:.0f} ms for a list, and {MOST_LIST_MS:.0f} is the aim")
    if record.get("paint_unseen"):
        found.append(f"{record['paint_unseen']:,} messages were not painted in time")
    if record.get("p95_message_to_paint_ms", 0.0) > MOST_PAINT_MS:
        found.append(
            f"{record['p95_message_to_paint_ms']:.0f} ms until a page is painted, and {MOST_PAINT_MS:.0f} is the aim"
        )
    return found


def text(record: Mapping[str, Any]) -> str:
    """For a person."""
    lines = []
    if "telemetry_per_s" in record:
        lines.append(
            f"telemetry: {record['telemetry_per_s']:,.0f} messages a second into SQLite, {record['lost']:,} of"
            f" {record['sent']:,} lost, {record['cpu_us']:.0f} µs of processor each, stored {record['behind_s']:.1f} s"
            " after the last was sent"
        )
    if "list_10000_ms" in record:
        lines.append(
            f"list: {record['list_10000_ms']:.0f} ms for {record['runs']:,} runs,"
            f" {record['list_page_ms']:.1f} ms for a page of 50"
        )
    if "p95_message_to_paint_ms" in record:
        lines.append(
            f"page: {record['p95_message_to_paint_ms']:.0f} ms from a message to the painted page for 95 of 100, half"
            f" within {record['p50_message_to_paint_ms']:.0f} ms, at {record['paint_messages_per_s']:,.0f} messages a"
            f" second of {record['paint_nodes']} nodes"
        )
    lines += record["missed"]
    return "\n".join([*lines, "all as it has to be" if record["ok"] else "FAIL: not all is as it has to be"])
