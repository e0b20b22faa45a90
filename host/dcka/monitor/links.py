"""Who hears whom in a run, from the rows of its schedule, and how fast gossip over them has to converge."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka_core.record import Rows

Json = dict[str, Any]

MOST_NODES = 300
"""Beyond, the rate isn't worked out: the eigenvalues of a matrix of N×N take N³ operations."""


def row_record(rows: Rows) -> Json:
    """A node's rows for the page: whom it is next to, and what it does in which phase or slot."""
    record: Json = {"near": list(rows.near)}
    if rows.phases:
        return record | {"hears": [sorted(hear) for _, hear in rows.phases]}
    record |= {"parent": rows.parent, "children": list(rows.children)}
    if rows.slots is not None:
        up, get, down, hear = rows.slots
        record["slots"] = {"up": up, "get": get, "down": down, "hear": list(hear)}
    return record


def contraction(rows: Mapping[int, Rows], members: Sequence[int]) -> float | None:
    """By what factor the nodes' disagreement shrinks with each slot of `gossip`, in the long run: |λ₂|^(1/P), λ₂ the
    second largest eigenvalue by modulus of the product of one period's weights, P its slots (L. Xiao, S. Boyd, "Fast
    linear iterations for distributed averaging", 2004).

    None where not all rows are known, where they are of `tree`, or where there are more than MOST_NODES members.
    """
    count = len(members)
    if not 0 < count <= MOST_NODES or any(node not in rows or not rows[node].phases for node in members):
        return None
    periods = {len(rows[node].phases) for node in members}
    if len(periods) != 1:
        return None
    period = periods.pop()
    product: NDArray[np.float64] = np.eye(count)
    for phase in range(period):
        product = _weights(rows, members, phase) @ product
    # Rows and columns of Metropolis' weights add up to 1, so the largest eigenvalue goes with the average.
    second = float(np.abs(np.linalg.eigvals(product - 1 / count)).max())
    return float(second ** (1 / period)) if second > 1e-12 else 0.0


def _weights(rows: Mapping[int, Rows], members: Sequence[int], phase: int) -> NDArray[np.float64]:
    """W[i, h]: the part of h's mass that i gets in the phase."""
    place = {node: index for index, node in enumerate(members)}
    weights: NDArray[np.float64] = np.zeros((len(members), len(members)))
    for node in members:
        shares = rows[node].phases[phase][0]
        weights[place[node], place[node]] = 1 - sum(neighbours / divisor for divisor, neighbours in shares)
        for sender, group in rows[node].phases[phase][1].items():
            if sender in place and group < len(rows[sender].phases[phase][0]):
                weights[place[node], place[sender]] = 1 / rows[sender].phases[phase][0][group][0]
    return weights
