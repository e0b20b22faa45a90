"""What an examination finds, one thing at a time."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "note", "wrong"]
"""ok; a note (works, and may surprise); wrong (has to be put right)."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `port`: the board's, "" where it is about the computer.

    `says`: what was found, a sentence without a full stop. `todo`: what to do, "" where there is nothing.
    """

    name: str
    verdict: Verdict
    says: str
    todo: str = ""
    port: str = ""

    def record(self) -> dict[str, object]:
        """For JSON."""
        return {
            "port": self.port or None,
            "check": self.name,
            "verdict": self.verdict,
            "says": self.says,
            "todo": self.todo,
        }


def ok(name: str, says: str) -> Check:
    """All is well here."""
    return Check(name, "ok", says)


def note(name: str, says: str, todo: str = "") -> Check:
    """It works; but somebody should know."""
    return Check(name, "note", says, todo)


def wrong(name: str, says: str, todo: str) -> Check:
    """It has to be put right, and how."""
    return Check(name, "wrong", says, todo)


def all_well(checks: Iterable[Check]) -> bool:
    """Whether nothing has to be put right."""
    return not any(check.verdict == "wrong" for check in checks)
