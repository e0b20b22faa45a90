"""Experiment 1, result 5: DKM and DCKA under one stopping rule, in the paper's accounting and in bytes."""

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.experiments.consensus import matrices
from dcka.experiments.network import Network, basis_of, own_starts
from dcka.reference import InnerClock, dcka, dkm, experiment1_phases, union

ETA = 10.0
ITERATIONS = 400
SLOTS = tuple(range(1, 13))
"""Of a step, tried for DCKA; the fewest links × slots count."""
OUTER_STEPS = 60
WITHIN = (0.01, 0.001)
NUMBER_BYTES = 8
"""Of a float64, as both simulations have them; 4 halves both."""

Record = dict[str, Any]


def settled(ssds: NDArray[np.float64], final: float, within: float) -> int | None:
    """The stopping rule: the first place from which on the SSD stays within `within` of `final`; or None."""
    outside = np.flatnonzero(~(np.abs(ssds / final - 1) <= within))
    place = int(outside[-1]) + 1 if len(outside) else 0
    return place if place < len(ssds) else None


def compare(net: Network, k: int, seeds: Sequence[int]) -> Record:
    """Both methods from the same literal starts, for each seed; medians and ranges under each part of WITHIN.

    `link_slots`: links × steps, the paper's "N_b" count, a link carrying both ways in one. `bytes`: 2·K·(n or n + 1)
    numbers a link. `passes`: over all points. DKM runs on (a), DCKA on (b) and (c) in turn. `dcka`: with the number of
    slots a step that comes out cheapest for a start, which nobody knows beforehand; `dcka_slots`: with each number of
    SLOTS for all starts. `final_ssd`: DCKA's with consensus to rounding.
    """
    rows = [_one(net, k, seed) for seed in seeds]
    found: Record = {"k": k, "eta": ETA, "starts": len(rows), "rows": rows}
    for method in ("dkm", "dcka"):
        found[method] = {
            f"{within:g}": _settled([row[method][f"{within:g}"] for row in rows]) for within in WITHIN
        }
    found["dcka_slots"] = {
        str(slots): {
            f"{within:g}": _settled([row["dcka_slots"][slots][f"{within:g}"] for row in rows])
            for within in WITHIN
        }
        for slots in SLOTS
    }
    for method in ("dkm", "dcka"):
        found[method]["final_ssd"] = _range([row[method]["final_ssd"] for row in rows])
    found["dkm"]["disagreement"] = _range([row["dkm"]["disagreement"] for row in rows])
    found["dcka_better_final"] = sum(
        row["dcka"]["final_ssd"] < row["dkm"]["final_ssd"] * (1 - 1e-6) for row in rows
    )
    found["dkm_better_final"] = sum(
        row["dkm"]["final_ssd"] < row["dcka"]["final_ssd"] * (1 - 1e-6) for row in rows
    )
    return found


def _one(net: Network, k: int, seed: int) -> Record:
    starts = [start for start in own_starts(net, "local", k, seed) if start is not None]
    links = union(experiment1_phases())
    run = dkm(net.tables, starts, links, ETA, ITERATIONS)
    final = float(run.ssd[-1])
    dimensions = net.tables[0].shape[1]
    by_dkm: Record = {"final_ssd": final, "disagreement": float(run.disagreement[-1])}
    for within in WITHIN:
        iterations = settled(run.ssd, final, within)
        by_dkm[f"{within:g}"] = None if iterations is None else _cost(
            iterations, len(links) * iterations, iterations, k, dimensions
        )  # fmt: skip
    final, by_slots = _dcka(net, starts, k, seed)
    cheapest: Record = {"final_ssd": final}
    for within in WITHIN:
        costs = [own[f"{within:g}"] for own in by_slots.values() if own[f"{within:g}"] is not None]
        cheapest[f"{within:g}"] = min(costs, key=lambda cost: cost["link_slots"], default=None)
    return {"seed": seed, "dkm": by_dkm, "dcka": cheapest, "dcka_slots": by_slots}


def _cost(steps: int, link_slots: int, passes: int, k: int, numbers: int) -> Record:
    size = 2 * link_slots * k * numbers * NUMBER_BYTES
    return {"steps": steps, "link_slots": link_slots, "passes": passes, "bytes": size}


def _dcka(
    net: Network, starts: Sequence[NDArray[np.float64]], k: int, seed: int
) -> tuple[float, dict[int, Record]]:
    """(the final SSD with consensus to rounding; for each number of SLOTS a step the cost for each part of WITHIN of
    that SSD, None where it is not reached)."""
    links = [len(phase) for phase in experiment1_phases()]
    basis, numbers = basis_of(net, k, seed), net.tables[0].shape[1] + 1
    final = dcka(net.tables, starts, InnerClock(matrices(), slots=60), OUTER_STEPS, basis, False).ssd
    found: dict[int, Record] = {}
    for slots in SLOTS:
        run = dcka(net.tables, starts, InnerClock(matrices(), slots=slots), OUTER_STEPS, basis, False)
        # Of step t the SSD belongs to the centres before its update: those after t steps.
        ssds = np.array([float(step.ssd.sum()) for step in run.steps] + [run.ssd])
        a_step = sum(links[s % len(links)] for s in range(slots))
        found[slots] = {}
        for within in WITHIN:
            steps = settled(ssds, final, within)
            cost = (
                None if steps is None else _cost(steps, a_step * steps, steps, k, numbers) | {"slots": slots}
            )
            found[slots][f"{within:g}"] = cost
    return final, found


def _settled(costs: Sequence[Record | None]) -> Record:
    """The ranges of those that settled, and how many did."""
    own = [cost for cost in costs if cost is not None]
    return _ranges(own) | {"settled": len(own)}


def _ranges(rows: Sequence[Record]) -> Record:
    return {name: _range([row[name] for row in rows]) for name in rows[0]} if rows else {}


def _range(values: Sequence[float]) -> list[float]:
    """[median, least, greatest]."""
    return [float(median(values)), float(min(values)), float(max(values))]
