"""What a tail came to, in the user's units: the distance, how many are beyond it at each node, and who said what."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dcka.anomalies.plan_tail import MILLION, plan_tail
from dcka.anomalies.words import reveals
from dcka.config import Config
from dcka.errors import DckaError
from dcka.inject.dataset import grid_of
from dcka.mqtt.connection import Connection
from dcka.runs.controller import OnEvent, run
from dcka.runs.outcome import Outcome, decode_commit, greatest_holder
from dcka.runs.plan import RunPlan

Json = dict[str, Any]


class NotFound(DckaError):
    """The nodes did not agree; `outcome` is what their run came to."""

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


@dataclass(frozen=True)
class Anomalies:
    """`clustering`: the run whose centres it is about. `quantile`: that was asked for. `threshold`: a distance, in the
    user's units (with a scale: in widths). `beyond`: by node, how many of its readings are farther away; None where its
    result was lost. `readings`: of those who were there. `events`: what nodes have said of such readings, by node, each
    with `index` (its place in the node's data), `distance` and `reading` in the user's units, `centre` (its cluster).
    `lost`: events that nodes have said and that did not come.
    """

    run: int
    clustering: int
    quantile: float
    threshold: float
    readings: int
    beyond: dict[int, int | None]
    reveal: int
    events: dict[int, list[Json]]
    lost: int
    missing: list[int]
    columns: list[str]
    scale: str

    @property
    def total(self) -> int:
        """Readings beyond, of those nodes that have said so."""
        return sum(count for count in self.beyond.values() if count is not None)

    def record(self) -> Json:
        """As JSON."""
        return {
            "run": self.run,
            "clustering": self.clustering,
            "quantile": self.quantile,
            "threshold": self.threshold,
            "scale": self.scale,
            "readings": self.readings,
            "beyond": self.total,
            "by_node": {str(node): count for node, count in self.beyond.items()},
            "reveal": self.reveal,
            "events": [{"node": node, **event} for node, own in self.events.items() for event in own],
            "events_lost": self.lost,
            "columns": self.columns,
            "missing": self.missing,
        }


def find(
    connection: Connection,
    config: Config,
    dataset: Mapping[str, Any],
    number: int,
    clustering: Outcome,
    tail_ppm: int,
    *,
    reveal: int = 0,
    max_message: Mapping[int, int] | None = None,
    limit_s: float | None = None,
    await_sleepers: bool = True,
    on_event: OnEvent | None = None,
) -> Outcome:
    """Run `number`, in which the nodes agree on the tail about the centres that `clustering` came to.

    `on_event`: as for `dcka.runs.controller.run`, and before "tail" (`run`; `reveals`, a sentence for people). Raises
    PlanError; OutcomeError where the clustering has no commit; NotFound where the run does not finish; and as `run`.
    """
    made = plan_for(config, dataset, number, clustering, tail_ppm, reveal, max_message)
    if on_event is not None:
        on_event("tail", {"run": number, "reveals": reveals(reveal, len(made.members))})
    outcome = run(connection, made, limit_s=limit_s, await_sleepers=await_sleepers, on_event=on_event)
    if not outcome.finished:
        raise NotFound(
            f"run {number}, in which the nodes agree on what is far away, did not finish: {outcome.reason}",
            outcome,
        )
    return outcome


def plan_for(
    config: Config,
    dataset: Mapping[str, Any],
    number: int,
    clustering: Outcome,
    tail_ppm: int,
    reveal: int,
    max_message: Mapping[int, int] | None,
) -> RunPlan:
    """`plan_tail` about the greatest commit of `clustering`."""
    centres = decode_commit(clustering, greatest_holder(clustering)).centres
    options: Json = {"reveal": reveal, "clustering": clustering.run, "max_message": max_message}
    return plan_tail(config, dataset, number, centres, tail_ppm, **options)


def anomalies(outcome: Outcome, dataset: Mapping[str, Any]) -> Anomalies:
    """What a finished tail came to, on the grid of its data set's record. Raises OutcomeError."""
    grid = grid_of(dataset)
    record = outcome.record
    commit = decode_commit(outcome, greatest_holder(outcome))
    squared = (commit.centres[0] << 16) + commit.centres[1]
    table = [record["centres"][at : at + record["n"]] for at in range(0, len(record["centres"]), record["n"])]
    beyond = {node: outcome.results.get(node, {}).get("beyond") for node in sorted(outcome.members)}
    reveal = int(record["reveal"])
    events = {
        node: [_told(event, table, grid) for event in own if event["distance"] > squared][:reveal]
        for node, own in outcome.events.items()
    }
    said = sum(min(reveal, count or 0) for count in beyond.values())
    return Anomalies(
        run=outcome.run,
        clustering=int(record.get("clustering", 0)),
        quantile=1 - record["tail_ppm"] / MILLION,
        threshold=float(squared**0.5 * grid.unit),
        readings=commit.counts[0],
        beyond=beyond,
        reveal=reveal,
        events={node: own for node, own in events.items() if own},
        lost=said - sum(map(len, events.values())),
        missing=outcome.missing,
        columns=list(dataset["columns"]),
        scale=grid.scale,
    )


def _told(event: Json, table: list[list[int]], grid: Any) -> Json:
    """An event in the user's units."""
    point = event["point"]
    squares = [sum((a - b) ** 2 for a, b in zip(point, centre, strict=True)) for centre in table]
    return {
        "index": event["index"],
        "centre": squares.index(min(squares)),
        "distance": float(event["distance"] ** 0.5 * grid.unit),
        "reading": grid.to_units([point]).tolist()[0],
    }
