"""`tree_float32`: ours without its coding and its care: float32 sums up the tree, float32 centres down, in full.

A message has a head and numbers: no epoch, no hash, no set of contributors, so whatever is lost goes unnoticed.
"""

import numpy as np

from dcka.bench.float_messages import UP, Floats, numbers
from dcka.bench.floats import Float, FloatData, ratio
from dcka.bench.shape import Branches
from dcka.bench.traffic import Traffic
from dcka_core.messages import COMMIT


def float_tree(data: FloatData, tree: Branches, steps: int) -> tuple[Float, Traffic]:
    """(centres (K, n) that all nodes end with, messages) of so many outer steps."""
    traffic = Traffic(tree.ids)
    centres, basis = data.starts, data.basis
    for step in range(steps):
        total = _up(data.sums(centres).astype(np.float32), tree, step, traffic)
        basis = ratio(total.astype(np.float64), basis).astype(np.float32).astype(np.float64)
        for index in tree.inner:
            payload = numbers(COMMIT, tree.ids[index], step + 1, basis.astype(np.float32))
            traffic.message(
                tree.ids[index], len(payload), [tree.ids[child] for child in tree.children[index]]
            )
        centres = data.everywhere(basis)
    return basis, traffic


def _up(sums: Floats, tree: Branches, step: int, traffic: Traffic) -> Floats:
    """The root's total (K, n + 1), added up in float32 in the order in which children stand in the tree."""
    for index in reversed(tree.order):
        parent = tree.parents[index]
        if parent >= 0:
            payload = numbers(UP, tree.ids[index], step, sums[index])
            traffic.message(tree.ids[index], len(payload), [tree.ids[parent]])
            sums[parent] += sums[index]
    total: Floats = sums[tree.root]
    return total
