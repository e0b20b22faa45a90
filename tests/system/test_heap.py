"""What a node's small heap has to bear: the sizes that are promised, and many runs one after the other (case C41)."""

from contextlib import closing
from pathlib import Path

import pytest
from by_hand import ByHand, put_data
from servers import running

from dcka.datasets.nine_gaussians import gaussians
from dcka.emulation.micropython import MicroPythonNetwork, available
from dcka.topology import Shape, named

IDS = (1, 2, 3, 4, 5)
GRAPH = named(IDS, Shape("experiment1"))

pytestmark = pytest.mark.skipif(not available(), reason="there is no MicroPython for this platform")


@pytest.mark.parametrize(
    ("per_gaussian", "k", "heap", "kinds"),
    [
        (100, 9, "88K", ["gossip", "tree"]),
        # 5,004 points a node. Twice each: the second finds a heap that the first has scattered.
        (556, 20, "128K", ["gossip", "tree", "gossip", "tree"]),
    ],
)
def test_the_promised_sizes_pass(
    tmp_path: Path, per_gaussian: int, k: int, heap: str, kinds: list[str]
) -> None:
    dataset = gaussians(seed=25, nodes=5, per_gaussian=per_gaussian)
    put_data(dataset, tmp_path)
    with (
        running("embedded") as broker,
        MicroPythonNetwork("t", IDS, broker.address, folder=tmp_path, heap=heap) as nodes,
        closing(ByHand(broker.address, "t")) as driver,
    ):
        driver.online(IDS)
        for number, kind in enumerate(kinds, 1):
            record = driver.prepare(number, kind, dataset, GRAPH, k=k, max_steps=12)
            driver.finish(record)
        assert nodes.failures() == []


def test_a_heap_does_not_fill_up_over_many_runs_and_an_outage(tmp_path: Path) -> None:
    dataset = gaussians(seed=25, nodes=5, per_gaussian=100)
    put_data(dataset, tmp_path / "flash")
    with (
        running("embedded", folder=tmp_path / "broker") as broker,
        MicroPythonNetwork("t", IDS, broker.address, folder=tmp_path / "flash", heap="112K") as nodes,
        closing(ByHand(broker.address, "t")) as driver,
    ):
        driver.online(IDS)
        live: list[int] = []
        for number in range(1, 21):
            if number == 10:
                broker.restart()
                driver.close()
                driver = ByHand(broker.address, "t")
                driver.online(IDS)
            driver.finish(driver.prepare(number, "tree", dataset, GRAPH))
            live.append(max(result["heap"] for result in driver.results.values()))
        assert nodes.failures() == []
    assert live[-1] <= 1.02 * live[1], live
