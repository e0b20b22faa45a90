"""The firmware's core on these readings: what `dcka run` does with a network, with a broker in memory.

Nothing of K-means is here. The plan is the host's (`dcka.runs`), sums, commits and messages are the nodes' own
(`dcka_core`), so that what comes out is what boards with these shares come to, and what is counted is what they send.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from dcka.config import Config
from dcka.emulation.in_memory import Network
from dcka.errors import UsageError
from dcka.estimator.errors import ParameterError, UnfinishedError
from dcka.estimator.kernel import Kernel
from dcka.estimator.steps import Step, Watcher
from dcka.inject.dataset import Dataset
from dcka.mqtt.connection import encoded
from dcka.runs.plan import RunPlan, checked, plan
from dcka.runs.plan_seeding import plan_seeding
from dcka_core.messages import CONVERGED, UNDECIDED
from dcka_core.points import Points, new_points

PER_BLOCK = 16_384
"""Points of a block, where a board's have 8 KB: what fits a core's cache, and half of what its 32-bit sums bear."""
MAX_MESSAGE = 1 << 30
LIMIT_MS = 1 << 28
"""Of the simulated clock, below half a period of a node's: who needs it hangs."""

_BROADCASTS, _BYTES = 2, 3  # in a node's ledger (protocol, section 7)


@dataclass(frozen=True, eq=False)
class Ended:
    """A run to its end, node by node in the order of the ids.

    `centres`: (N, K, n) levels. `ssd`: of the tree the network's, of gossip the nodes' own parts together, in squared
    levels. `broadcasts`, `bytes`: (N,), what each has sent to others, the drawing of a start included. `largest`: bytes
    of the longest message that such a run can have. `drawn`: of `kmeans++`, how many broadcasts and bytes of these.
    """

    plan: RunPlan
    centres: NDArray[np.int64]
    ssd: int
    converged: bool
    decided: bool
    steps: list[Step]
    broadcasts: NDArray[np.int64]
    bytes: NDArray[np.int64]
    drawn: tuple[int, int]


def run(config: Config, dataset: Dataset, given: NDArray[np.float64] | None) -> Ended:
    """Cluster `dataset` as `config` has it, from the centres `given` (K, n) or by the start that it names.

    Raises ParameterError for what no network could do, UnfinishedError for nodes that come to no end.
    """
    network = Network(held(dataset))
    try:
        made, drawn = _planned(network, config, dataset, given)
    except UsageError as error:
        raise ParameterError(_in_words_of_python(str(error))) from None
    watcher = Watcher(checked(made.record, made.rows))
    network.observer, network.on_save = watcher, watcher.saved
    _perform(network, made)
    ids = dataset.node_ids
    final = [network.session(node).held for node in ids]
    ledgers = np.array([network.ledger(node) for node in ids], dtype=np.int64)
    shape = (len(ids), config.run.k, len(dataset.columns))
    return Ended(
        made,
        np.array([commit.centres for commit in final], dtype=np.int64).reshape(shape),
        sum(commit.ssd for commit in final) if made.kind == "gossip" else int(final[0].ssd),
        all(commit.flags & CONVERGED for commit in final),
        not any(commit.flags & UNDECIDED for node in watcher.commits.values() for commit in node.values()),
        watcher.steps(dataset.grid),
        ledgers[:, _BROADCASTS],
        ledgers[:, _BYTES],
        drawn,
    )


def held(dataset: Dataset) -> dict[int, Points]:
    """What each node has in memory: the levels of its data file, in blocks that numpy works on at once."""
    return {node: _points(dataset, levels) for node, levels in dataset.points.items()}


def _points(dataset: Dataset, levels: NDArray[np.uint16]) -> Points:
    count, n = levels.shape
    points = new_points(n, dataset.grid.bits, count, dataset.id, list(dataset.grid.extents))
    points.per_block = PER_BLOCK
    points.kernel = Kernel()
    for begin in range(0, count, PER_BLOCK):
        part = np.ascontiguousarray(levels[begin : begin + PER_BLOCK])
        points.blocks.append((array("H", part.tobytes()), len(part)))  # type: ignore[union-attr]
    points.digest = sha256(levels.tobytes()).digest()
    return points


def _planned(
    network: Network, config: Config, dataset: Dataset, given: NDArray[np.float64] | None
) -> tuple[RunPlan, tuple[int, int]]:
    """The clustering, and what it has cost to draw its start."""
    record = dataset.record()
    room: Mapping[int, int] = dict.fromkeys(dataset.node_ids, MAX_MESSAGE)
    if given is not None:
        return plan(config, record, 1, max_message=room, centres=_rows(given)), (0, 0)
    if config.run.init != "kmeans++":
        return plan(config, record, 1, max_message=room), (0, 0)
    k, n = config.run.k, len(dataset.columns)
    _perform(network, plan_seeding(config, record, 1, max_message=room))
    state = network.session(dataset.node_ids[0]).held.centres
    owners = [owner for owner in state[k * n : k * n + k] if owner]
    if len(owners) < k:
        raise ParameterError(
            f"init = 'kmeans++': only {len(owners)} of the samples are distinct on the grid, and n_clusters = {k} are "
            "asked for; take fewer, or another init"
        )
    ledgers = [network.ledger(node) for node in dataset.node_ids]
    cost = sum(ledger[_BROADCASTS] for ledger in ledgers), sum(ledger[_BYTES] for ledger in ledgers)
    drawn = _rows(np.array(state[: k * n], dtype=np.float64).reshape(k, n))
    made = plan(config, record, 2, max_message=room, centres=drawn, on_grid=True, seeding=1)
    return made, cost


def _perform(network: Network, made: RunPlan) -> None:
    """Rows, then the run's record, then whatever the nodes do until all have ended. Raises UnfinishedError."""
    for node, row in made.rows.items():
        network.publish(None, f"rows/{node}", encoded(row), True)
    network.settle()
    network.publish(None, "run", encoded(made.record), True)
    left = list(made.members)

    def ended() -> bool:
        while left:
            session = network.session(left[-1])
            if session is None or session.run.number != made.number or not session.done:
                return False
            left.pop()
        return True

    if not network.run(ended, LIMIT_MS):
        raise UnfinishedError(f"simulated node {left[-1]} came to no end of its run; please report this")
    network.settle()


def _rows(centres: NDArray[np.float64]) -> Sequence[Sequence[float]]:
    return [[float(value) for value in centre] for centre in centres]


def _in_words_of_python(sentence: str) -> str:
    """Where a plan names options of the command line, the parameters that stand for them."""
    for option, parameter in (("--schedule tree", "consensus='tree'"), ("--k", "n_clusters")):
        sentence = sentence.replace(option, parameter)
    return sentence
