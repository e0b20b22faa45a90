"""A stored run as numpy has it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dcka.history import (
    History,
    HistoryError,
    HistoryUsageError,
    StoredRun,
    StoredStep,
    open_history,
)
from dcka.results.frames import frame

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]
_Value = TypeVar("_Value")

_READ_AT_ONCE = ("run_record", "dataset_record", "steps", "results", "statuses", "events", "gaps", "check")


def load(run: str | int = "last", *, network: str | None = None, history: str | None = None) -> "Run":
    """The run that `run` names: "last", a number such as 12, "greenhouse/12", or the first digits of its unique id.

    `network`: where several have a run of that number. `history`: a file or an URL, the user's own by default. Raises
    dcka.errors.DckaError, a sentence: where there is no such history or run.
    """
    with _opened(history) as opened:
        found = opened.run(run, network)
        for part in _READ_AT_ONCE:
            getattr(found, part)
        return Run(found)


def runs(*, network: str | None = None, limit: int | None = 50, history: str | None = None) -> "list[Run]":
    """Runs, the newest first; what is in them is read when it is asked for. Raises as `load` does."""
    with _opened(history) as opened:
        return [Run(run) for run in opened.runs(network, limit=limit)]


def _opened(place: str | None) -> History:
    """The history, to be read; one of an older version is brought up to date where it may be written."""
    try:
        return open_history(place, readonly=True)
    except HistoryUsageError:
        raise
    except HistoryError as refused:
        try:
            return open_history(place)
        except HistoryError:
            raise refused from None


class Run:
    """A run of K clusters, n dimensions and S stored outer steps. What is not known is None, or NaN in an array.

    Values are in the user's units where `in_units`, else in levels of the nodes' grid. `stored`: all that the history
    has of it (`dcka.history.StoredRun`): its record, statuses, events and gaps.
    """

    def __init__(self, stored: StoredRun) -> None:
        self.stored = stored

    def __repr__(self) -> str:
        ssd = "" if self.ssd is None else f", ssd={self.ssd:.6g}"
        return f"<Run {self.name} {self.kind} K={self.k} {self.state}, {self.stored.step_count} steps{ssd}>"

    @property
    def name(self) -> str:
        """`greenhouse/12`."""
        return self.stored.name

    @property
    def kind(self) -> str:
        """ "tree", "gossip", "survey", "seeding", "score" or "tail"."""
        return self.stored.kind

    @property
    def k(self) -> int:
        """K."""
        return self.stored.k

    @property
    def state(self) -> str:
        """ "running", "finished", "partial", "failed" or "unknown"."""
        return self.stored.state

    @property
    def in_units(self) -> bool:
        """Whether the way back to the user's units is known."""
        return self.stored.in_units

    @property
    def columns(self) -> list[str]:
        """The names of the dimensions; [] where they are not known."""
        return self.stored.columns

    @property
    def members(self) -> tuple[int, ...]:
        """The nodes' ids."""
        return tuple(sorted(self.stored.members))

    @property
    def missing(self) -> tuple[int, ...]:
        """Nodes whose readings are not in all of it."""
        return self.stored.missing

    @property
    def converged(self) -> bool | None:
        """Whether it ended by itself."""
        return self.stored.converged

    @property
    def ssd(self) -> float | None:
        """The result's sum of squared distances."""
        return self.stored.ssd

    @property
    def centroids(self) -> Floats | None:
        """(K, n), of the last step that is known."""
        return self.stored.centroids

    @property
    def counts(self) -> NDArray[np.int64] | None:
        """(K,), the readings of each cluster, with `centroids`."""
        return self.stored.counts

    @property
    def steps(self) -> list[StoredStep]:
        """The S outer steps that are stored, in order; `lost_steps` of `stored` are those that are not."""
        return self.stored.steps

    @property
    def ssd_per_step(self) -> Floats:
        """(S,), of the centres that each stored step began with."""
        return np.array([np.nan if step.ssd is None else step.ssd for step in self.steps], dtype=np.float64)

    @property
    def centroids_per_step(self) -> Floats:
        """(S, K, n), what each stored step came to: the ways of the centres."""
        known = self._known(lambda step: step.centres)
        empty = np.full_like(known, np.nan) if known is not None else np.empty((0, 0))
        tables = [empty if step.centres is None else step.centres for step in self.steps]
        return np.array(tables, dtype=np.float64).reshape(len(tables), *empty.shape)

    @property
    def counts_per_step(self) -> Floats:
        """(S, K), the readings of each cluster."""
        known = self._known(lambda step: step.counts)
        empty = np.full(0 if known is None else len(known), np.nan)
        rows = [empty if step.counts is None else step.counts.astype(np.float64) for step in self.steps]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(empty))

    @property
    def nodes(self) -> dict[int, dict[str, Any]]:
        """By node its result (docs/protocol.md, section 7): steps, ssd, what it sent and heard, its ledger."""
        return self.stored.results

    def to_dataframe(self, of: str = "steps") -> "pandas.DataFrame":
        """A pandas.DataFrame: `of` "steps" (a row each), "centroids" (a row for each cluster, with its count), or
        "nodes" (a row each, of what their results say). Raises ImportError without pandas, ValueError for other words.
        """
        return frame(self, of)

    def _known(self, value: "Callable[[StoredStep], _Value | None]") -> "_Value | None":
        return next((found for step in self.steps if (found := value(step)) is not None), None)
