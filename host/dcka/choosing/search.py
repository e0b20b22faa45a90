"""The runs of a search for K: for each K some starts, the best of them scored; last, one with the K that is taken."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dcka.choosing.choice import Choice, Trial
from dcka.choosing.plan_score import plan_score
from dcka.choosing.rules import Point, pick
from dcka.choosing.scores import score_of
from dcka.choosing.wish import Wish
from dcka.config import Config, State
from dcka.errors import DckaError
from dcka.inject.dataset import grid_of
from dcka.mqtt.connection import Connection
from dcka.mqtt.readiness import named
from dcka.runs.controller import OnEvent, run
from dcka.runs.outcome import Outcome, decode_commit
from dcka.runs.plan import RunPlan, plan, points_of
from dcka.runs.plan_seeding import plan_seeding
from dcka.runs.seed import PLUS, Drawn, plan_from, seed, seeded_plan

Json = dict[str, Any]
Gaps = Mapping[int, tuple[float, float]]
"""K → (gap, standard error)."""


class NotChosen(DckaError):
    """A run of the search did not end as it has to. `outcome`: what it came to."""

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

    `state`: where outcomes are kept: of each K its best clustering and its score. `limit_s`: for each run, as
    `dcka.runs.controller.run` has it. `partial`: whether a run may go on without some nodes. `on_event`: as for `run`,
    and "trying" (`k`, `start`, `starts`) before a clustering, "scored" (`k`, `point`) behind a score, "chosen" (`k`).
    Raises UsageError, before anything is sent, for a K or a message that cannot be.
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
        self._distinct = distinct
        self._limit_s = limit_s
        self._partial = partial
        self._tell: OnEvent = on_event or (lambda kind, data: None)
        self._notes: dict[str, None] = {}
        # Of kmeans++, by the seed: what a seeding draws for a K begins with what it draws for a smaller one.
        self._drawn: dict[int, Drawn] = {}
        wish.require(
            points_of(config, self._dataset), distinct, str(self._dataset.get("name", "the data set"))
        )
        top = [2 ** int(self._dataset["bits"]) - 1] * (wish.high * int(self._dataset["n"]))
        self._require(wish.high)
        plan_score(config, self._dataset, number, top, max_message=max_message)

    def run(self, gaps: Gaps | None = None) -> Found:
        """All of it. `gaps`: by K, where they are known. Raises NotChosen, NoChoice, and as `run` and `score_of` do."""
        trials: list[Trial] = []
        self._draw()
        grid = grid_of(self._dataset)
        points: list[Point] = []
        for k in self._wish.ks:
            best, number = self._cluster(k)
            score = self._score(best)
            trials.append(Trial(k, number, best.run, score.run))
            points.append(score_of(score).point(grid, *(gaps or {}).get(k, (None, None))))
            self._tell("scored", {"k": k, "point": asdict(points[-1])})
        chosen = pick(points, self._wish.rule)
        self._tell("chosen", {"k": chosen})
        return self._conclude(chosen, points, trials)

    def _conclude(self, chosen: int, points: list[Point], trials: list[Trial]) -> Found:
        """Cluster once more from the start that was best, so that the nodes hold it, and it is the last run."""
        trial = next(trial for trial in trials if trial.k == chosen)
        outcome = self._run(self._last(chosen, trial.seed))
        before = Outcome.load(self._state, trial.run)
        if _held(outcome) != _held(before):
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

    def _cluster(self, k: int) -> tuple[Outcome, int]:
        """The best of the starts of K by its SSD, the first of several, and its seed; the outcome is kept."""
        best: Outcome | None = None
        found = least = 0
        for start in range(self._wish.starts):
            self._tell("trying", {"k": k, "start": start + 1, "starts": self._wish.starts})
            number = self._config.run.seed + start
            outcome = self._run(self._plan(k, number))
            ssd = grid_ssd(outcome)
            if best is None or ssd < least:
                best, found, least = outcome, number, ssd
        if best is None:
            raise ValueError("a search without starts")
        best.save(self._state)
        return best, found

    def _score(self, best: Outcome) -> Outcome:
        outcome = self._run(
            plan_score(self._config, self._dataset, self._number, _held(best), max_message=self._max_message)
        )
        outcome.save(self._state)
        return outcome

    def _require(self, most: int) -> None:
        """Raises UsageError where a run of the search would be refused: the largest K makes the largest messages."""
        config = self._config.replaced("run", None, k=most)
        if config.run.init == PLUS:
            plan_seeding(config, self._dataset, self._number, **self._options)
            plan_from(config, self._dataset, self._number + 1, None, **self._options)
        else:
            plan(config, self._dataset, self._number, **self._options)

    def _draw(self) -> None:
        """All starts of kmeans++, a seeding each, for the largest K; the smaller ones take the first of its centres."""
        if self._config.run.init != PLUS:
            return
        for start in range(self._wish.starts):
            config = self._seeded(self._wish.high, self._config.run.seed + start)
            self._tell("trying", {"k": self._wish.high, "start": start + 1, "starts": self._wish.starts})
            made = seed(
                self._connection,
                config,
                self._dataset,
                self._number,
                limit_s=self._limit_s,
                on_event=self._tell,
                **self._options,
            )
            self._number += 1
            self._look_at(made.outcome)
            self._drawn[config.run.seed] = made.drawn

    def _seeded(self, k: int, number: int) -> Config:
        return self._config.replaced("run", None, k=k, seed=number)

    def _plan(self, k: int, number: int) -> RunPlan:
        """A clustering by the seed `number`."""
        options = self._options
        if number in self._drawn:
            first = self._drawn[number].centres[:k]
            options |= {"centres": [list(map(float, centre)) for centre in first], "on_grid": True}
        return self._noted(plan(self._seeded(k, number), self._dataset, self._number, **options))

    def _last(self, k: int, number: int) -> RunPlan:
        """The clustering that stays: of kmeans++ with a seeding of its own, which `dcka check` looks at."""
        if number not in self._drawn:
            return self._plan(k, number)
        made = seeded_plan(
            self._connection,
            self._seeded(k, number),
            self._dataset,
            self._number,
            self._state,
            limit_s=self._limit_s,
            on_event=self._tell,
            **self._options,
        )
        self._number += 1
        return self._noted(made)

    @property
    def _options(self) -> dict[str, Any]:
        return {"max_message": self._max_message, "distinct": self._distinct}

    def _noted(self, made: RunPlan) -> RunPlan:
        for note in made.notes:
            self._note(note)
        return made

    def _run(self, made: RunPlan) -> Outcome:
        """One run, and the next number. Raises NotChosen where it did not end, or went on without somebody."""
        outcome = run(self._connection, made, limit_s=self._limit_s, on_event=self._tell)
        self._number += 1
        # What is kept of a search that breaks off says how its last run ended.
        if not outcome.finished:
            outcome.save(self._state)
            raise NotChosen(
                f"run {made.number} of the search for K did not finish: {outcome.reason}", outcome
            )
        self._look_at(outcome)
        return outcome

    def _look_at(self, outcome: Outcome) -> None:
        """Raises NotChosen where nodes were missing, and that was not to be."""
        if outcome.missing:
            without = f"run {outcome.run} of the search for K went on without {named(outcome.missing)}"
            if not self._partial:
                outcome.save(self._state)
                raise NotChosen(
                    f"{without}; run again once all are there, or take it with --allow-partial", outcome
                )
            self._note(f"{without}: its SSD and indices are those of the others")

    def _note(self, words: str) -> None:
        self._notes[words] = None


def grid_ssd(outcome: Outcome) -> int:
    """The network's SSD on the grid: in `gossip` the nodes' own parts, added."""
    parts = [int(result["ssd"]) for result in outcome.results.values()]
    return sum(parts) if outcome.kind == "gossip" else max(parts)


def _held(outcome: Outcome) -> list[int]:
    """The final centres, K·n levels, of the lowest id: in `gossip` nodes may differ by the tolerance."""
    return list(decode_commit(outcome, min(outcome.commits)).centres)
