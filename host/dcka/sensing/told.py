"""What a node says of its sensors, in its status (docs/protocol.md, section 7)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

_BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
_MOST = 2**63
_SHOWN = 200


@dataclass(frozen=True)
class Told:
    """`readings` on flash, `waiting` beside them; `oldest`, `newest`: seconds since 2020, None where there is none.
    `failed`: by sensor. `words`: of what fails just now.
    """

    readings: int = 0
    waiting: int = 0
    oldest: int | None = None
    newest: int | None = None
    missed: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    syncs: int = 0
    erased: int = 0
    words: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """For JSON, with times as text."""
        times = {name: None if time is None else moment(time) for name, time in self._times().items()}
        return {**vars(self), **times, "failed": dict(self.failed), "words": list(self.words)}

    def _times(self) -> dict[str, int | None]:
        return {"oldest": self.oldest, "newest": self.newest}


def read_told(status: Mapping[str, Any]) -> Told | None:
    """What a status says; None where its node has no sensors, or says what makes no sense."""
    said = status.get("sensing")
    if not isinstance(said, Mapping):
        return None
    failed = said.get("failed", {})
    numbers = {name: said.get(name, 0) for name in ("readings", "waiting", "missed", "syncs", "erased")}
    times: dict[str, Any] = {name: said.get(name) for name in ("oldest", "newest")}
    if (
        not isinstance(failed, Mapping)
        or not all(_is_count(count) for count in (*failed.values(), *numbers.values()))
        or not all(time is None or (type(time) is int and abs(time) < 2**31) for time in times.values())
    ):
        return None
    words = tuple(
        said[name][:_SHOWN] for name in ("fault", "flash") if isinstance(said.get(name), str) and said[name]
    )
    return Told(**numbers, **times, failed=dict(failed), words=words)


def moment(time_s: int) -> str:
    """2026-11-30T12:00:00Z for seconds since 2020."""
    return (_BEGIN + timedelta(seconds=time_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _MOST
