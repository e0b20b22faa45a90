"""Messages larger than a node's memory (case C27): refused before a run, passed over by a node."""

import contextlib
import json
from pathlib import Path

import pytest
from by_hand import RUNTIMES, ByHand, put_data
from servers import LIMIT_S, TestClient, running

from dcka.cli import main
from dcka.config import template
from dcka.datasets import gaussians
from dcka.emulation.micropython import MicroPythonNetwork, available
from dcka.topology import Shape, named

HEAP = "100K"
LARGE = bytes(200_000)
COLUMNS = 32


@pytest.mark.skipif(not available(), reason=str(available().reason))
def test_what_is_retained_and_twice_the_heap_is_passed_over(tmp_path: Path) -> None:
    """It comes with each connection, on topics that a node listens to; no node loses its connection for it."""
    data, graph = gaussians(seed=3, nodes=3, per_gaussian=10), named([1, 2, 3], Shape("line"))
    put_data(data, tmp_path)
    with running("mosquitto") as broker, contextlib.closing(ByHand(broker.address, "t")) as hand:
        for topic in ("rows/1", "rows/2", "commit/9"):
            hand.client.publish(f"dcka/t/{topic}", LARGE, retain=True)
        with MicroPythonNetwork("t", [1, 2, 3], broker.address, folder=tmp_path, heap=HEAP) as nodes:
            hand.online([1, 2, 3])
            record = hand.prepare(1, "tree", data, graph)
            hand.client.publish("dcka/t/x/0/1", LARGE)
            hand.finish(record)
            hand.until(
                lambda: all(hand.statuses[node]["state"] == "done" for node in (1, 2, 3)), "all are done"
            )
            assert hand.statuses[1]["dropped"]["oversize"] >= 2, "its rows, and a commit"
            assert nodes.failures() == []
        for node in (1, 2, 3):
            assert sum(f"as dcka-t-{node} " in line for line in broker.lines()) <= 2, "a reconnect at most"


def test_a_k_whose_messages_no_node_can_take_is_refused_with_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """K = 64 in 32 dimensions: the size is worked out before anything is published."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "network.toml").write_text(
        template({"network": {"name": "t", "nodes": 2}, "run": {"k": 3}, "topology": {"kind": "line"}})
    )
    rows = [",".join(f"c{column}" for column in range(COLUMNS))]
    rows += [",".join(str((row * 7 + column * 3) % 101) for column in range(COLUMNS)) for row in range(200)]
    (tmp_path / "readings.csv").write_text("\n".join(rows) + "\n")
    runtime = next(iter(RUNTIMES))
    with running("mosquitto") as broker, RUNTIMES[runtime]("t", [1, 2], broker.address) as nodes:
        where = ["--broker", broker.url]
        with contextlib.closing(ByHand(broker.address, "t")) as hand:
            hand.online([1, 2])
        assert main(["inject", "readings.csv", *where]) == 0
        capsys.readouterr()
        with TestClient(broker.address, "eye") as eye:
            eye.subscribe("dcka/t/rows/+", "dcka/t/run")
            assert main(["run", "--k", "64", *where]) in (1, 2)
            said = capsys.readouterr()
            assert said.out == ""
            assert eye.received(eye) == []
        (line,) = [one for one in said.err.splitlines() if one.startswith("dcka: ")]
        assert f"K = 64 clusters of {COLUMNS} dimensions (K·d = {64 * COLUMNS})" in line
        assert "takes 1,024 (max_message in its node.json)" in line
        fitting = int(line.split("take at most ")[1].split()[0])
        assert main(["run", "--k", str(fitting), "--json", "--limit", str(LIMIT_S), *where]) == 0
        assert json.loads(capsys.readouterr().out)["finished"] is True
        assert nodes.failures() == []
