"""The cases of `dcka bench kernel`, and what MicroPython is asked for them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dcka.bench.errors import BenchUsageError

Answer = dict[str, Any] | str
"""What an expression came to; a sentence where there was no memory for it."""

Ask = Callable[[Sequence[str]], Iterator[Answer]]
"""Evaluates expressions over the names of `kernel_on_node`, one after the other in one interpreter."""

ADVERSITIES = ("line", "equal", "useless_labels", "k_is_m")
# The naive step and the bytecode are timed on so many distance-dimensions at once: some milliseconds, so that these
# times and the kernels' are taken from the same slices of a busy machine.
SLOW_WORK = 8000
# As lists of floats, they take more memory than all else on a board.
MOST_SLOW_POINTS = 100


def checked_rounds(rounds: int) -> None:
    """Raises BenchUsageError."""
    if rounds < 1:
        raise BenchUsageError(f"--rounds {rounds}: take 1 or more")


@dataclass(frozen=True)
class Case:
    """m points in n dimensions around `middles` places, for K clusters. `aim`: the ratio to the naive step that was
    promised."""

    points: int
    n: int
    k: int
    bits: int
    middles: int
    seed: int
    aim: int

    def expression(self, rounds: int, steps: int, kind: str | None = None) -> str:
        """What measures this case, or one of its adversities."""
        settings = {
            "points": self.points,
            "n": self.n,
            "k": self.k,
            "bits": self.bits,
            "middles": self.middles,
            "seed": self.seed,
            "rounds": rounds,
            "steps": steps,
            "slow_points": min(MOST_SLOW_POINTS, max(8, SLOW_WORK // (self.n * self.k))),
        }
        return f"case({settings})" if kind is None else f"adversity({settings}, {kind!r})"


CASES = {
    "A": Case(points=900, n=2, k=9, bits=15, middles=9, seed=1, aim=100),
    "B": Case(points=5000, n=2, k=100, bits=15, middles=100, seed=2, aim=500),
    "C": Case(points=2000, n=8, k=16, bits=14, middles=16, seed=3, aim=150),
}
