"""What may be asked of a search for K, and the sentences where it may not; the rules by hand."""

import re

import pytest

from dcka.choosing.rules import NoChoice, Point, pick
from dcka.choosing.wish import Wish, range_of
from dcka.cli import main
from dcka.errors import UsageError


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"low": 12, "high": 2}, "--k-range 12..2 is upside down; say --k-range 2..12"),
        ({"low": 12, "high": 1}, "--k-range 12..1 is upside down; say --k-range 2..12"),
        (
            {"low": 1},
            "--k-range 1..12: one cluster has no other to be told from, so no index judges it; begin with 2",
        ),
        ({"low": 5, "high": 5}, "--k-range 5..5 leaves nothing to choose; say --k 5, or a wider range"),
        ({"starts": 0}, "--starts 0: each K needs at least 1"),
        ({"rule": "elbow"}, "--choose elbow is no rule; take one of ch, bic, silhouette, gap"),
        ({"gap_sets": 1}, "--gap-sets 1: take 0 for none, or at least 2: one has no spread"),
        ({"gap_sets": -1}, "--gap-sets -1: take 0"),
        ({"rule": "gap", "gap_sets": 0}, "--choose gap needs reference sets; leave --gap-sets 0 out"),
    ],
)
def test_what_cannot_be_is_one_sentence(values, words):
    with pytest.raises(UsageError, match=f"^{re.escape(words)}"):
        Wish(**values)


def test_a_range_beyond_the_points():
    wish = Wish(low=2, high=40)
    wish.require(4500, 40, "clouds")
    with pytest.raises(UsageError) as caught:
        wish.require(4500, 30, "clouds")
    assert str(caught.value) == "--k-range 2..40 goes beyond the 30 distinct points of clouds; end it at 30"
    with pytest.raises(UsageError, match=r"beyond the 39 points of clouds; end it at 39"):
        wish.require(39, None, "clouds")
    with pytest.raises(UsageError, match=r"beyond the 2 points of clouds; take more readings"):
        wish.require(2, None, "clouds")


def test_ranges_as_they_are_said():
    assert range_of("2..12") == range_of(" 2 .. 12 ") == (2, 12)
    for text in ("2-12", "2..", "..5", "a..b", "2..12..3", "-2..5"):
        with pytest.raises(UsageError, match=r"is no range; say it as 2\.\.12"):
            range_of(text)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--k", "auto", "--k-range", "12..2"], "--k-range 12..2 is upside down; say --k-range 2..12"),
        (["--k", "auto", "--k-range", "ten"], "--k-range 'ten' is no range; say it as 2..12"),
        (["--k-range", "2..5"], "--k-range goes with --k auto"),
        (["--k", "4", "--starts", "5"], "--starts goes with --k auto"),
        (["--choose", "bic"], "--choose goes with --k auto"),
        (["--gap-sets", "9"], "--gap-sets goes with --k auto"),
        (["--report", "here"], "--report goes with --k auto"),
        (["--k", "some"], "--k 'some': a whole number, or auto, is needed"),
    ],
)
def test_the_verb_refuses_before_it_looks_for_anything(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert main(["run", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.strip() == f"dcka: {words}"


def point(k, *, ch=None, bic=None, silhouette=None, gap=None, se=None):
    return Point(k, 1.0, ch, bic, silhouette, gap, se)


def test_the_greatest_decides_and_of_equals_the_least_k():
    points = [point(2, ch=5.0, bic=-9.0), point(3, ch=7.0, bic=-4.0), point(4, ch=7.0, bic=-3.0)]
    assert pick(points, "ch") == 3
    assert pick(points, "bic") == 4
    assert pick([point(2, silhouette=0.9), point(3, silhouette=0.2)], "silhouette") == 2
    assert pick([point(2, ch=1.0), point(3)], "ch") == 2


def test_the_gap_rule_by_hand():
    """The least k with Gap(k) ≥ Gap(k + 1) − s(k + 1)."""
    rising = [point(k, gap=gap, se=0.1) for k, gap in ((2, 0.1), (3, 0.5), (4, 0.55), (5, 0.9))]
    assert pick(rising, "gap") == 3
    steep = [point(k, gap=float(k), se=0.1) for k in range(2, 6)]
    assert pick(steep, "gap") == 5
    assert pick([*steep[:2], point(4), *rising[3:]], "gap") == 5


def test_nothing_to_choose_by():
    with pytest.raises(
        NoChoice, match="no K from 2 to 3 has a Calinski–Harabasz index: every clustering holds"
    ):
        pick([point(2), point(3)], "ch")
