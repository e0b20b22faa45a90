"""What a score will be: the run in which the nodes judge a clustering (docs/protocol.md, section 5, "Score")."""

from collections.abc import Mapping, Sequence
from typing import Any

from dcka.config import Config
from dcka.mqtt.connection import encoded
from dcka.runs.identity import record_bytes
from dcka.runs.plan import VERSION, Json, PlanError, RunPlan, checked, points_of, smallest
from dcka.topology import schedule
from dcka_core.bounds import message_bound

SCORE = "score"  # the kind of the run


def plan_score(
    config: Config,
    dataset: Mapping[str, Any],
    run_number: int,
    centres: Sequence[int],
    *,
    max_message: Mapping[int, int] | None = None,
) -> RunPlan:
    """Run `run_number` of the network: a score of `centres`, K·n levels, on the data set of this record.

    It goes over the tree whatever the schedule of the clustering. `max_message` as in `dcka.runs.plan.plan`. Raises
    PlanError.
    """
    record = dict(dataset)
    made = schedule(config.graph, "tree", config.topology.root)
    rows: dict[int, Json] = {node: dict(row) for node, row in made.row_records(run_number).items()}
    run: Json = {
        "v": VERSION,
        "run": run_number,
        "kind": SCORE,
        "members": list(made.members),
        "root": made.root,
        "depth": made.depth,
        "dataset": record["dataset"],
        "points": points_of(config, record),
        "n": record["n"],
        "bits": record["bits"],
        "k": len(centres) // int(record["n"]),
        "centres": list(centres),
        "patience_ms": config.run.patience_ms,
    }
    longest_rows = max(len(encoded(row)) for row in rows.values())
    bound = max(message_bound(checked(run, rows)), record_bytes(run), longest_rows)
    node, limit = smallest(made.members, max_message or {})
    if bound > limit:
        raise PlanError(
            f"to score K = {run['k']} clusters of {run['n']} dimensions takes messages of up to {bound:,} bytes, and "
            f"node {node} takes {limit:,} (max_message in its node.json): end --k-range earlier, take fewer columns, "
            f"or raise max_message to {bound:,}"
        )
    return RunPlan(run_number, run, rows, made.root, made.members, 0, bound, record)
