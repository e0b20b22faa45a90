"""What a node's parts may take: firmware/budget.toml. Whoever makes one grow changes the number there, on purpose."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dcka.bench.errors import BenchError
from dcka.firmware_files import firmware_folder

FILE = "budget.toml"


def read_budget(path: Path | None = None) -> dict[str, Any]:
    """`parts` (part → bytes), `names`, `smallest_heap_kb` (case → KB). Raises BenchError naming what is wrong."""
    file = path or firmware_folder() / FILE
    try:
        budget = tomllib.loads(file.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BenchError(f"{file}: {error}") from error
    kinds = {"parts": dict, "names": int, "smallest_heap_kb": dict}
    for key, kind in kinds.items():
        if not isinstance(budget.get(key), kind):
            raise BenchError(f"{file}: {key} is {budget.get(key)!r}, where {kind.__name__} is needed")
    return budget


def exceeded(measured: Mapping[str, Any], budget: Mapping[str, Any]) -> list[str]:
    """A sentence for each part above its budget, and for each without one. measured: of `measure_parts`."""
    found = []
    for part, used in measured["parts"].items():
        allowed = budget["parts"].get(part)
        if allowed is None:
            found.append(
                f"{part} takes {used} bytes of heap and has no budget: give it one in firmware/{FILE}"
            )
        elif used > allowed:
            found.append(
                f"{part} takes {used} bytes of heap, {used - allowed} more than its budget of {allowed}: make it "
                f"smaller (docs/memory.md says how), or raise parts.{part} in firmware/{FILE} and say why"
            )
    if measured["names"] > budget["names"]:
        found.append(
            f"the firmware has {measured['names']} names, {measured['names'] - budget['names']} more than its budget "
            f"of {budget['names']}: take words that it has already, or raise names in firmware/{FILE} and say why"
        )
    return found
