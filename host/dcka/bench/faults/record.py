"""All faults as one record, and as a list for people."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from dcka.bench.errors import BenchUsageError
from dcka.bench.faults import broker_faults, clock_faults, connection_faults, door_faults, message_faults
from dcka.bench.faults.fault import Fault, Settings, play
from dcka.bench.live import Say

_PARTS = (broker_faults, connection_faults, message_faults, clock_faults, door_faults)
FAULTS: dict[str, Fault] = {fault.name: fault for part in _PARTS for fault in part.FAULTS}
LEAST_NODES = 5


def faults(names: Sequence[str], settings: Settings, say: Say) -> dict[str, Any]:
    """`faults`: by fault `fault`, `expected`, `observed`, `nodes_lost`, `results_wrong`, `recovered_s` (from its end to
    the end of the first run that is whole), `ok`, `seconds`; `seed`, `ok`, `seconds` of all. Raises BenchUsageError."""
    for name in names:
        if name not in FAULTS:
            raise BenchUsageError(f"there is no fault {name!r}; the faults are {', '.join(FAULTS)}")
    if settings.nodes < LEAST_NODES:
        raise BenchUsageError(f"--nodes {settings.nodes}: a network has {LEAST_NODES} nodes at least")
    if settings.pause_s <= 0 or settings.messages < 1:
        raise BenchUsageError("--pause and --messages are greater than 0")
    began = time.monotonic()
    rows = []
    for name in names:
        say(f"{name}: begins")
        row = play(FAULTS[name], settings, say)
        say(f"{name}: {'stood' if row['ok'] else 'NOT STOOD'}: {row['observed']}")
        rows.append(row)
    return {
        "faults": rows,
        "engine": settings.engine,
        "seed": settings.seed,
        "ok": all(row["ok"] for row in rows),
        "seconds": time.monotonic() - began,
    }


def text(record: Mapping[str, Any]) -> str:
    """A line a fault, and what was seen."""
    lines = []
    for row in record["faults"]:
        recovered = "never" if row["recovered_s"] is None else f"{row['recovered_s']:.1f} s"
        lines.append(
            f"{'stood ' if row['ok'] else 'FAILED'}  {row['fault']:<22} recovered {recovered:<8} "
            f"lost {row['nodes_lost']}  wrong {row['results_wrong']}"
        )
        lines.append(f"        expected: {row['expected']}")
        lines.append(f"        observed: {row['observed']}")
    stood = sum(row["ok"] for row in record["faults"])
    return "\n".join([*lines, f"{stood} of {len(record['faults'])} stood; seed {record['seed']}"])
