"""Where each start of a search comes from, and the plans of the clusterings that begin there."""

from collections.abc import Mapping
from typing import Any

from dcka.config import Config, State
from dcka.mqtt.connection import Connection
from dcka.runs.outcome import Outcome
from dcka.runs.plan import RunPlan, plan
from dcka.runs.plan_seeding import plan_seeding
from dcka.runs.seed import PLUS, Drawn, NotSeeded, plan_from, seed, seeded_plan

Json = dict[str, Any]


class Starts:
    """Starts of K = 1 … `most`, a seed each, from [run] of `config` on.

    Those of kmeans++ are drawn before, by a seeding for `most` each: what it draws for a smaller K are the first of its
    centres, so that a search reveals `most` readings a start, and not as many for every K. `runs`: what each run is
    given, `limit_s`, `ready_s` and `on_event` of `dcka.runs.controller.run`.
    """

    def __init__(
        self,
        connection: Connection,
        config: Config,
        dataset: Mapping[str, Any],
        state: State,
        most: int,
        *,
        max_message: Mapping[int, int] | None,
        distinct: int | None,
        runs: Json,
    ) -> None:
        self._connection = connection
        self._config = config
        self._dataset = dict(dataset)
        self._state = state
        self._most = most
        self._options: Json = {"max_message": max_message, "distinct": distinct}
        self._runs = runs
        self._drawn: dict[int, Drawn] = {}

    @property
    def drawn(self) -> bool:
        """Whether each has to be drawn by the network."""
        return self._config.run.init == PLUS

    def require(self, number: int) -> None:
        """Raises UsageError where a clustering would be refused: the largest K makes the largest messages."""
        config = self._config.replaced("run", None, k=self._most)
        if self.drawn:
            plan_seeding(config, self._dataset, number, **self._options)
            plan_from(config, self._dataset, number + 1, None, **self._options)
        else:
            plan(config, self._dataset, number, **self._options)

    def draw(self, start: int, number: int) -> Outcome:
        """Run `number`: the seeding of a start. Raises as `dcka.runs.seed.seed`, and keeps what came to nothing."""
        config = self._with(self._most, self.seed(start))
        try:
            made = seed(self._connection, config, self._dataset, number, **self._runs, **self._options)
        except NotSeeded as error:
            error.outcome.save(self._state)
            raise
        self._drawn[config.run.seed] = made.drawn
        return made.outcome

    def seed(self, start: int) -> int:
        """The seed of a start, 0 the first."""
        return self._config.run.seed + start

    def plan(self, k: int, seed: int, number: int) -> RunPlan:
        """Run `number`: a clustering of the search."""
        options = self._options
        if self.drawn:
            first = self._drawn[seed].centres[:k]
            options = {**options, "centres": [list(map(float, centre)) for centre in first], "on_grid": True}
        return plan(self._with(k, seed), self._dataset, number, **options)

    def last(self, k: int, seed: int, number: int) -> RunPlan:
        """The clustering that stays: run `number`, or the one after a seeding of its own, kept for `dcka check`."""
        if not self.drawn:
            return self.plan(k, seed, number)
        config = self._with(k, seed)
        return seeded_plan(
            self._connection, config, self._dataset, number, self._state, **self._runs, **self._options
        )

    def _with(self, k: int, seed: int) -> Config:
        return self._config.replaced("run", None, k=k, seed=seed)
