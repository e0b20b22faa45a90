"""Where a stream was: kept in the state folder, so that it goes on after the host or the broker has restarted."""

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dcka.config import State
from dcka.errors import DckaError

Json = dict[str, Any]
_FILE = "stream.json"
_WINDOWS = "windows"
_ID = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True)
class Memory:
    """`window`: the last window's number. `until`: where the last clustering's window ended, in seconds since 2020; 0
    before the first. `run`: that clustering. `centres`: K·n levels, `weights`: K, what its clusters weigh. `grid`: what
    the levels are on: bits, low, width.
    """

    window: int = 0
    until: int = 0
    run: int = 0
    n: int = 0
    centres: list[int] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    grid: list[Any] = field(default_factory=list)

    @property
    def k(self) -> int:
        """The clusters that it remembers; 0 before the first clustering."""
        return len(self.weights)


def recall(state: State) -> Memory:
    """What `keep` kept; a fresh memory where there is none. Raises DckaError where it is damaged."""
    file = state.folder / _FILE
    kept = state.read(file)
    if kept is None:
        return Memory()
    try:
        if not isinstance(kept, dict) or kept.pop("v") != 1:
            raise ValueError("of another version")
        memory = Memory(**kept)
        shape = memory.k * memory.n == len(memory.centres) and bool(memory.k) == bool(memory.n)
        if not shape or not all(
            type(number) is int for number in [memory.window, memory.until, *memory.centres, *memory.weights]
        ):
            raise ValueError("its parts do not fit together")
    except (KeyError, TypeError, ValueError) as error:
        raise DckaError(
            f"{file} is no memory of a stream ({error}); remove it, and the stream begins anew"
        ) from error
    return memory


def keep(state: State, memory: Memory) -> None:
    """Keep it, in the place of the last. Raises StateError where the disk refuses."""
    state.write(state.folder / _FILE, {"v": 1, **asdict(memory)})


def window_file(state: State, dataset: str) -> Path:
    """The record of the data set of this id, 16 hex digits, that runs of a stream were about."""
    return state.folder / _WINDOWS / f"{dataset}.json"


def keep_window(state: State, dataset: Json, before: Json | None) -> None:
    """Keep the record of a window's data set, and `before`, what its clustering took over, None for the first."""
    state.write(window_file(state, dataset["dataset"]), {"v": 1, "dataset": dataset, "before": before})


def recall_window(state: State, dataset: str) -> tuple[Json, Json | None] | None:
    """(the record of this data set, what went before); None where it is of no stream. Raises StateError."""
    kept = state.read(window_file(state, dataset)) if _ID.fullmatch(dataset) else None
    if not isinstance(kept, dict) or not isinstance(kept.get("dataset"), dict):
        return None
    return kept["dataset"], kept.get("before")
