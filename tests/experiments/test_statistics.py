"""What many runs come to, and how sure a difference is."""

import numpy as np
import pytest

from dcka.experiments.statistics import paired, summary
from dcka.experiments.table import claims, sentence, table, values_of
from dcka.experiments.tables import monte_carlo, verdicts


def test_summary_by_hand():
    assert summary(np.array([1.0, 2.0, 6.0])) == {
        "runs": 3,
        "min": 1.0,
        "mean": 3.0,
        "std": pytest.approx(7.0**0.5),
    }
    assert summary(np.array([4.0]))["std"] == 0.0


def test_a_constant_difference_has_no_width():
    base = np.random.default_rng(1).normal(size=40)
    found = paired([base - 2], [base], 1)
    assert found["difference"] == pytest.approx(-2)
    assert found["difference_interval"] == pytest.approx([-2, -2])
    assert found["spread_ratio"] == pytest.approx(1) and found["spread"] == "undecided"
    assert (found["mean"], found["minimum"]) == ("lower", "lower")


def test_draws_are_averaged_and_told_one_by_one():
    numbers = np.random.default_rng(2)
    one = [numbers.normal(5, 1, 200), numbers.normal(9, 1, 200)]
    other = [numbers.normal(4, 3, 200), numbers.normal(9, 3, 200)]
    found = paired(one, other, 3)
    assert found["draws"] == pytest.approx([a.mean() - b.mean() for a, b in zip(one, other, strict=True)])
    assert found["difference"] == pytest.approx(np.mean(found["draws"]))
    assert found["spread_ratio"] == pytest.approx(
        np.sqrt((one[0].var() + one[1].var()) / (other[0].var() + other[1].var()))
    )
    assert found["alike"] == sum((value > 0) == (found["difference"] > 0) for value in found["draws"])
    assert found["spread"] == "lower"
    low, high = found["spread_interval"]
    assert low < 1 / 3 < high


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    numbers = np.random.default_rng(4)
    covered = 0
    for trial in range(60):
        other = numbers.normal(size=60)
        low, high = paired([other + numbers.normal(0.3, 1, 60)], [other], trial)["difference_interval"]
        covered += low <= 0.3 <= high
    assert 50 <= covered <= 60


def test_few_runs_are_not_judged():
    found = paired([np.arange(4.0)], [np.arange(4.0) + 1], 1)
    assert (found["mean"], found["spread"]) == ("too few runs", "too few runs")


def test_runs_that_all_end_alike_have_no_ratio():
    found = paired([np.ones(30)], [np.ones(30)], 1)
    assert found["spread_ratio"] is None and found["spread_interval"] == [None, None]
    assert (found["spread"], found["minimum"], found["mean"]) == ("undecided", "equal", "undecided")


def row(k, method, run, ssd, draw=0):
    return {
        "data": "d", "draw": draw, "k": k, "run": run, "method": method, "ssd": ssd, "steps": 3, "converged": True,
        "empty": run % 2, "seconds": 0.0,
    }  # fmt: skip


def test_the_table_and_what_it_says():
    numbers = np.random.default_rng(5)
    rows = []
    for k in (3, 9):
        for draw in (0, 1):
            base = numbers.normal(100, 10, 30)
            for run in range(30):
                rows.append(row(k, "cka", run, base[run], draw))
                better = 90 + numbers.normal(0, 1) if k == 9 else base[run]
                rows.append(row(k, "local", run, better, draw))
    lines = table(rows, 1)
    assert [(line["k"], line["method"]) for line in lines] == [
        (3, "cka"),
        (3, "local"),
        (9, "cka"),
        (9, "local"),
    ]
    assert all(line["runs"] == 30 and line["draws"] == 2 and line["empty"] == 0.5 for line in lines)
    assert lines[0]["best"] == min(values.min() for values in values_of(rows, "d", 3, "cka"))
    (claim,) = claims(lines)
    assert claim["mean"] == {"undecided": [3], "lower": [9]}
    assert claim["claim_holds_at"] == [9]
    assert "better in both mean and spread holds at K = 9, is undecided at K = 3." in sentence(claim)


def line(k, mean, spread, alike=3):
    against = {"mean": mean, "spread": spread, "minimum": "equal", "minimum_gap": 0.0}
    return {
        "data": "d",
        "k": k,
        "method": "local",
        "against_cka": {**against, "alike": alike, "draws": [1.0] * 3},
    }


def test_a_claim_is_borne_out_contradicted_or_undecided():
    lines = [
        line(3, "lower", "lower"),
        line(4, "lower", "undecided", alike=2),
        line(5, "undecided", "lower"),
        line(6, "lower", "higher"),
        line(7, "higher", "higher"),
        line(8, "undecided", "undecided"),
    ]
    (claim,) = claims(lines)
    assert (claim["claim_holds_at"], claim["contradicted_at"]) == ([3], [6, 7])
    assert claim["verdict"] == "holds at K = 3, is contradicted at K = 6, 7, is undecided at K = 4, 5, 8"
    cells = verdicts([claim]).splitlines()[-1]
    assert (
        cells
        == "| d | `local` | **holds** | mean \\* | spread | worse spread | worse mean and spread | undecided |"
    )
    assert claims(lines[:1])[0]["verdict"] == "holds at every K"
    assert claims(lines[4:5])[0]["verdict"] == "holds at no K, is contradicted at K = 7"


@pytest.mark.parametrize("draws", [1, 3])
def test_every_row_of_the_table_has_a_cell_for_every_title(draws):
    numbers = np.random.default_rng(1)
    rows = [
        row(3, method, run, numbers.normal(100, 5), draw)
        for draw in range(draws)
        for run in range(12)
        for method in ("cka", "local")
    ]
    lines = monte_carlo(table(rows, 1)).splitlines()
    assert len({text.count("|") for text in lines}) == 1
    assert ("by sample" in lines[0]) == (draws > 1)
