"""Experiment 1 of the paper: nine Gaussians, an equal share of each at every node.

P. Lin, Y. Wang, H. Qi, Y. Hong, "Distributed consensus-based K-means algorithm in switching multi-agent
networks", J. Syst. Sci. Complex. 31:1128–1145, 2018.
"""

import numpy as np

from dcka.inject.dataset import Dataset, from_values
from dcka.inject.errors import DataError

MEANS = ((0, 0), (0, 3), (0, -3), (3, 0), (-3, 0), (3, -3), (3, 3), (-3, 3), (-3, -3))
DEVIATION = 0.8  # covariance 0.64·I


def gaussians(seed: int, nodes: int = 5, per_gaussian: int = 100) -> Dataset:
    """`per_gaussian` points of each of the nine at every node 1 … `nodes`, columns x and y.

    The labels are the indices of the Gaussians, "0" to "8", in the order of `MEANS`. A seed gives the same
    readings under every numpy: the stream is RandomState's, which numpy keeps frozen.
    Raises DataError for a negative seed, no nodes or no points.
    """
    if seed < 0:
        raise DataError(f"seed {seed}: take a whole number from 0")
    if nodes < 1 or per_gaussian < 1:
        raise DataError(f"{nodes} nodes with {per_gaussian} points of each Gaussian: need at least 1 of both")
    stream = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed)))
    centres = np.repeat(np.array(MEANS, dtype=np.float64), per_gaussian, axis=0)
    labels = np.repeat(np.arange(len(MEANS)), per_gaussian).astype(np.str_)
    values = {
        node: centres + DEVIATION * stream.standard_normal(centres.shape) for node in range(1, nodes + 1)
    }
    return from_values("gaussians", ("x", "y"), values, labels=dict.fromkeys(values, labels))
