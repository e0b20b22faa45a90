"""How a K was found, kept beside the runs: which runs, what was said of each K, which rule took one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from dcka.choosing.rules import Point
from dcka.config.state import State
from dcka.errors import DckaError

Json = dict[str, Any]

VERSION = 1


class ChoiceError(DckaError):
    """What is kept of a choice of K is broken."""


@dataclass(frozen=True)
class Trial:
    """One K: the `run` of its best start, that start's `seed`, and the run that scored it, by number."""

    k: int
    seed: int
    run: int
    score: int


@dataclass(frozen=True)
class Choice:
    """`run`: the clustering with `k` clusters, found by `rule` in `low` … `high` with `starts` of each K. `init`: their
    kind. `curves` and `trials`: one for each K, ascending. `gap_sets`: reference sets behind the gap statistic, 0 =
    there is none. `dataset`: 16 hex digits."""

    run: int
    k: int
    rule: str
    low: int
    high: int
    starts: int
    init: str
    dataset: str
    gap_sets: int
    curves: tuple[Point, ...]
    trials: tuple[Trial, ...]

    @property
    def seed(self) -> int:
        """Of the start that led to the clustering."""
        return next(trial.seed for trial in self.trials if trial.k == self.k)

    def record(self) -> Json:
        """What `dcka run --json` says of it."""
        return {
            "k": self.k,
            "chosen_by": self.rule,
            "k_range": [self.low, self.high],
            "starts": self.starts,
            "seed": self.seed,
            "gap_sets": self.gap_sets,
            "curves": [asdict(point) for point in self.curves],
        }

    def save(self, state: State) -> None:
        """Keep it beside its run. Raises StateError where the disk refuses."""
        state.write(file_of(state, self.run), {"v": VERSION, **asdict(self)})

    @classmethod
    def load(cls, state: State, run: int) -> "Choice | None":
        """The choice that led to a run; None where K was given. Raises ChoiceError, StateError."""
        file = file_of(state, run)
        kept = state.read(file)
        if kept is None:
            return None
        try:
            return cls._of(kept if isinstance(kept, dict) else {}, run)
        except (KeyError, TypeError, ValueError) as error:
            raise ChoiceError(
                f"{file} holds no choice of K ({error!r}); remove the file and run again"
            ) from error

    @classmethod
    def _of(cls, kept: Mapping[str, Any], run: int) -> "Choice":
        if kept["v"] != VERSION or kept["run"] != run:
            raise ValueError(f"version {kept['v']}, run {kept['run']}")
        values = {entry.name: kept[entry.name] for entry in fields(cls)}
        curves = tuple(Point(**point) for point in kept["curves"])
        trials = tuple(Trial(**trial) for trial in kept["trials"])
        if not same_ks(curves, trials, range(values["low"], values["high"] + 1)):
            raise ValueError("the curves are not those of its range")
        return cls(**{**values, "curves": curves, "trials": trials})


def same_ks(curves: Sequence[Point], trials: Sequence[Trial], ks: range) -> bool:
    """Whether there is one point and one trial for each K, ascending."""
    return [point.k for point in curves] == list(ks) == [trial.k for trial in trials]


def file_of(state: State, run: int) -> Path:
    """Where the choice that led to a run is kept."""
    return state.folder / "choices" / f"{run}.json"
