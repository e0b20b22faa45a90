"""The runs of a search for K: for each K some starts, the best of them scored; last, one with the K that is taken."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dcka.choosing.choice import Choice, Trial
from dcka.choosing.plan_score import plan_score
from dcka.choosing.rules import Point, pick
from dcka.choosing.scores import score_of
from dcka.choosing.starts import Starts
from dcka.choosing.wish import Wish
from dcka.config import Config, State
from dcka.errors import DckaError
from dcka.inject.dataset import grid_of
from dcka.mqtt.connection import Connection
from dcka.mqtt.readiness import READY_S, named
from dcka.runs.controller import OnEvent, run
from dcka.runs.outcome import Outcome, decode_commit
from dcka.runs.plan import RunPlan, points_of

Json = dict[str, Any]
Gaps = Mapping[int, tuple[float, float]]
"""K → (gap, standard error)."""


class NotChosen(DckaError):
    """A run of the search did not end as it has to. `outcome`: what it came to, which is kept."""

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


@dataclass(frozen=True, eq=False)
class Found:
    """`outcome`: of the clustering with the K that was taken. `notes`: sentences for people."""

    choice: Choice
    outcome: Outcome
    notes: tuple[str, ...]


class Search:
    """A search over `connection`, on the data set of `dataset` (its record), with run numbers from `number` on.

    `state`: where outcomes are kept: of each K its best clustering and its score. `limit_s`, `ready_s`: for each run,
    as `dcka.runs.controller.run` has them. `partial`: whether a run may go on without some nodes. `on_event`: as for
    `run`, and "trying" (`k`, `start`, `starts`) before a clustering, "scored" (`k`, `point`) behind a score, "chosen"
    (`k`). Raises UsageError, before anything is sent, for a K or a message that cannot be.
    """

    def __init__(
        self,
        connection: Connection,
        config: Config,
        dataset: Mapping[str, Any],
        number: int,
        wish: Wish,
        state: State,
        *,
        max_message: Mapping[int, int] | None = None,
        distinct: int | None = None,
        limit_s: float | None = None,
        ready_s: float = READY_S,
        partial: bool = False,
        on_event: OnEvent | None = None,
    ) -> None:
        self._connection = connection
        self._config = config
        self._dataset = dict(dataset)
        self._number = number
        self._wish = wish
        self._state = state
        self._max_message = max_message
        self._partial = partial
        self._tell: OnEvent = on_event or (lambda kind, data: None)
        self._runs: Json = {"limit_s": limit_s, "ready_s": ready_s, "on_event": self._tell}
        self._notes: dict[str, None] = {}
        name = str(self._dataset.get("name", "the data set"))
        wish.require(points_of(config, self._dataset), distinct, name)
        self._starts = Starts(
            connection,
            config,
            self._dataset,
            state,
            wish.high,
            max_message=max_message,
            distinct=distinct,
            runs=self._runs,
        )
        self._starts.require(number)
        top = 2 ** int(self._dataset["bits"]) - 1
        self._plan_score([top] * (wish.high * int(self._dataset["n"])))

    def run(self, gaps: Gaps | None = None) -> Found:
        """All of it. `gaps`: by K, where known. Raises NotChosen, NoChoice, and as `seed`, `run` and `score_of` do."""
        for start in range(self._wish.starts if self._starts.drawn else 0):
            self._trying(self._wish.high, start)
            self._count(self._starts.draw(start, self._number))
        grid = grid_of(self._dataset)
        points: list[Point] = []
        trials: list[Trial] = []
        for k in self._wish.ks:
            best, seed = self._cluster(k)
            score = self._run(self._plan_score(_held(best)))
            score.save(self._state)
            trials.append(Trial(k, seed, best.run, score.run))
            points.append(score_of(score).point(grid, *(gaps or {}).get(k, (None, None))))
            self._tell("scored", {"k": k, "point": asdict(points[-1])})
        chosen = pick(points, self._wish.rule)
        self._tell("chosen", {"k": chosen})
        return self._conclude(chosen, points, trials)

    def _cluster(self, k: int) -> tuple[Outcome, int]:
        """The best of the starts of K by its SSD, the first of several, and its seed; the outcome is kept."""
        best: Outcome | None = None
        found = least = 0
        for start in range(self._wish.starts):
            self._trying(k, start)
            seed = self._starts.seed(start)
            outcome = self._run(self._starts.plan(k, seed, self._number))
            ssd = grid_ssd(outcome)
            if best is None or ssd < least:
                best, found, least = outcome, seed, ssd
        if best is None:
            raise ValueError("a search without starts")
        best.save(self._state)
        return best, found

    def _conclude(self, chosen: int, points: list[Point], trials: list[Trial]) -> Found:
        """Cluster once more from the start that was best, so that the nodes hold it, and it is the last run."""
        trial = next(trial for trial in trials if trial.k == chosen)
        outcome = self._run(self._starts.last(chosen, trial.seed, self._number))
        if _held(outcome) != _held(Outcome.load(self._state, trial.run)):
            self._note(
                f"run {outcome.run} came to other centres than run {trial.run} before it, from the same start: "
                "what is late, lost or missing makes the difference; the indices are of the earlier ones"
            )
        wish = self._wish
        choice = Choice(
            outcome.run,
            chosen,
            wish.rule,
            wish.low,
            wish.high,
            wish.starts,
            self._config.run.init,
            outcome.dataset,
            wish.gap_sets if any(point.gap is not None for point in points) else 0,
            tuple(points),
            tuple(trials),
        )
        return Found(choice, outcome, tuple(self._notes))

    def _plan_score(self, centres: list[int]) -> RunPlan:
        return plan_score(self._config, self._dataset, self._number, centres, max_message=self._max_message)

    def _run(self, made: RunPlan) -> Outcome:
        """One run. Raises NotChosen where it did not end, or went on without somebody and should not have."""
        for note in made.notes:
            self._note(note)
        self._number = made.number
        return self._count(run(self._connection, made, **self._runs))

    def _count(self, outcome: Outcome) -> Outcome:
        """The next run has the next number; how this one ended is looked at."""
        self._number += 1
        which = f"run {outcome.run} of the search for K"
        if not outcome.finished:
            # What is kept of a search that breaks off says how its last run ended.
            outcome.save(self._state)
            raise NotChosen(f"{which} did not finish: {outcome.reason}", outcome)
        if outcome.missing:
            without = f"{which} went on without {named(outcome.missing)}"
            if not self._partial:
                outcome.save(self._state)
                raise NotChosen(
                    f"{without}; run again once all are there, or take it with --allow-partial", outcome
                )
            self._note(f"{without}: what came of it is of the others")
        return outcome

    def _trying(self, k: int, start: int) -> None:
        self._tell("trying", {"k": k, "start": start + 1, "starts": self._wish.starts})

    def _note(self, words: str) -> None:
        self._notes[words] = None


def grid_ssd(outcome: Outcome) -> int:
    """The network's SSD on the grid: in `gossip` the nodes' own parts, added."""
    parts = [int(result["ssd"]) for result in outcome.results.values()]
    return sum(parts) if outcome.kind == "gossip" else max(parts)


def _held(outcome: Outcome) -> list[int]:
    """The final centres, K·n levels, of the lowest id: in `gossip` nodes may differ by the tolerance."""
    return list(decode_commit(outcome, min(outcome.commits)).centres)
