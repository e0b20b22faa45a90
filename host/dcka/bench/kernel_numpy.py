"""The cases of `dcka bench kernel` with numpy: the integers that every kernel has to add, and the time of one thread.

`python -m dcka.bench.kernel_numpy CASE ROUNDS STEPS` times one; `numpy_us` runs it, as how many threads numpy takes is
settled when it is loaded.
"""

import hashlib
import os
import subprocess
import sys
import time

import numpy as np
from numpy.typing import NDArray

from dcka.bench import kernel_on_node
from dcka.bench.errors import BenchError
from dcka.bench.kernel_cases import CASES, Case
from dcka.reference.lloyd import tally, updated_grid

_LIMIT_S = 120
# numpy chooses its code by the machine, whatever somebody has set for another purpose; and one thread is compared.
_UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_ONE = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def tables(case: Case) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The points (m, n) of a case, as the node makes them, and its first centres (K, n)."""
    points = kernel_on_node.made_points(case.n, case.bits, case.points, case.middles, case.seed)
    flat = np.concatenate([np.frombuffer(block, np.uint16) for block, _ in points.blocks])
    centres = kernel_on_node.start(points, case.k)
    return flat.reshape(-1, case.n).astype(np.int64), np.array(centres, np.int64).reshape(-1, case.n)


def numpy_digest(case: Case, steps: int) -> str:
    """SHA-256 over (sums, SSD) of each step, by the reference; written as the node writes them."""
    points, centres = tables(case)
    digest = hashlib.sha256()
    for _ in range(steps):
        found = tally(points, centres)
        rows = np.column_stack([found.counts, found.sums]).ravel().tolist()
        digest.update(repr((rows, int(found.ssd))).encode())
        centres = updated_grid(centres, found.sums, found.counts)
    return digest.hexdigest()


def numpy_us(name: str, rounds: int, steps: int) -> float:
    """µs of one step of a case with numpy on one thread, in a process of its own. Raises BenchError."""
    environment = {key: value for key, value in os.environ.items() if key not in _UNSET}
    environment.update(dict.fromkeys(_ONE, "1"))
    # -P: what lies in the current folder is not imported.
    command = [sys.executable, "-P", "-m", "dcka.bench.kernel_numpy", name, str(rounds), str(steps)]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_LIMIT_S, check=True
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise BenchError(f"case {name} with numpy: {error}") from error
    return float(done.stdout)


def step_us(case: Case, rounds: int, steps: int) -> float:
    """µs of a step, each step's least over the rounds: distances as |c|² − 2xc by one product of matrices. In float64
    these integers are exact, so the sums are the same.
    """
    whole, first = tables(case)
    points = whole.astype(np.float64)
    squares = (points * points).sum(axis=1)
    least = [float("inf")] * steps
    for _ in range(rounds):
        centres = first
        for step in range(steps):
            began = time.perf_counter()
            places = centres.astype(np.float64)
            distances = (places * places).sum(axis=1) - 2.0 * (points @ places.T)
            nearest = distances.argmin(axis=1)
            counts = np.bincount(nearest, minlength=case.k)
            sums = np.stack(
                [np.bincount(nearest, weights=points[:, j], minlength=case.k) for j in range(case.n)], axis=1
            )
            float(distances[np.arange(len(points)), nearest].sum() + squares.sum())
            least[step] = min(least[step], time.perf_counter() - began)
            centres = updated_grid(centres, sums.astype(np.int64), counts)
    return sum(least) / steps * 1e6


if __name__ == "__main__":
    print(step_us(CASES[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])))
