"""`dcka bench kernel`: its record, its words, what it refuses, and that a fault in it shows."""

import json

import pytest

from dcka.bench import kernel_cases, kernel_on_node
from dcka.bench.kernel import STEPS, kernel
from dcka.bench.kernel_numpy import numpy_digest, tables
from dcka.bench.kernel_table import kernel_table
from dcka.bench.kernel_unix import ask_unix
from dcka.bench.kernel_words import table_text
from dcka.boards.bench import pieces
from dcka.cli import main
from dcka.emulation.micropython import available

SMALL = kernel_cases.Case(points=300, n=2, k=12, bits=15, middles=9, seed=1, aim=1)
PROMISED = {
    "ratio_vs_naive",
    "ratio_vs_bytecode",
    "alloc_bytes",
    "bit_identical",
    "mdd_per_s",
    "numpy_mdd_per_s",
}

needs_micropython = pytest.mark.skipif(not available(), reason=str(available().reason))


@pytest.fixture(autouse=True)
def small_cases(monkeypatch):
    for name in kernel_cases.CASES:
        monkeypatch.setitem(kernel_cases.CASES, name, SMALL)


def here(expressions):
    return ask_unix(expressions, lambda text: None)


@needs_micropython
def test_json_has_the_keys_that_were_promised(capsys, monkeypatch):
    # The process that times numpy has the case as it is in the file.
    monkeypatch.setattr("dcka.bench.kernel.numpy_us", lambda name, rounds, steps: 100.0)
    code = main(["bench", "kernel", "--case", "A", "--rounds", "2", "--json"])
    record = json.loads(capsys.readouterr().out)
    case = record["cases"]["A"]
    assert set(case) >= PROMISED
    assert case["bit_identical"] is True and case["alloc_bytes"] == 0
    assert case["numpy_mdd_per_s"] == 300 * 12 * 2 / 100
    assert case["chosen"] in case["kernels"]
    assert set(case["adversarial"]) == {"line", "equal", "useless_labels", "k_is_m"}
    assert code == (0 if record["ok"] else 1)


@needs_micropython
def test_a_person_reads_a_table(capsys, monkeypatch):
    monkeypatch.setattr("dcka.bench.kernel.numpy_us", lambda name, rounds, steps: 100.0)
    main(["bench", "kernel", "--case", "C", "--rounds", "1"])
    out = capsys.readouterr().out
    assert out.startswith("C: 300 points, n = 2, K = 12: ") and "kernel_viper_sorted_2 labels" in out


@needs_micropython
def test_the_table_has_every_n_and_k(monkeypatch):
    monkeypatch.setattr("dcka.bench.kernel_table.DIMENSIONS", {2: 15, 9: 13})
    monkeypatch.setattr("dcka.bench.kernel_table.CLUSTERS", (2, 40))
    monkeypatch.setattr("dcka.bench.kernel_table._POINTS", 90)
    record = kernel_table(1, here, lambda text: None)
    assert [(row["n"], row["k"]) for row in record["rows"]] == [(2, 2), (2, 40), (9, 2), (9, 40)]
    assert all(row["fastest"] in row["us"] and row["lost"] >= 0 for row in record["rows"])
    assert len(table_text(record).splitlines()) == 5


def answers(change):
    """What a node could answer, changed: (expressions) → answers."""
    row = {"us": 10.0, "best_us": 10.0, "ratio": 0.01, "best_ratio": 0.01}
    row |= {"bit_identical": True, "alloc_bytes": 0}
    plain = row | {"ratio": 1.0, "best_ratio": 1.0}
    slow = {"us": 1000.0, "best_us": 1000.0, "ratio": 1.0, "best_ratio": 1.0}
    whole = {
        "digest": numpy_digest(SMALL, STEPS),
        "kernels": {"naive": slow, "bytecode": slow, "node": slow, "v plain": dict(row), "v": dict(row)},
        "chosen": "v",
    }
    adverse = {"v plain": dict(plain), "v": dict(plain)}
    change(whole, adverse)
    return lambda expressions: iter([whole] + [adverse] * 4)


@pytest.mark.parametrize(
    "change",
    [
        lambda whole, adverse: whole.update(digest="0" * 64),
        lambda whole, adverse: whole["kernels"]["v"].update(bit_identical=False),
        lambda whole, adverse: whole["kernels"]["v"].update(alloc_bytes=32),
        lambda whole, adverse: whole["kernels"]["v"].update(best_ratio=1.5),
        lambda whole, adverse: adverse["v"].update(best_ratio=1.4),
        lambda whole, adverse: adverse["v"].update(bit_identical=False),
    ],
)
def test_each_fault_makes_it_fail(change):
    good = kernel(["A"], 1, answers(lambda whole, adverse: None), lambda text: None, with_numpy=False)
    bad = kernel(["A"], 1, answers(change), lambda text: None, with_numpy=False)
    assert (good["ok"], bad["ok"]) == (True, False)


def test_the_points_are_on_the_grid_and_of_the_seed():
    points, centres = tables(SMALL)
    assert points.shape == (300, 2) and centres.shape == (12, 2)
    assert points.min() >= 0 and points.max() < 1 << 15
    again, _ = tables(SMALL)
    assert (points == again).all()


def test_a_board_is_sent_the_program_in_pieces_that_define_all_of_it():
    with open(kernel_on_node.__file__, encoding="utf-8") as file:
        text = file.read()
    sent = pieces(text)
    assert not any('"""' in piece or "TYPE_CHECKING:" in piece for piece in sent)
    names: dict[str, object] = {}
    for piece in sent:
        exec(piece, names)
    assert {"case", "adversity", "Runner"} <= set(names)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--case", "Q"], "there is no case 'Q'; the cases are A, B, C"),
        (["--rounds", "0"], "--rounds 0: take 1 or more"),
        (["--table", "--rounds", "0"], "--rounds 0: take 1 or more"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(capsys, arguments, words):
    code = main(["bench", "kernel", *arguments])
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert words in captured.err and captured.err.count("\n") == 1
