"""Which runs a list has, and what it says of each: one query, one dict a row."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, and_, select

from dcka.history import schema
from dcka.history.stored import Json, iso


def listing() -> Select[Any]:
    """What StoredRun has of itself: not the record, which is long."""
    runs, datasets = schema.runs, schema.datasets
    columns = [column for column in runs.c if column.name not in ("record", "verdict_record")]
    same = and_(datasets.c.network == runs.c.network, datasets.c.dataset == runs.c.dataset)
    return select(*columns, datasets.c.name, datasets.c.unit).select_from(runs.outerjoin(datasets, same))


def wanted_runs(
    network: str | None,
    limit: int | None,
    before: int | None,
    kinds: Sequence[str],
    state: str | None,
    since: float | None,
) -> Select[Any]:
    """Of `listing`, the newest first, those that are asked for."""
    runs = schema.runs.c
    wanted = listing().order_by(runs.id.desc()).limit(limit)
    if network is not None:
        wanted = wanted.where(runs.network == network)
    if before is not None:
        wanted = wanted.where(runs.id < before)
    if kinds:
        wanted = wanted.where(runs.kind.in_(list(kinds)))
    if state is not None:
        wanted = wanted.where(runs.state == state)
    if since is not None:
        wanted = wanted.where(runs.begun_at >= since)
    return wanted


def summary_of(row: tuple[Any, ...]) -> Json:
    """What `StoredRun.summary` says of a row of `listing`, as the driver has it: a truth value may be 0 or 1."""
    (
        id_, uid, network, number, kind, k, nodes, dataset, begun_at, unseen, heard_at,
        state, steps, ssd, converged, missing, reason, wall_s, verdict, _, name, unit,
    ) = row  # fmt: skip
    return {
        "run": number,
        "network": network,
        "uid": uid,
        "id": id_,
        "kind": kind,
        "k": k,
        "nodes": nodes,
        "dataset": dataset,
        "data": name or "",
        "began_at": iso(begun_at),
        "unseen": bool(unseen),
        "heard_at": iso(heard_at),
        "state": state,
        "step_count": steps,
        "ssd": None if ssd is None else ssd * (1.0 if unit is None else unit),
        "in_units": unit is not None,
        "converged": None if converged is None else bool(converged),
        # A tuple: a dict of what can hold no other thing is none of the garbage collector's.
        "missing": () if missing == "[]" else tuple(json.loads(missing)),
        "reason": reason,
        "wall_s": wall_s,
        "verdict": verdict,
    }
