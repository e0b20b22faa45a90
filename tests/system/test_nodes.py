"""Emulated nodes of both runtimes at both brokers: online, a run, power cuts, and the same bits everywhere."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_hand import RUNTIMES, ByHand, put_data
from servers import ENGINES, running, wait_until

from dcka.datasets.nine_gaussians import gaussians
from dcka.inject.dataset import Dataset
from dcka.reference import TreeRun, tree_run
from dcka.topology import Graph, Shape, named, schedule
from dcka_core.messages import read_commit
from dcka_core.record import read_run

IDS = (1, 2, 3, 4, 5)
COMBINATIONS = [(engine, runtime) for engine in ENGINES for runtime in RUNTIMES]


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return gaussians(seed=3, nodes=5, per_gaussian=20)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return named(IDS, Shape("experiment1"))


@pytest.fixture(scope="module")
def reference(dataset: Dataset, graph: Graph) -> TreeRun:
    """What the exact run comes to, by numpy alone."""
    members = schedule(graph, "tree").members
    points = [dataset.points[node] for node in members]
    return tree_run(points, members, 9, "local", 1, dataset.grid.extents, 100)


@pytest.fixture
def hand(request: pytest.FixtureRequest) -> Iterator[Any]:
    """`hand(broker)`: somebody who starts runs on network t at this broker."""
    with ExitStack() as stack:

        def make(broker: Any) -> ByHand:
            made = ByHand(broker.address, "t")
            stack.callback(made.close)
            return made

        yield make


def check(hand: ByHand, record: dict[str, Any], reference: TreeRun) -> None:
    """Every node has the reference's final centres, counts and SSD, bit for bit."""
    run = read_run(record)
    for node in IDS:
        assert hand.results[node]["steps"] == len(reference.steps)
        commit = read_commit(hand.commits[node], run)
        assert (commit.centres, commit.counts, commit.ssd) == (
            [int(value) for value in np.ravel(reference.centres)],
            [int(count) for count in reference.counts],
            int(reference.ssd),
        ), node


@pytest.mark.parametrize(("engine", "runtime"), COMBINATIONS)
def test_an_exact_run_has_the_bits_of_the_reference(
    engine: str, runtime: str, dataset: Dataset, graph: Graph, reference: TreeRun, hand: Any, tmp_path: Path
) -> None:
    put_data(dataset, tmp_path)
    with running(engine) as broker, RUNTIMES[runtime]("t", IDS, broker.address, folder=tmp_path) as nodes:
        driver = hand(broker)
        driver.online(IDS)
        record = driver.prepare(1, "tree", dataset, graph)
        driver.finish(record)
        check(driver, record, reference)
        assert all(status["runtime"].startswith(runtime) for status in driver.statuses.values())
        assert nodes.failures() == []


def test_nodes_of_both_runtimes_share_a_run(
    dataset: Dataset, graph: Graph, reference: TreeRun, hand: Any, tmp_path: Path
) -> None:
    put_data(dataset, tmp_path)
    with running("embedded") as broker, ExitStack() as stack:
        halves = zip(RUNTIMES.values(), ((1, 4), (2, 3, 5)) if len(RUNTIMES) == 2 else (IDS,), strict=True)
        for kind, ids in halves:
            stack.enter_context(kind("t", ids, broker.address, folder=tmp_path))
        driver = hand(broker)
        driver.online(IDS)
        record = driver.prepare(1, "tree", dataset, graph)
        driver.finish(record)
        check(driver, record, reference)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_node_that_was_killed_in_a_run_raises_its_boot_count_and_ends_the_run_with_the_others(
    runtime: str, dataset: Dataset, graph: Graph, reference: TreeRun, hand: Any, tmp_path: Path
) -> None:
    put_data(dataset, tmp_path)
    with running("embedded") as broker, RUNTIMES[runtime]("t", IDS, broker.address, folder=tmp_path) as nodes:
        driver = hand(broker)
        driver.online(IDS)
        record = driver.prepare(1, "tree", dataset, graph, patience_ms=50)
        leaf = next(node for node in IDS if node != record["root"])
        nodes.kill(leaf)
        driver.until(lambda: driver.statuses[leaf]["state"] == "offline", "its will")
        driver.publish("run", record)
        others = [node for node in IDS if node != leaf]
        driver.until(lambda: all(driver.statuses[node]["run"] == 1 for node in others), "the others run")
        driver.until(
            lambda: leaf in driver.statuses[record["root"]].get("waiting", []),
            "the root names whom it misses",
        )
        nodes.restart(leaf)
        driver.finish(record)
        check(driver, record, reference)
        assert driver.statuses[leaf]["boot"] == 2
        assert nodes.failures() == []


@pytest.mark.skipif("micropython" not in RUNTIMES, reason="there is no MicroPython here")
def test_a_node_that_ends_by_itself_is_offline_at_once(hand: Any, tmp_path: Path) -> None:
    """Not a clean good-bye, which would take the will along: all would go on waiting for it."""
    with (
        running("embedded") as broker,
        RUNTIMES["micropython"]("t", IDS, broker.address, folder=tmp_path) as nodes,
    ):
        driver = hand(broker)
        driver.online(IDS)
        pid = nodes.node(IDS[0]).pid
        assert pid is not None
        os.kill(pid, signal.SIGINT)
        driver.until(lambda: driver.statuses[IDS[0]]["state"] == "offline", "its will")
        wait_until(lambda: bool(nodes.failures()), "node 1 has ended")
        assert "KeyboardInterrupt" in nodes.failures()[0].sentence


@pytest.mark.skipif("micropython" not in RUNTIMES, reason="there is no MicroPython here")
def test_a_node_whose_configuration_is_wrong_is_shown_with_its_traceback(tmp_path: Path) -> None:
    with (
        running("embedded") as broker,
        RUNTIMES["micropython"]("t", [1, 2], broker.address, folder=tmp_path) as nodes,
    ):
        nodes.kill(1)
        (tmp_path / "1" / "node.json").write_text('{"v":1,"network":"t","node":"one","broker":{}}')
        nodes.restart(1)
        wait_until(lambda: bool(nodes.failures()), "node 1 has ended")
        [failure] = nodes.failures()
    assert failure.sentence == (
        "node 1 crashed: CoreError: node is 'one' in node.json (dcka_device.config, read)"
    )
    assert failure.output[0].startswith("Traceback")
    assert any('File "dcka_device.config"' in line and line.endswith("in read") for line in failure.output)


def test_a_run_is_finished_on_the_smallest_heap_that_is_promised(
    dataset: Dataset, graph: Graph, hand: Any, tmp_path: Path
) -> None:
    """900 points a node and K = 9 in 112K, exact and gossiped."""
    if "micropython" not in RUNTIMES:
        pytest.skip("there is no MicroPython here")
    from dcka.emulation.micropython import MicroPythonNetwork

    large = gaussians(seed=1, nodes=5, per_gaussian=100)
    put_data(large, tmp_path)
    with (
        running("embedded") as broker,
        MicroPythonNetwork("t", IDS, broker.address, folder=tmp_path, heap="112K") as nodes,
    ):
        driver = hand(broker)
        driver.online(IDS)
        for number, kind in ((1, "gossip"), (2, "tree")):
            driver.finish(driver.prepare(number, kind, large, graph))
        assert nodes.failures() == []
