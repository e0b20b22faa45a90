"""`dcka run --k auto` on emulated nodes: it finds the clusters that are there, and `dcka check` believes it."""

import gzip
import json
import os
from contextlib import contextmanager

import pytest
from by_hand import RUNTIMES
from running_call import Call
from servers import TestClient, running

from dcka.cli import main
from dcka.config import State, template
from dcka.mqtt.address import note_broker

NODES = (1, 2, 3, 4, 5)


@contextmanager
def laboratory(folder, runtime):
    """A network `lab` of five nodes that runs, and its network.toml in `folder`; the broker."""
    (folder / "network.toml").write_text(template({"network": {"name": "lab"}}))
    with running("embedded") as broker, RUNTIMES[runtime]("lab", NODES, broker.address) as nodes:
        note_broker(State(folder / ".dcka"), broker.address, os.getpid())
        yield broker
        assert nodes.failures() == []


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Calls dcka in a folder of the test's own; (code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def dcka(*arguments):
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return dcka


@pytest.mark.timeout(300)
@pytest.mark.skipif("micropython" not in RUNTIMES, reason="there is no MicroPython for this platform")
def test_the_nine_gaussians_are_nine(tmp_path, call):
    with laboratory(tmp_path, "micropython"):
        assert call("inject", "--data", "gaussians")[0] == 0
        arguments = "--k-range 7..11 --starts 2 --gap-sets 0 --report rep --json"
        code, out, err = call("run", "--k", "auto", *arguments.split())
        assert code == 0, err
        found = json.loads(out)
        assert (found["k"], found["chosen_by"], found["k_range"]) == (9, "ch", [7, 11])
        assert [curve["k"] for curve in found["curves"]] == list(range(7, 12))
        assert all(
            curve[name] is not None
            for curve in found["curves"]
            for name in ("ssd", "calinski_harabasz", "bic", "silhouette")
        )
        assert all(curve["gap"] is None and curve["gap_se"] is None for curve in found["curves"])
        assert len(found["centres"]) == 9 and sum(found["counts"]) == 4500
        assert "kmeans++ reveals 22 readings" in err and "K = 9: SSD" in err
        assert (tmp_path / "rep" / "report.md").read_text().startswith("# gaussians: K = 9")
        code, out, err = call("check", "--json")
        judged = json.loads(out)
        assert (code, judged["verdict"], judged["choice"]["k"]) == (0, "PASS", 9), judged["reasons"]
        score = json.loads((tmp_path / ".dcka" / "choices" / f"{found['run']}.json").read_text())["trials"][
            0
        ]["score"]
        code, out, _ = call("check", str(score), "--json")
        assert (code, json.loads(out)["kind"]) == (0, "score")


@pytest.mark.timeout(600)
def test_s1_has_fifteen(tmp_path, call, shared_data):
    with gzip.open(shared_data / "s1.data.gz", "rt") as lines:
        rows = [",".join(line.split()) for line in lines]
    (tmp_path / "s1.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    with laboratory(tmp_path, "cpython"):
        assert call("inject", "s1.csv")[0] == 0
        arguments = ("--k-range", "14..16", "--starts", "5", "--gap-sets", "0", "--json")
        code, out, err = call("run", "--k", "auto", *arguments)
        assert code == 0, err
        found = json.loads(out)
        assert found["k"] == 15, [curve["calinski_harabasz"] for curve in found["curves"]]
        assert call("check")[0] == 0


@pytest.mark.timeout(300)
def test_the_gap_statistic_is_the_host_s(tmp_path, call):
    """Where its engine and the readings are here; where the readings are not, it is refused before any run."""
    pytest.importorskip("numba")
    with laboratory(tmp_path, "cpython"):
        assert call("inject", "--data", "gaussians")[0] == 0
        narrow = ("run", "--k", "auto", "--k-range", "8..10", "--starts", "2", "--init", "snake", "--json")
        code, out, err = call(*narrow, "--choose", "gap", "--gap-sets", "4")
        assert code == 0, err
        found = json.loads(out)
        assert (found["k"], found["chosen_by"], found["gap_sets"]) == (9, "gap", 4)
        gaps = [curve["gap"] for curve in found["curves"]]
        assert max(gaps) == gaps[1] and all(curve["gap_se"] > 0 for curve in found["curves"])
        (tmp_path / ".dcka" / "dataset.json").rename(tmp_path / "elsewhere.json")
        code, out, err = call(*narrow, "--choose", "gap")
        assert (code, out) == (2, "")
        assert "the gap statistic cannot be had" in err and "does not hold the readings" in err
        assert "Traceback" not in err


@pytest.mark.timeout(300)
def test_refusals_that_need_the_data(tmp_path, call):
    with laboratory(tmp_path, "cpython"):
        (tmp_path / "few.csv").write_text("x\n" + "\n".join(str(number % 6) for number in range(60)) + "\n")
        assert call("inject", "few.csv")[0] == 0
        code, out, err = call("run", "--k", "auto", "--gap-sets", "0")
        assert (code, out) == (2, "")
        assert "--k-range 2..12 goes beyond the 6 distinct points of few; end it at 6" in err
        (tmp_path / "file").write_text("")
        code, _, err = call("run", "--k", "auto", "--k-range", "2..4", "--report", "file/rep")
        assert code == 2 and "--report file/rep: nothing can be written there" in err
        code, _, err = call(
            "run", "--k", "auto", "--k-range", "2..6", "--gap-sets", "0", "--starts", "1", "--json"
        )
        assert code == 0, err
        assert call("inject", "few.csv", "--range", "minmax")[0] == 0
        code, _, err = call("run", "--k", "auto", "--k-range", "2..4")
        assert code == 1 and "are readings, on no grid yet: run with --range minmax" in err
        code, out, err = call(
            "run",
            "--k",
            "auto",
            "--k-range",
            "2..4",
            "--range",
            "minmax",
            "--starts",
            "1",
            "--init",
            "snake",
            "--json",
        )
        assert code == 0, err


@pytest.mark.timeout(300)
def test_ctrl_c_ends_the_run_that_is_on(tmp_path, call):
    """In mid-search: the nodes are told, nothing is left in between, and the next run starts as ever."""
    with laboratory(tmp_path, "cpython") as broker:
        assert call("inject", "--data", "gaussians")[0] == 0
        with TestClient(broker.address, "watcher") as watcher:
            watcher.subscribe("dcka/lab/run")
            verb = Call(tmp_path, "run", "--k", "auto", "--gap-sets", "0")
            number = 0
            while number < 4:
                number = json.loads(watcher.next().payload)["run"]
            assert verb.ended() == 130
            assert verb.errors[-1] == "dcka: stopped"
        code, out, err = call("run", "--k", "3", "--json")
        assert code == 0 and json.loads(out)["run"] > number, err
        assert call("check")[0] == 0
