"""`dcka reproduce`, `dcka simulate` and `dcka bench engine`: their records, their files, and what they refuse."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from dcka.bench.engine import AIMS
from dcka.cli import main
from dcka.datasets import birch
from dcka.experiments import dkm, exp1, theory


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Calls `dcka …` in an empty folder; (code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def quick(monkeypatch):
    """Less of what is computed beside the runs."""
    monkeypatch.setattr(exp1, "DKM_STARTS", 1)
    monkeypatch.setattr(exp1, "CURVE_KS", (5,))
    monkeypatch.setattr(dkm, "ITERATIONS", 120)
    monkeypatch.setattr(dkm, "SLOTS", (3,))
    monkeypatch.setattr(theory, "MARGIN_TRIALS", 20)
    monkeypatch.setattr(theory, "COST_STEPS", 1)


def without_times(path):
    rows = csv.DictReader(path.read_text("utf-8").splitlines())
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_exp1_writes_a_report_and_goes_on_where_it_was(call, quick, tmp_path):
    options = ["reproduce", "exp1", "--k", "3,9", "--draws", "2", "--json", "--out", "out"]
    code, out, _ = call(*options, "--runs", "10")
    record = json.loads(out)
    assert code == 0 and record["dcka_equals_cka"] is True
    assert record["consensus_rate_measured"] == pytest.approx(record["consensus_rate_predicted"], rel=0.05)
    assert [(line["k"], line["method"]) for line in record["monte_carlo"]][:2] == [(3, "cka"), (3, "local")]
    assert len(record["monte_carlo"]) == 2 * 7 and len(record["claims"]) == 6
    for method in ("dkm", "dcka"):
        assert record["dkm"][method]["0.01"]["link_slots"][0] > 0
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    for name in ("centres", "consensus", "curves", "difference-gaussians", "runs-gaussians", "bound"):
        assert f"({name}.svg)" in report
        assert (tmp_path / "out" / f"{name}.png").stat().st_size > 5000
        assert (tmp_path / "out" / f"{name}.svg").read_bytes().startswith(b"<?xml")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["identity"]["seed"] == 25 and manifest["versions"]["numpy"]
    first = without_times(tmp_path / "out" / "runs.csv")
    assert len(first) == 2 * 2 * 10 * 7
    kept = sorted((tmp_path / "out" / "jobs").glob("*.json"))
    times = [file.stat().st_mtime_ns for file in kept]
    call(*options, "--runs", "10")
    assert [file.stat().st_mtime_ns for file in kept] == times  # nothing was run again
    again = [*manifest["command"][1:-1], "again"]
    assert manifest["command"][-2:] == ["--out", "out"] and call(*again)[0] == 0
    results = [json.loads((tmp_path / name / "results.json").read_bytes()) for name in ("out", "again")]
    assert results[0].pop("command")[:-1] == results[1].pop("command")[:-1]
    assert results[0] == results[1]
    assert without_times(tmp_path / "again" / "runs.csv") == first
    assert (tmp_path / "again" / "bound.svg").read_bytes() == (tmp_path / "out" / "bound.svg").read_bytes()


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_exp2_has_every_start_and_beats_no_record(call, shared_data, tmp_path):
    options = ["--set", "birch2", "--runs", "2", "--k", "100", "--birch", str(shared_data), "--out", "out"]
    code, out, _ = call("reproduce", "exp2", *options, "--json")
    record = json.loads(out)
    assert code == 0 and record["below_best_known"] == []
    assert (
        record["full_simulation"]["birch2"]["same"] and record["full_simulation"]["birch2"]["init"] == "local"
    )
    methods = [line["method"] for line in record["monte_carlo"]]
    assert methods == ["cka", "local", "sorted", "snake", "shared", "partition", "kmeans++"]
    for line in record["monte_carlo"]:
        assert line["min"] > birch.SETS["birch2"].best and line["runs"] == 2 and line["not_converged"] == 0
    by = {line["method"]: line["mean"] for line in record["monte_carlo"]}
    assert by["kmeans++"] < by["sorted"] < by["snake"] < by["shared"] < by["local"] < by["partition"]
    assert "(difference-birch2.svg)" in (tmp_path / "out" / "report.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_call_that_was_interrupted_goes_on(shared_data, tmp_path, ending):
    """Two processes, stopped as soon as some runs are kept: the same call finds what one that was left alone finds."""
    options = ["--set", "birch2", "--k", "20", "--runs", "16", "--init", "local", "--birch", str(shared_data)]
    program = [sys.executable, "-m", "dcka.cli", "reproduce", "exp2", *options, "--jobs", "2", "--out"]
    jobs = tmp_path / "cut" / "jobs"
    with subprocess.Popen(
        [*program, "cut"], cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True
    ) as cut:
        while cut.poll() is None and len(list(jobs.glob("birch2-*.json"))) < 3:
            time.sleep(0.01)
        os.killpg(cut.pid, ending)  # as a terminal does
        said = cut.stderr.read().decode()
    assert cut.returncode == (130 if ending == signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in said
    kept = {file: file.stat().st_mtime_ns for file in jobs.glob("birch2-*.json")}
    assert 3 <= len(kept) < 16 and not (tmp_path / "cut" / "report.md").exists()
    for folder in ("cut", "whole"):
        subprocess.run([*program, folder], cwd=tmp_path, check=True, capture_output=True)
    assert all(file.stat().st_mtime_ns == when for file, when in kept.items())
    assert without_times(tmp_path / "cut" / "runs.csv") == without_times(tmp_path / "whole" / "runs.csv")
    found = [json.loads((tmp_path / folder / "results.json").read_bytes()) for folder in ("cut", "whole")]
    assert {**found[0], "command": None} == {**found[1], "command": None}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["exp1", "--k", "901"], "--k 901: every node draws K of its 900 points; take 1 to that"),
        (["exp1", "--k", "3..x"], "--k 3..x: numbers such as 5,7,9 or 3..15"),
        (["exp1", "--k", "9..3"], "--k 9..3: that is no number at all"),
        (["exp1", "--init", "literal"], "--init literal: the starts are local, sorted, snake"),
        (["exp1", "--runs", "0"], "--runs 0: at least 1"),
        (["exp1", "--seed", "-1"], "--seed -1: a number from 0"),
        (["exp1", "--jobs", "0"], "--jobs 0: from 1 to "),
        (["exp1", "--jobs", "100000"], "--jobs 100000: from 1 to "),
        (["exp1", "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1"], "give one of them"),
        (["exp1", "--out", "file/below"], "--out file/below cannot be written to (Not a directory)"),
        (["exp2", "--birch", "nowhere", "--set", "birch1"], "birch1.txt is not in nowhere"),
        (["exp2", "--set", "birch9"], "there is no set 'birch9'"),
        (["exp2", "--set", "birch1,birch9", "--birch", "bad"], "there is no set 'birch9'"),
        (["exp2", "--birch", "bad", "--set", "birch1"], "bad/birch1.txt has 1 rows and birch1 has 100,000"),
        (["exp3"], "did you mean exp2?"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(call, tmp_path, arguments, words):
    (tmp_path / "file").touch()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "birch1.txt").write_text("1 2\n", "utf-8")
    code, out, err = call("reproduce", *arguments)
    assert (code, out) == (2, "")
    assert words in err and err.count("\n") == 1
    assert not (tmp_path / "exp1").exists() and not (tmp_path / "exp2").exists()


@pytest.mark.parametrize("other", [["--seed", "4"], ["--init", "local"]])
def test_a_folder_of_other_runs_is_left_alone(call, tmp_path, other):
    (tmp_path / "out").mkdir()
    methods = ["cka", "local", "sorted", "snake", "shared", "partition", "kmeans++"]
    identity = {"experiment": "exp1", "seed": 25, "methods": methods, "format": 1}
    (tmp_path / "out" / "manifest.json").write_text(json.dumps({"identity": identity}), "utf-8")
    code, _, err = call("reproduce", "exp1", "--out", "out", *other)
    assert code == 2 and "out holds runs with " in err and "name another folder with --out" in err


def test_without_the_extra_the_verbs_say_what_to_install(call, monkeypatch):
    monkeypatch.setattr("dcka.cli.experiments.find_spec", lambda name: None)
    for verb in (
        ["reproduce", "exp1"],
        ["reproduce", "exp2"],
        ["simulate", "--nodes", "5"],
        ["bench", "engine"],
    ):
        code, _, err = call(*verb)
        assert code == 2 and "pip install 'dcka[experiments]' brings it" in err


def test_simulate(call):
    code, out, _ = call("simulate", "--nodes", "20", "--k", "3", "--json")
    record = json.loads(out)
    assert code == 0
    assert record["tree"]["bit_identical"] and record["gossip"]["agreed"]
    assert call("simulate", "--nodes", "20", "--k", "3", "--max-slots", "1", "--schedule", "gossip")[0] == 1


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_bench_engine(call, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    code, out, err = call(
        "bench", "engine", "--case", "gaussians", "--case", "birch1", "--birch", ".", "--json"
    )
    record = json.loads(out)
    assert code == 0 and record["ok"]
    assert record["left_out_of_environment"] == ["OPENBLAS_CORETYPE"]
    assert "birch1.txt is not in ." in record["skipped"]["birch1"]
    for threads in AIMS:
        row = record["cases"]["gaussians"][threads]
        assert row["labels_equal"] and row["ssd_rel_diff"] <= 1e-12
        assert row["ratio_vs_lloyd"] > 0 and row["ratio_vs_elkan"] > 0
    assert any(one["library"] == "openblas" for one in record["kernels"])
    assert "gaussians, 1_thread: " in err
    assert call("bench", "engine", "--case", "d17")[0] == 2
