"""`dcka check`: what it says, and with which exit code."""

import json
from dataclasses import replace

import pytest
from checked_runs import run, with_commit

from dcka.cli import main
from dcka.config import FILE_NAME, State, template
from dcka.datasets import gaussians
from dcka.runs.outcome import decode_commit
from dcka.topology import Shape, named


@pytest.fixture(scope="module")
def dataset():
    return gaussians(1, per_gaussian=10)


@pytest.fixture(scope="module")
def outcome(dataset):
    return run(dataset, named(dataset.node_ids, Shape("experiment1")), "tree")


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Calls `dcka check …` in a folder with a network file; (code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE_NAME).write_text(template())

    def call(*arguments):
        code = main(["check", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def state(tmp_path):
    return State.beside(tmp_path / FILE_NAME)


def test_pass_is_0_with_the_reasons(check, state, outcome, dataset):
    outcome.save(state)
    dataset.save(state.folder)
    code, out, _ = check()
    assert code == 0
    assert out.splitlines()[0] == "PASS: run 1, tree, 5 nodes"
    assert "5 of 5 nodes hold the reference's centres" in out


def test_json_is_one_object(check, state, outcome, dataset):
    outcome.save(state)
    dataset.save(state.folder)
    code, out, _ = check("1", "--json")
    assert code == 0
    record = json.loads(out)
    assert record["verdict"] == "PASS"
    assert record["bit_identical"] is True
    assert record["run"] == 1
    assert record["reasons"]


def test_fail_is_1_with_the_place(check, state, outcome, dataset):
    with_commit(outcome, 2, ssd=decode_commit(outcome, 2).ssd + 1).save(state)
    dataset.save(state.folder)
    code, out, _ = check()
    assert code == 1
    assert out.startswith("FAIL: run 1, tree, 5 nodes\n  node 2: its SSD is ")


def test_the_last_run_is_the_default_and_a_number_another(check, state, outcome, dataset):
    dataset.save(state.folder)
    outcome.save(state)
    replace(outcome, run=7, finished=False, reason="the broker went away").save(state)
    code, out, _ = check()
    assert (code, out.splitlines()[0]) == (1, "FAIL: run 7, tree, 5 nodes")
    assert "the broker went away" in out
    assert check("1")[0] == 0


def test_the_picture_is_written_and_named(check, state, outcome, dataset, tmp_path):
    outcome.save(state)
    dataset.save(state.folder)
    code, out, _ = check("--picture", "run.png", "--json")
    assert code == 0
    assert json.loads(out)["picture"] == str(tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_no_run_no_data_no_network_are_sentences(check, state, outcome, tmp_path):
    code, out, err = check()
    assert (code, out) == (2, "")
    assert "no outcome of any run" in err and "dcka run" in err
    outcome.save(state)
    assert "no outcome of run 9" in check("9")[2]
    code, _, err = check()
    assert code == 2
    assert "no data set in" in err and "dcka inject" in err
    (tmp_path / FILE_NAME).unlink()
    code, _, err = check()
    assert code == 2
    assert f"there is no {FILE_NAME}" in err
    assert "no data set in" in check("--state", str(state.folder))[2]
    assert check("0")[0] == 2


def test_a_damaged_outcome_is_a_sentence(check, state, outcome, dataset):
    outcome.save(state)
    dataset.save(state.folder)
    state.run(1).write_text("{")
    code, _, err = check()
    assert code == 1
    assert err.count("\n") == 1 and "1.json" in err
