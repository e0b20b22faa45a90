"""`dcka bench airtime`: its record, its words, and what it refuses."""

import json

import pytest

from dcka.bench import CASES, BenchError, airtime
from dcka.bench.methods import METHODS
from dcka.bench.pinned import SEEDS
from dcka.bench.summary import AIMS, median_and_range
from dcka.bench.work import Job, perform_all
from dcka.cli import main

KEYS = ("broadcasts", "deliveries", "payload_bytes", "wire_bytes", "slots", "worst_node_mah")


@pytest.fixture
def bench(tmp_path, monkeypatch, capsys):
    """Calls `dcka bench …` in an empty folder; (code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = main(["bench", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_json_is_one_object_with_what_was_promised(bench):
    code, out, err = bench("airtime", "--graphs", "2", "--part", "exp1", "--json")
    record = json.loads(out)
    assert (code, record["ok"]) == (0, True)
    case = record["cases"]["exp1"]
    assert (case["nodes"], case["graphs"], case["k"], case["readings"]) == (5, 2, 9, 4500)
    for method in METHODS:
        row = case[method]
        for key in KEYS:
            low, high = row[f"{key}_range"]
            assert low <= row[key] <= high
        assert row["exact"] in (True, False) and row["bit_identical"] in (True, False)
    assert case["ours"]["bit_identical"] and case["star"]["bit_identical"]
    ratios = case["ratios"]
    assert ratios["aims"] == AIMS["exp1"]
    assert ratios["met"] == {word: ratios[word] >= aim for word, aim in AIMS["exp1"].items()}
    # With weights that know nothing of phases nobody's aim is judged, and the paper's method takes longer.
    fixed = case["ratios_fixed_weights"]
    assert "met" not in fixed and fixed["broadcasts"] > ratios["broadcasts"]
    assert "exp1, graph 1" in err


def test_without_the_motes_files_the_case_is_left_out_with_a_sentence(bench):
    code, out, err = bench("airtime", "--part", "ulb", "--ulb", ".", "--json")
    record = json.loads(out)
    assert (code, record["cases"]) == (1, {})  # it was asked for, and nothing is claimed of it
    assert "ulb_library2_neighbours.txt.gz is not in ." in record["skipped"]["ulb"]
    assert f"ulb left out: {record['skipped']['ulb']}\n" in err.replace("\r", "")
    code, out, _ = bench("airtime", "--part", "ulb", "--ulb", ".")
    assert code == 1 and out.startswith("ulb left out: ") and "bit for bit" not in out


def test_a_person_reads_a_table(bench):
    code, out, _ = bench("airtime", "--graphs", "1", "--part", "exp1", "--part", "loss")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("exp1: 5 nodes, 4,500 readings, K = 9, 1 instance,")
    assert [line.split()[0] for line in lines[2 : 2 + len(METHODS)]] == list(METHODS)
    assert "paper / ours, broadcasts: " in out and "paper_fixed_weights / ours, bytes: " in out
    assert "20% loss on every hop, n100: " in out
    assert lines[-1] == "ours is the reference, bit for bit, at every node"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["airtime", "--graphs", "0"], "--graphs 0: 20 graphs of each size are pinned; take 1 to 20"),
        (["airtime", "--graphs", "21"], "--graphs 21: "),
        (["airtime", "--graphs", "many"], "'many' is not a valid integer"),
        (
            ["airtime", "--part", "n7"],
            "there is no part 'n7'; the parts are exp1, n20, n100, ulb, growth, loss",
        ),
        (["airtime", "more"], "unexpected extra argument"),
        (["airtim"], "did you mean airtime?"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(bench, arguments, words):
    code, out, err = bench(*arguments)
    assert (code, out) == (2, "")
    assert words in err and err.count("\n") == 1


def test_a_difference_is_exit_code_1(bench, monkeypatch):
    real = airtime(1, ["exp1"])
    real["cases"]["exp1"]["ours"]["bit_identical"] = False
    monkeypatch.setattr("dcka.bench.airtime", lambda *_: real | {"ok": False})
    code, out, _ = bench("airtime", "--graphs", "1", "--part", "exp1")
    assert code == 1
    assert "FAIL: ours differs from the reference" in out


def test_medians_and_ranges():
    assert median_and_range("slots", [4, 1, 3, 2]) == {"slots": 2.5, "slots_range": [1, 4]}


@pytest.mark.slow
def test_helpers_find_the_same():
    jobs = [Job("exp1", 1), Job("growth", nodes=10), Job("exp1", 2), Job("loss", SEEDS["n20"][0], 20)]
    told = []
    shared = perform_all(jobs, told.append, processes=3)
    assert len(told) == len(jobs)
    alone = perform_all(jobs, lambda text: None, processes=1)
    assert [json.dumps(shared[job]) for job in jobs] == [json.dumps(alone[job]) for job in jobs]


@pytest.mark.slow
def test_a_helper_that_fails_is_told_of(monkeypatch):
    monkeypatch.setattr("dcka.bench.work.perform", lambda job: {})
    with pytest.raises(BenchError, match=r"ended before its work: .*KeyError"):
        perform_all([Job("exp1", 1), Job("growth", nodes=11)], lambda text: None, processes=2)


@pytest.mark.slow
def test_the_measured_radio(shared_data):
    """The motes' radio replayed: ours loses messages, says them again, and is exact all the same."""
    record = airtime(1, ["ulb"], shared_data)
    case = record["cases"]["ulb"]
    assert record["ok"] and case["nodes"] == 20
    assert case["ours"]["bit_identical"]
    assert case["ours"]["parts"]["up"]["broadcasts"] > 19 * case["outer_steps"]
    assert set(record["cases"]) | set(record["skipped"]) <= set(CASES)
