"""A survey with real nodes, a broker and flash: the grid of the reference, and data files that are its points."""

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_hand import RUNTIMES, ByHand
from numpy.typing import NDArray
from servers import running

from dcka.inject.data_file import decode, encode_readings, readings_id
from dcka.reference import SurveyRun, survey_run
from dcka.topology import Graph, Shape, named, schedule

IDS = (1, 2, 3, 4)
GRAPH = named(IDS, Shape("line"))
BITS = 15


def tables(size: int) -> dict[int, NDArray[np.int32]]:
    """Two columns of unlike size, a few readings far out."""
    draw = np.random.default_rng(3)
    found = {}
    for node in IDS:
        table = draw.normal(0, 1, (size + node, 2)) * np.array([3000, 70]) + np.array([0, 50_000])
        table[::97] *= 30
        found[node] = table.astype(np.int32)
    return found


def put_readings(readings: dict[int, NDArray[np.int32]], folder: Path) -> bytes:
    """Each node's readings onto its flash in `folder`; their id."""
    name = readings_id(readings, 2)
    for node, table in readings.items():
        (folder / str(node)).mkdir(parents=True)
        (folder / str(node) / "readings.bin").write_bytes(encode_readings(table, 2, name))
    return name


def record(number: int, graph: Graph, name: bytes, points: int, **changes: Any) -> dict[str, Any]:
    plan = schedule(graph, "tree")
    return {
        "v": 1,
        "run": number,
        "kind": "survey",
        "members": list(plan.members),
        "root": plan.root,
        "depth": plan.depth,
        "dataset": name.hex(),
        "points": points,
        "n": 2,
        "bits": BITS,
        "patience_ms": 300,
        "bins": 16,
        "tail_ppm": 1000,
        "scale": "std",
        **changes,
    }


def announce(driver: ByHand, number: int) -> None:
    """Publish the rows of a run over the tree, and wait until all have them."""
    rows = schedule(GRAPH, "tree").row_records(number)

    def say() -> None:
        for node, row in rows.items():
            driver.publish(f"rows/{node}", row)

    say()
    driver.until(lambda: all(driver.statuses[node].get("prepared") == number for node in rows), "rows", say)


def check(driver: ByHand, folder: Path, readings: dict[int, NDArray[np.int32]], wanted: SurveyRun) -> None:
    """Every node has the reference's points on its flash, and says so."""
    name = wanted.grid.dataset(readings_id(readings, 2))

    def made() -> bool:
        return all(driver.statuses[node].get("dataset") == name.hex() for node in IDS)

    driver.until(made, f"points of {name.hex()}")
    for node in IDS:
        levels, clipped = wanted.grid.quantise(readings[node])
        file = decode((folder / str(node) / "data.bin").read_bytes())
        assert np.array_equal(file.points, levels), node
        assert (file.dataset_id, file.bits, file.extents) == (name, BITS, wanted.grid.extents)
        status = driver.statuses[node]
        assert status["clipped"] == clipped.tolist()
        assert status["data"] == file.checksum[:16]
        assert "problem" not in status


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_nodes_agree_quantise_and_cluster(tmp_path: Path, runtime: str) -> None:
    readings = tables(900)
    flash = tmp_path / "flash"
    name = put_readings(readings, flash)
    points = sum(map(len, readings.values()))
    wanted = survey_run([readings[node] for node in IDS], BITS, tail_ppm=1000, scale="std")
    assert wanted.grid.width[0] != wanted.grid.width[1]
    with (
        running("embedded") as broker,
        RUNTIMES[runtime]("t", IDS, broker.address, folder=flash) as nodes,
        closing(ByHand(broker.address, "t")) as driver,
    ):
        driver.online(IDS)
        assert {driver.statuses[node]["readings"] for node in IDS} == {name.hex()}
        announce(driver, 1)
        driver.finish(record(1, GRAPH, name, points))
        check(driver, flash, readings, wanted)
        # Who comes back finds the survey done, and what it made.
        nodes.restart(3)
        driver.online(IDS[2:3], boot=2)
        check(driver, flash, readings, wanted)
        announce(driver, 2)
        clustering = record(
            2, GRAPH, wanted.grid.dataset(name), points, kind="tree", k=4, init="shared", seed=1
        )
        driver.finish({**clustering, "max_steps": 50})
        assert {driver.results[node]["missing"] == [] for node in IDS} == {True}
        assert nodes.failures() == []


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_points_that_have_no_place(tmp_path: Path, runtime: str) -> None:
    """The readings are gone when the survey is final: the node says so, and the others have their points."""
    readings = tables(40)
    flash = tmp_path / "flash"
    name = put_readings(readings, flash)
    with (
        running("embedded") as broker,
        RUNTIMES[runtime]("t", IDS, broker.address, folder=flash) as nodes,
        closing(ByHand(broker.address, "t")) as driver,
    ):
        driver.online(IDS)
        announce(driver, 1)
        # In the way of the file that is written aside.
        for aside in ("points.new", "data.bin.new"):
            (flash / "2" / aside).mkdir()
        driver.finish(record(1, GRAPH, name, sum(map(len, readings.values()))))
        driver.until(lambda: "problem" in driver.statuses[2], "node 2 says what is wrong")
        assert driver.statuses[2]["problem"].startswith("the points can't be made")
        driver.until(lambda: driver.statuses[3]["dataset"] != "", "node 3 has its points")
        assert driver.statuses[2]["dataset"] == "" and "clipped" not in driver.statuses[2]
        assert nodes.failures() == []
