"""What a call of `dcka reproduce` asks for, checked before anything is run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dcka.experiments.errors import ExperimentUsageError
from dcka.experiments.network import STARTS


@dataclass(frozen=True)
class Settings:
    """`out`: the folder. `runs`: Monte Carlo runs for each K and draw; `draws`: of the data. `starts`: of DCKA. `jobs`:
    processes; `scheduler`: a Dask scheduler's address, or ""."""

    out: Path
    runs: int
    draws: int
    ks: tuple[int, ...]
    starts: tuple[str, ...]
    seed: int
    jobs: int = 1
    scheduler: str = ""

    def check(self, points_a_node: int) -> None:
        """Raises ExperimentUsageError for what cannot be: a K that a node cannot draw, no run, an unknown start."""
        for name, value in (("--runs", self.runs), ("--draws", self.draws)):
            if value < 1:
                raise ExperimentUsageError(f"{name} {value}: at least 1")
        if self.runs > 1_000_000 or self.draws > 1000:
            raise ExperimentUsageError(f"--runs {self.runs}, --draws {self.draws}: at most 1000000 and 1000")
        if not 0 <= self.seed < 1_000_000:
            raise ExperimentUsageError(f"--seed {self.seed}: a number from 0 to 999999")
        for k in self.ks:
            if not 1 <= k <= points_a_node:
                raise ExperimentUsageError(
                    f"--k {k}: every node draws K of its {points_a_node:,} points; take 1 to that"
                )
        for start in self.starts:
            if start not in STARTS:
                raise ExperimentUsageError(f"--init {start}: the starts are {', '.join(STARTS)}")

    def call(self, verb: str, *others: str) -> list[str]:
        """The call of `dcka reproduce VERB`, with every option that its numbers depend on, defaults too: from it they
        come again. Where they are computed (`--jobs`, `--scheduler`) makes no difference."""
        listed = ",".join(map(str, self.ks))
        numbers = [
            "--runs",
            str(self.runs),
            "--k",
            listed,
            "--init",
            ",".join(self.starts),
            "--seed",
            str(self.seed),
        ]
        return ["dcka", "reproduce", verb, *others, *numbers, "--out", str(self.out)]


def whole_numbers(option: str, text: str) -> tuple[int, ...]:
    """`5,7,9` or `3..15` or `3..15..2`, ascending, each once. Raises ExperimentUsageError."""
    found: set[int] = set()
    try:
        for word in text.split(","):
            ends: Sequence[int] = [int(part) for part in word.split("..")]
            if len(ends) > 3 or (len(ends) == 3 and ends[2] < 1) or max(map(abs, ends)) > 1_000_000:
                raise ValueError
            found |= (
                {ends[0]}
                if len(ends) == 1
                else set(range(ends[0], ends[1] + 1, ends[2] if len(ends) == 3 else 1))
            )
    except ValueError:
        raise ExperimentUsageError(f"{option} {text}: numbers such as 5,7,9 or 3..15 or 3..15..2") from None
    if not found:
        raise ExperimentUsageError(
            f"{option} {text}: that is no number at all; the first has to be the smaller one"
        )
    return tuple(sorted(found))
