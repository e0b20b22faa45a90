"""Samples that the tests of the estimator share."""

import numpy as np


def blobs(samples=300, features=2, centres=4, seed=0):
    """Gaussians of deviation 1 around centres that are drawn from a square of side 20; (samples, features)."""
    draw = np.random.default_rng(seed)
    places = draw.uniform(-10, 10, (centres, features))
    return places[draw.integers(0, centres, samples)] + draw.standard_normal((samples, features))
