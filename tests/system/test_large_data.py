"""A node whose data are larger than its heap: they stay on its flash, and the outcome is the reference's bits."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from by_hand import ByHand, put_data
from servers import running

from dcka.check import check_seeding
from dcka.config import from_mapping
from dcka.emulation.micropython import MicroPythonNetwork, available
from dcka.inject.dataset import Dataset, from_values
from dcka.inject.readings import as_readings
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.reference import tree_run
from dcka.runs.controller import run
from dcka.runs.plan import plan
from dcka.runs.seed import seed
from dcka.topology import Shape, named, schedule
from dcka_core.messages import read_commit
from dcka_core.record import read_run

IDS = (1, 2, 3)
GRAPH = named(IDS, Shape("line"))
HEAP = "128K"
LARGE = 3
ROWS = {1: 900, 2: 900, LARGE: 60_000}  # 240 KB

pytestmark = pytest.mark.skipif(not available(), reason="there is no MicroPython for this platform")


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    stream = np.random.default_rng(8)
    middles = stream.uniform(-50, 50, (9, 2))
    values = {
        node: middles[stream.integers(0, 9, rows)] + stream.normal(size=(rows, 2))
        for node, rows in ROWS.items()
    }
    return from_values("large", ("x", "y"), values)


@pytest.fixture
def hand(dataset: Dataset, tmp_path: Path) -> Iterator[tuple[MicroPythonNetwork, ByHand]]:
    """Three nodes with their data, online, and who starts runs on them."""
    put_data(dataset, tmp_path)
    with (
        running("embedded") as broker,
        MicroPythonNetwork("t", IDS, broker.address, folder=tmp_path, heap=HEAP) as nodes,
        closing(ByHand(broker.address, "t")) as driver,
    ):
        driver.online(IDS)
        yield nodes, driver


@pytest.mark.parametrize("init", ["local", "shared", "partition"])
def test_more_data_than_heap_and_the_same_bits(
    hand: tuple[MicroPythonNetwork, ByHand], dataset: Dataset, init: str
) -> None:
    nodes, driver = hand
    assert len(dataset.data_file(LARGE)) > 128 * 1024
    assert driver.statuses[LARGE]["rows"] == ROWS[LARGE]
    record = driver.prepare(1, "tree", dataset, GRAPH, init=init, max_steps=8)
    driver.finish(record)
    members = schedule(GRAPH, "tree").members
    points = [dataset.points[node] for node in members]
    expected = tree_run(points, members, 9, init, 1, dataset.grid.extents, 8)
    for node in IDS:
        commit = read_commit(driver.commits[node], read_run(record))
        assert (commit.centres, commit.counts, commit.ssd) == (
            [int(value) for value in np.ravel(expected.centres)],
            [int(count) for count in expected.counts],
            int(expected.ssd),
        ), node
        assert driver.results[node]["missing"] == []
    assert nodes.failures() == []


def test_new_data_take_the_memory_of_the_old_ones_also_after_a_run_in_slots(dataset: Dataset) -> None:
    config = from_mapping({"network": {"name": "t", "nodes": list(IDS)}, "topology": {"kind": "line"}})
    config = config.replaced("run", None, k=9, max_steps=2, slot_ms=60)
    other = from_values("other", ("x", "y"), {node: table.round(3) for node, table in dataset.values.items()})
    with (
        running("embedded") as broker,
        MicroPythonNetwork("t", IDS, broker.address, heap=HEAP) as nodes,
        Connection(broker.address, "t") as connection,
    ):
        for number, data in enumerate((dataset, other, as_readings(other), dataset), 1):
            send(connection, data)
            if isinstance(data, Dataset):
                made = plan(config, data.record(), number)
                assert run(connection, made, limit_s=made.longer(30)).finished
        assert nodes.failures() == []


def test_a_start_is_drawn_from_data_on_flash(dataset: Dataset, tmp_path: Path) -> None:
    """Weights are summed block by block from the file, and the point is found in one block of it."""
    put_data(dataset, tmp_path)
    config = from_mapping({"network": {"name": "t", "nodes": list(IDS)}, "topology": {"kind": "line"}})
    config = config.replaced("run", None, k=9, seed=3, init="kmeans++")
    with (
        running("embedded") as broker,
        MicroPythonNetwork("t", IDS, broker.address, folder=tmp_path, heap=HEAP) as nodes,
        Connection(broker.address, "t") as connection,
    ):
        seeded = seed(connection, config, dataset.record(), 1, limit_s=60)
        assert LARGE in seeded.drawn.owners
        assert check_seeding(seeded.outcome, dataset).word == "PASS"
        assert nodes.failures() == []


def test_gossip_runs_on_data_on_flash(hand: tuple[MicroPythonNetwork, ByHand], dataset: Dataset) -> None:
    nodes, driver = hand
    driver.finish(driver.prepare(1, "gossip", dataset, GRAPH, max_steps=3))
    assert nodes.failures() == []


def test_a_block_that_goes_bad_is_named_and_the_others_end_without_its_node(
    hand: tuple[MicroPythonNetwork, ByHand], dataset: Dataset, tmp_path: Path
) -> None:
    nodes, driver = hand
    record = driver.prepare(1, "tree", dataset, GRAPH, init="shared", max_steps=8)
    path = tmp_path / str(LARGE) / "data.bin"
    content = bytearray(path.read_bytes())
    content[24 + 5 * 8196 + 77] ^= 1
    path.write_bytes(content)
    driver.publish("run", record)
    driver.until(lambda: set(driver.results) == {1, 2}, "the others' results")
    assert all(driver.results[node]["missing"] == [LARGE] for node in (1, 2))
    told = (
        "the data can't be read: block 5 of data.bin is damaged (its CRC-32 is wrong): inject the data again"
    )
    driver.until(lambda: driver.statuses[LARGE].get("problem") == told, "the node names its block")
    assert driver.statuses[LARGE]["dataset"] == "" and LARGE not in driver.results
    assert nodes.failures() == []
