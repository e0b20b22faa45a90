"""What a tail will be: the run in which nodes agree on a quantile of distances (docs/protocol.md, "Tail")."""

from collections.abc import Mapping, Sequence
from typing import Any

from dcka.config import Config
from dcka.errors import UsageError
from dcka.mqtt.connection import encoded
from dcka.runs.plan import TAIL, VERSION, Json, PlanError, RunPlan, checked, points_of, smallest
from dcka.topology import schedule
from dcka_core.bounds import message_bound

BINS = (16, 4, 2)
"""Distances are told apart by so many thresholds a step, less one: more make fewer steps and larger messages."""
MILLION = 1_000_000


def tail_ppm_of(quantile: float) -> int:
    """The millionths of the readings beyond a quantile. Raises UsageError where it is none from 0.500001 to 1."""
    tail = round((1 - quantile) * MILLION) if quantile == quantile else -1
    if not 0 <= tail < MILLION // 2:
        raise UsageError(f"a quantile of {quantile:g}: from 0.500001 to 1 is possible, such as 0.99")
    return tail


def plan_tail(
    config: Config,
    dataset: Mapping[str, Any],
    run_number: int,
    centres: Sequence[int],
    tail_ppm: int,
    *,
    reveal: int = 0,
    clustering: int = 0,
    max_message: Mapping[int, int] | None = None,
) -> RunPlan:
    """Run `run_number` of the network: a tail about `centres`, K·n levels, on the data set of this record.

    `reveal`: how many of its readings beyond each node says, the farthest. `clustering`: the run that the centres are
    of. It goes over the tree whatever the schedule of the clustering. `max_message` as in `dcka.runs.plan.plan`. Raises
    PlanError.
    """
    record = dict(dataset)
    made = schedule(config.graph, "tree", config.topology.root)
    rows: dict[int, Json] = {node: dict(row) for node, row in made.row_records(run_number).items()}
    points = points_of(config, record)
    run: Json = {
        "v": VERSION,
        "run": run_number,
        "kind": TAIL,
        "members": list(made.members),
        "root": made.root,
        "depth": made.depth,
        "dataset": record["dataset"],
        "points": points,
        "rows": [int(record["nodes"][str(node)]["rows"]) for node in made.members],
        "n": record["n"],
        "bits": record["bits"],
        "k": len(centres) // int(record["n"]),
        "centres": list(centres),
        "clustering": clustering,
        "tail_ppm": tail_ppm,
        "reveal": reveal,
        "patience_ms": config.run.patience_ms,
    }
    node, limit = smallest(made.members, max_message or {})
    if len(encoded(run)) > limit:
        # As in a clustering: of so many nodes only the total travels.
        del run["rows"]
    asked = [{**run, "bins": bins} for bins in BINS]
    bounds = [_bound(one, rows) for one in asked]
    for one, bound in zip(asked, bounds, strict=True):
        if bound <= limit:
            return RunPlan(run_number, one, rows, made.root, made.members, 0, bound, record)
    raise PlanError(
        f"to look for anomalies about K = {run['k']} centres of {run['n']} dimensions takes messages of up to "
        f"{bounds[-1]:,} bytes, and node {node} takes {limit:,} (max_message in its node.json): raise it"
    )


def _bound(record: Json, rows: Mapping[int, Json]) -> int:
    """The most bytes of any message of the run."""
    longest_rows = max(len(encoded(row)) for row in rows.values())
    return max(message_bound(checked(record, rows)), len(encoded(record)), longest_rows)
