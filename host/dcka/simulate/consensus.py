"""The two runs: exact, up a spanning tree in whole numbers, and the paper's gossip in float64."""

from typing import Any

import numpy as np

from dcka.reference import cka_grid, round_half_up, shared_start
from dcka.reference.dcka_float import spread
from dcka.simulate.graph import Graph, breadth_first, metropolis
from dcka.simulate.nodes import Nodes, Whole, local_draws, own_sums

Record = dict[str, Any]


def exact(nodes: Nodes, graph: Graph, k: int, seed: int, max_steps: int) -> Record:
    """Sums go up the tree, level by level; the root's centres come down. `bit_identical`: K-means on the grid, on all
    points, from the centres of step 0, ends with the same. `broadcasts`: one up for each node but the root, one down
    for each that has children."""
    tree = breadth_first(graph)
    drawn = np.take_along_axis(nodes.whole, local_draws(nodes, k, seed)[..., None], axis=1)
    centres: Whole = drawn
    basis = shared_start(nodes.grid.extents, k, seed)
    steps, converged, first = 0, False, basis
    while steps < max_steps and not converged:
        sums = own_sums(nodes.whole, centres)[0].astype(np.int64)
        for level in reversed(tree.levels):  # children before their parents
            np.add.at(sums, tree.parents[level], sums[level])
        root = sums[tree.order[0]]
        after = basis.copy()
        full = root[:, 0] > 0
        after[full] = round_half_up(root[full, 1:], root[full, 0])
        converged = steps > 0 and bool(np.array_equal(after, centres))
        centres = basis = after
        first = after if steps == 0 else first
        steps += 1
    flat = nodes.whole.reshape(-1, nodes.whole.shape[2])
    central = cka_grid(flat, first, max(1, max_steps - 1))
    return {
        "outer_steps": steps,
        "converged": converged,
        "bit_identical": bool(np.array_equal(central.centres, centres)),
        "depth": len(tree.levels),
        "broadcasts": steps * (nodes.count - 1 + tree.inner),
        "broadcasts_per_step": nodes.count - 1 + tree.inner,
        "ssd": own_sums(nodes.points, nodes.grid.to_units(centres))[1],
        "centres": nodes.grid.to_units(centres).tolist(),
    }


def gossip(
    nodes: Nodes, graph: Graph, k: int, seed: int, tolerance: float, max_slots: int, max_steps: int
) -> Record:
    """Mass mixes phase by phase, until the ratios of any two nodes differ by at most `tolerance` (the points' units)
    or `max_slots` are over; a cluster without mass keeps its centre. The run ends where no centre of any node goes
    farther than twice that, which is what nodes could know. `broadcasts`: one for each node that has a neighbour in
    the slot."""
    weights = [metropolis(graph.nodes, pairs) for pairs in graph.phases]
    senders = [len(np.unique(pairs)) for pairs in graph.phases]
    centres = np.take_along_axis(nodes.points, local_draws(nodes, k, seed)[..., None], axis=1)
    record: Record = {"outer_steps": 0, "converged": False, "slots": 0, "broadcasts": 0, "agreed": True}
    while record["outer_steps"] < max_steps and not record["converged"]:
        x = own_sums(nodes.points, centres)[0]
        shape, slot = x.shape, 0
        while (gap := spread(x)) > tolerance and slot < max_slots:
            x = (weights[slot % len(weights)] @ x.reshape(shape[0], -1)).reshape(shape)
            record["broadcasts"] += senders[slot % len(senders)]
            slot += 1
        record["agreed"] = record["agreed"] and gap <= tolerance
        with np.errstate(divide="ignore", invalid="ignore"):
            after = np.where(x[..., :1] > 0, x[..., 1:] / x[..., :1], centres)
        moved = float(np.abs(after - centres).max())
        record["slots"] += slot
        record["outer_steps"] += 1
        record["converged"] = moved <= 2 * tolerance
        centres = after
    record["ssd"] = own_sums(nodes.points, centres)[1]
    record["disagreement"] = float(np.ptp(centres, axis=0).max())
    record["centres"] = centres[0].tolist()
    return record
