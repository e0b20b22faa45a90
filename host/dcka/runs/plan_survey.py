"""What a survey will be: the run in which nodes agree on the range of their readings (docs/protocol.md, section 5)."""

from collections.abc import Mapping
from typing import Any

from dcka.config import Config
from dcka.inject.quantise import bits_for
from dcka.mqtt.connection import encoded
from dcka.runs.identity import record_bytes
from dcka.runs.plan import SURVEY, VERSION, Json, PlanError, RunPlan, checked, points_of, smallest
from dcka.topology import schedule
from dcka_core.bounds import message_bound

BINS = (16, 4, 2)
"""Readings are told apart by so many thresholds a step, less one: the more, the fewer steps and the larger messages."""


def plan_survey(
    config: Config,
    readings: Mapping[str, Any],
    run_number: int,
    *,
    max_message: Mapping[int, int] | None = None,
) -> RunPlan:
    """Run `run_number` of the network: a survey, by [data] of `config`, of the readings of a `ReadingSet.record`.

    It goes over the tree whatever the schedule of the clustering. `max_message` as in `plan`. Raises PlanError.
    """
    record = dict(readings)
    made = schedule(config.graph, "tree", config.topology.root)
    rows: dict[int, Json] = {node: dict(row) for node, row in made.row_records(run_number).items()}
    run: Json = {
        "v": VERSION,
        "run": run_number,
        "kind": SURVEY,
        "members": list(made.members),
        "root": made.root,
        "depth": made.depth,
        "dataset": record["dataset"],
        "points": points_of(config, record),
        "n": record["n"],
        "bits": bits_for(int(record["n"])),
        "patience_ms": config.run.patience_ms,
        "tail_ppm": config.data.tail_ppm,
        "scale": config.data.scale,
    }
    node, limit = smallest(made.members, max_message or {})
    asked = [{**run, "bins": bins} for bins in BINS]
    bounds = [_bound(one, rows) for one in asked]
    for one, bound in zip(asked, bounds, strict=True):
        if bound <= limit:
            return RunPlan(run_number, one, rows, made.root, made.members, 0, bound, record)
    raise PlanError(
        f"to agree on the range of {record['n']} columns nodes send messages of up to {bounds[-1]:,} bytes, and node "
        f'{node} takes {limit:,} (max_message in its node.json): raise it, take fewer columns, or range = "host"'
    )


def _bound(record: Json, rows: Mapping[int, Json]) -> int:
    """The most bytes of any message of the run."""
    longest_rows = max(len(encoded(row)) for row in rows.values())
    return max(message_bound(checked(record, rows)), record_bytes(record), longest_rows)
