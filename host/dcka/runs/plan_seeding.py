"""What a seeding will be: the run in which nodes draw K of their points as a start (docs/protocol.md, section 5)."""

from collections.abc import Mapping
from typing import Any

from dcka.config import Config
from dcka.mqtt.connection import encoded
from dcka.runs.identity import record_bytes
from dcka.runs.plan import (
    SEEDING,
    VERSION,
    Json,
    PlanError,
    RunPlan,
    checked,
    points_of,
    require_points,
    smallest,
)
from dcka.topology import schedule
from dcka_core.bounds import message_bound


def plan_seeding(
    config: Config,
    dataset_record: Mapping[str, Any],
    run_number: int,
    *,
    max_message: Mapping[int, int] | None = None,
    distinct: int | None = None,
) -> RunPlan:
    """Run `run_number` of the network: a seeding, by [run] of `config`, on the data set of `dataset_record`.

    It goes over the tree whatever the schedule of the clustering. `max_message`, `distinct` as in `plan`. Raises
    PlanError.
    """
    dataset = dict(dataset_record)
    made = schedule(config.graph, "tree", config.topology.root)
    rows: dict[int, Json] = {node: dict(row) for node, row in made.row_records(run_number).items()}
    points = points_of(config, dataset)
    require_points(config.run.k, points, distinct, str(dataset.get("name", "the data set")))
    record: Json = {
        "v": VERSION,
        "run": run_number,
        "kind": SEEDING,
        "members": list(made.members),
        "root": made.root,
        "depth": made.depth,
        "dataset": dataset["dataset"],
        "points": points,
        "n": dataset["n"],
        "bits": dataset["bits"],
        "k": config.run.k,
        "seed": config.run.seed,
        "patience_ms": config.run.patience_ms,
    }
    longest_rows = max(len(encoded(row)) for row in rows.values())
    bound = max(message_bound(checked(record, rows)), record_bytes(record), longest_rows)
    node, limit = smallest(made.members, max_message or {})
    if bound > limit:
        raise PlanError(
            f"to draw K = {config.run.k} centres of {dataset['n']} dimensions nodes send messages of up to {bound:,} "
            f"bytes, and node {node} takes {limit:,} (max_message in its node.json): raise it, take fewer clusters or "
            "columns, or another --init"
        )
    return RunPlan(run_number, record, rows, made.root, made.members, 0, bound, dataset)
