"""What happened, as a record for programs and as a line for people; and how foreign text is made harmless."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

LONGEST = 80
"""Of a text that came over the network, on a terminal: anybody may have sent it."""


@dataclass(frozen=True)
class Event:
    """`kind` and `data`, as in the JSON; `text`: a sentence. `at`: seconds since 1970. `bad`: worth a colour."""

    kind: str
    text: str
    at: float
    data: Mapping[str, Any]
    bad: bool = False

    def record(self) -> dict[str, Any]:
        """One object: `at` (ISO, UTC), `event`, and the data."""
        return {
            "at": datetime.fromtimestamp(self.at, UTC).isoformat(timespec="milliseconds"),
            "event": self.kind,
        } | {**self.data}

    def line(self) -> str:
        """One line, with the local time."""
        return f"{datetime.fromtimestamp(self.at):%H:%M:%S}  {self.text}"


def clean(text: object, longest: int = LONGEST) -> str:
    """Text for a terminal: nothing that it would obey (control and direction signs go), cut to `longest`."""
    whole = str(text)
    # What is far too long is not looked through; the signs that go make room for later ones.
    kept = "".join(sign for sign in whole[: 4 * longest] if sign.isprintable())
    return kept if len(kept) <= longest and len(whole) <= 4 * longest else kept[: longest - 1] + "…"


def counts(dropped: Mapping[str, int], longest: int = LONGEST) -> str:
    """`stale ×3, json ×1`, the most frequent first."""
    ranked = sorted(dropped.items(), key=lambda item: (-item[1], item[0]))
    return clean(", ".join(f"{clean(reason, 16)} ×{count}" for reason, count in ranked[:20]), longest)
