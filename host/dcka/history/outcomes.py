"""What the host of a run saw of it, and what a check said of it, into the history: also where no monitor ran."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from dcka.history.batch import Batch
from dcka.history.database import reason
from dcka.history.errors import HistoryError
from dcka.history.history import History
from dcka.history.known import KnownRun, dataset_row, json_of
from dcka.history.store import FAILED, FINISHED, PARTIAL, Store, dumps
from dcka.mqtt.statuses import PayloadError
from dcka.runs.outcome import Outcome
from dcka_core.errors import CoreError

Json = dict[str, Any]


@dataclass(frozen=True)
class Checked:
    """A verdict: PASS, PARTIAL or FAIL, with reasons and figures as `dcka check --json` has them."""

    word: str
    reasons: Sequence[str]
    figures: Mapping[str, Any] = field(default_factory=dict)


def record_outcome(
    history: History,
    outcome: Outcome,
    dataset: Mapping[str, Any] | None = None,
    checked: Checked | None = None,
) -> None:
    """Store a run as its host saw it; `dataset`: the record of its data set. Once more changes nothing.

    Raises HistoryError where it can't be written.
    """
    store = Store(history.engine)
    try:
        store.write(rows_of(outcome, dataset, checked))
    except SQLAlchemyError as error:
        raise HistoryError(f"the history {history.name} cannot be written: {reason(error)}") from error
    except (PayloadError, CoreError, ValueError) as error:
        raise HistoryError(f"run {outcome.run} cannot be stored: {error}") from error
    finally:
        store.close()


def rows_of(outcome: Outcome, dataset: Mapping[str, Any] | None, checked: Checked | None) -> Batch:
    """The batch of `record_outcome`. Raises PayloadError for an outcome whose parts are not those of its record."""
    known = KnownRun(outcome.network, outcome.record)
    began_at = datetime.fromisoformat(outcome.started).timestamp()
    at = began_at + outcome.wall_s
    batch = Batch()
    batch.runs[known.uid] = known.row(began_at, False)
    batch.run_rows[known.uid] = [
        {"node": node, "record": json_of(rows)} for node, rows in outcome.rows.items()
    ]
    for node, steps in outcome.steps.items():
        batch.steps[known.uid] += [known.step_row(node, record, at) for record in steps]
    for node, payload in outcome.commits.items():
        commit = known.commit(node, bytes.fromhex(payload))
        row = None if commit is None else known.commit_row(commit, at)
        if row is not None:
            batch.commits[known.uid].append(row)
    for node, record in outcome.results.items():
        batch.results[known.uid].append(known.result_row(node, record, at))
    if dataset is not None and dataset.get("dataset") == outcome.dataset:
        batch.datasets.append(dataset_row(outcome.network, dict(dataset), at))
    batch.outcomes[known.uid] = {"wall_s": outcome.wall_s, "reason": outcome.reason, **_state(outcome)}
    if checked is not None:
        batch.outcomes[known.uid] |= {
            "verdict": checked.word,
            "verdict_record": json_of({"reasons": list(checked.reasons), **checked.figures}),
            "checked_at": time.time(),
        }
    return batch


def _state(outcome: Outcome) -> Json:
    if not outcome.finished:
        return {"state": FAILED}
    missing = outcome.missing
    return {"state": PARTIAL if missing else FINISHED, "missing": dumps(missing)}
