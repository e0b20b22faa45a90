"""A verdict, and the list of findings that it comes from."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Centres = NDArray[np.float64]

SHOWN = 4
"""Failures of one kind that are spelt out; a hundred nodes can fail alike, and nobody reads a hundred lines."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """`passed`, and why: `reasons` are sentences for people, `figures` what they rest on, fit for JSON.

    `partial`: all is as it has to be, but some nodes' readings were not in every step; that has not passed.
    `centres`: each node's final ones, (K, n), and `reference`: those of the reference (None where it came to none),
    both in the user's units, for pictures. `ssd` and errors in `figures` are in the user's units too.
    """

    kind: str
    passed: bool
    reasons: list[str]
    figures: dict[str, object]
    centres: dict[int, Centres] = field(default_factory=dict)
    reference: Centres | None = None
    partial: bool = False

    @property
    def word(self) -> str:
        """PASS, PARTIAL or FAIL."""
        if self.partial:
            return "PARTIAL"
        return "PASS" if self.passed else "FAIL"


class Findings:
    """What a check finds, one after the other; `verdict` sums it up."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.figures: dict[str, object] = {}
        self.centres: dict[int, Centres] = {}
        self.reference: Centres | None = None
        self._held: list[str] = []
        self._missed: list[str] = []
        self._failed: list[str] = []

    @property
    def failed(self) -> bool:
        """Whether anything has failed so far."""
        return bool(self._failed)

    def hold(self, reason: str) -> None:
        """Something is as it has to be, or is worth knowing."""
        self._held.append(reason)

    def miss(self, reason: str) -> None:
        """Somebody's readings are not in all of it."""
        self._missed.append(reason)

    def fail(self, *reasons: str) -> None:
        """Failures of one kind; the first few are kept, and the number of the others."""
        self._failed.extend(reasons[:SHOWN])
        if len(reasons) > SHOWN:
            self._failed.append(f"and {len(reasons) - SHOWN} more of that kind")

    def verdict(self) -> Verdict:
        """PASS with what holds, PARTIAL with who was missing too, or FAIL with what does not hold."""
        passed = not self._failed and not self._missed
        partial = not self._failed and not passed
        reasons = self._failed or [*self._missed, *self._held]
        return Verdict(
            self.kind, passed, list(reasons), self.figures, dict(self.centres), self.reference, partial
        )


def named(nodes: Sequence[int]) -> str:
    """`node 3`, or `nodes 3, 5 and 7`."""
    if len(nodes) == 1:
        return f"node {nodes[0]}"
    return f"nodes {', '.join(map(str, nodes[:-1]))} and {nodes[-1]}"


def amount(value: float) -> str:
    """A figure for a sentence: seven digits, as many as the quantised readings justify."""
    return f"{value:.7g}"
