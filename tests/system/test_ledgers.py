"""The ledger of emulated nodes: the same counts whatever runs them, and a new one with each boot."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from by_hand import RUNTIMES, ByHand, put_data
from servers import running

from dcka.datasets.nine_gaussians import gaussians
from dcka.inject.dataset import Dataset
from dcka.topology import Shape, named

pytestmark = pytest.mark.system

IDS = (1, 2, 3, 4, 5)
GRAPH = named(IDS, Shape("experiment1"))
# Nobody says anything twice for impatience, however busy this machine is.
PATIENT = {"patience_ms": 20_000, "max_steps": 12}
ASSOCIATIONS, COMPUTING = 1, 6


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return gaussians(seed=3, nodes=5, per_gaussian=60)


def results(runtime: str, dataset: Dataset, folder: Path) -> tuple[list[dict[int, Any]], dict[int, Any]]:
    """(the results of a run of `gossip` and one of `tree`, by node; the statuses after node 3 has been restarted)."""
    put_data(dataset, folder)
    found = []
    with (
        running("embedded") as broker,
        RUNTIMES[runtime]("t", IDS, broker.address, folder=folder) as nodes,
        closing(ByHand(broker.address, "t")) as driver,
    ):
        driver.online(IDS, boot=1)
        for number, kind in enumerate(("gossip", "tree"), 1):
            driver.finish(driver.prepare(number, kind, dataset, GRAPH, **PATIENT))
            found.append(dict(driver.results))
        nodes.restart(3)
        driver.online([3], boot=2)
        assert nodes.failures() == []
        return found, dict(driver.statuses)


@pytest.mark.skipif(len(RUNTIMES) < 2, reason="there is no MicroPython for this platform")
def test_both_runtimes_count_the_same_and_begin_anew_with_each_boot(dataset: Dataset, tmp_path: Path) -> None:
    both = {runtime: results(runtime, dataset, tmp_path / runtime) for runtime in RUNTIMES}
    counts = {
        runtime: [
            {node: result["ledger"][:COMPUTING] for node, result in sorted(run.items())} for run in runs
        ]
        for runtime, (runs, _) in both.items()
    }
    assert counts["cpython"] == counts["micropython"]
    for runs, statuses in both.values():
        for run in runs:
            assert all(result["boot"] == 1 and result["ledger"][ASSOCIATIONS] == 0 for result in run.values())
            computing = [result["ledger"][COMPUTING] for result in run.values()]
            assert sum(computing) > 0
            assert all(
                entry <= result["ms"] + 1000 for entry, result in zip(computing, run.values(), strict=True)
            )
        assert statuses[3]["boot"] == 2
        assert statuses[3]["ledger"][: ASSOCIATIONS + 1] == [0, 1]
        whole = statuses[1]["ledger"]
        assert whole[ASSOCIATIONS] == 1
        spent = [run[1]["ledger"] for run in runs]
        assert all(whole[place] >= sum(one[place] for one in spent) > 0 for place in (0, 2, 3, 4, 5))
