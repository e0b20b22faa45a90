"""What is written in one transaction: rows by table, those of a run by its unique id. All may be written twice."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
ByRun = defaultdict[str, list[Row]]


def _by_run() -> ByRun:
    return defaultdict(list)


@dataclass
class Batch:
    """`runs`: by unique id. `steps`, `commits`, `results`, `run_rows`: by the run's unique id, without `run_id`; of
    runs that are in `runs`, or in the database. `outcomes`: what the host of a run says of its end, by unique id.
    `ended`: `network` and `at`, where whatever ran was ended from outside. `session`: the monitor itself.
    """

    datasets: list[Row] = field(default_factory=list)
    runs: dict[str, Row] = field(default_factory=dict)
    steps: ByRun = field(default_factory=_by_run)
    commits: ByRun = field(default_factory=_by_run)
    results: ByRun = field(default_factory=_by_run)
    run_rows: ByRun = field(default_factory=_by_run)
    outcomes: dict[str, Row] = field(default_factory=dict)
    statuses: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    gaps: list[Row] = field(default_factory=list)
    ended: list[Row] = field(default_factory=list)
    session: Row | None = None

    def uids(self) -> set[str]:
        """The runs that something is said of."""
        parts = (self.runs, self.steps, self.commits, self.results, self.run_rows, self.outcomes)
        return set().union(*parts)

    def __len__(self) -> int:
        lists = [
            *self.steps.values(),
            *self.commits.values(),
            *self.results.values(),
            *self.run_rows.values(),
        ]
        lists += [self.datasets, self.statuses, self.events, self.gaps, self.ended]
        return sum(map(len, lists)) + len(self.runs) + len(self.outcomes)

    def add(self, later: "Batch") -> None:
        """Put what came later behind."""
        self.datasets += later.datasets
        self.runs |= later.runs
        for mine, other in (
            (self.steps, later.steps),
            (self.commits, later.commits),
            (self.results, later.results),
            (self.run_rows, later.run_rows),
        ):
            for uid, rows in other.items():
                mine[uid] += rows
        self.outcomes |= later.outcomes
        self.statuses += later.statuses
        self.events += later.events
        self.gaps += later.gaps
        self.ended += later.ended
        self.session = later.session or self.session

    def divided(self) -> "list[Batch]":
        """The same, a row each: runs and what is about all before what is of a run."""
        parts: list[Batch] = []
        if self.session is not None:
            parts.append(Batch(session=self.session))
        parts += [Batch(datasets=[row]) for row in self.datasets]
        parts += [Batch(gaps=[row]) for row in self.gaps]
        parts += [Batch(runs={uid: row}) for uid, row in self.runs.items()]
        parts += [Batch(ended=[row]) for row in self.ended]
        for name in ("run_rows", "steps", "commits", "results"):
            for uid, rows in getattr(self, name).items():
                for row in rows:
                    part = Batch()
                    getattr(part, name)[uid].append(row)
                    parts.append(part)
        parts += [Batch(outcomes={uid: row}) for uid, row in self.outcomes.items()]
        parts += [Batch(statuses=[row]) for row in self.statuses]
        parts += [Batch(events=[row]) for row in self.events]
        return parts
