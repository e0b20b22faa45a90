"""Readings whose range the nodes agree on: `dcka inject`, `run` and `check` with real nodes of both runtimes."""

import json

import numpy as np
import pytest
from lab_folder import RUNTIMES, caller, lab_folder

from dcka.config import State, template
from dcka.runs.outcome import Outcome

NODES = (1, 2, 3)
SPIKE = "2,9000.0,-5000.0"
FIRST = ["inject", "readings.csv", "--split-by", "mote"]
FILE = {"network": {"name": "lab", "nodes": list(NODES)}, "topology": {"kind": "line"}, "run": {"k": 3}}


def readings():
    """Three clouds in °C and Pa, 40 rows a node; the last row of node 2 is a wild one."""
    stream = np.random.default_rng(6)
    rows = [
        f"{1 + row % 3},{20 + 5 * (row // 3 % 3) + stream.normal() / 4:.2f},"
        f"{101325 + 90 * (row // 3 % 3 == 1) + stream.normal() * 9:.1f}"
        for row in range(119)
    ]
    return "\n".join(["mote,temperature,pressure", *rows, SPIKE]) + "\n"


@pytest.fixture(scope="module", params=RUNTIMES)
def folder(request, tmp_path_factory):
    """A folder with readings, a broker and three nodes."""
    with lab_folder(request.param, tmp_path_factory.mktemp("lab"), FILE, readings()) as place:
        yield place


@pytest.fixture
def call(folder, monkeypatch, capsys):
    """Calls dcka in the folder; (code, stdout, stderr)."""
    monkeypatch.chdir(folder)

    return caller(capsys)


def result(call, *arguments):
    """The object of a call that goes well."""
    code, out, err = call(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def refusal(call, *arguments):
    """The one line of a call that does not."""
    code, out, err = call(*arguments)
    assert code in (1, 2) and out == ""
    (line,) = [line for line in err.splitlines() if line.startswith("dcka: ")]
    return line


def test_nodes_without_readings_are_named(call):
    line = refusal(call, "run", "--range", "minmax")
    assert "nodes 1, 2 and 3 have no readings to agree on a range by" in line and "--readings" in line


def test_an_example_can_be_agreed_on_too(call, folder):
    (folder / "other.toml").write_text(template(FILE))
    injected = result(call, "inject", "--network", "other.toml", "--data", "gaussians", "--range", "minmax")
    assert injected["readings"] and injected["decimals"] == 8
    assert any("readings are rounded to 1e-08" in warning for warning in injected["warnings"])
    asked = ("--range", "minmax", "--k", "9")
    assert result(call, "run", *asked)["finished"]
    assert result(call, "check")["verdict"] == "PASS"


@pytest.mark.parametrize("scale", ["one", "minmax", "std"])
@pytest.mark.parametrize("words", [("minmax",), ("quantile", "--tail", "0.01")])
def test_the_nodes_agree_and_all_of_it_is_checked(call, folder, words, scale):
    asked = ("--range", *words, "--scale", scale)
    injected = result(call, *FIRST, *asked)
    assert (injected["readings"], injected["decimals"]) == (True, 2)
    ran = result(call, "run", *asked)
    survey = Outcome.load(State(folder / ".dcka"), ran["run"] - 1)
    assert (survey.kind, survey.whole) == ("survey", True)
    checked = result(call, "check")
    assert (checked["verdict"], checked["survey"]["verdict"]) == ("PASS", "PASS")
    assert result(call, "check", str(survey.run))["kind"] == "survey"
    if words[0] == "quantile":
        assert checked["survey"]["clipped"] >= 2
        found = sorted(temperature for temperature, _ in ran["centres"])
        # With one step for all, the wide range of the pressure leaves the wild temperature room.
        assert scale == "one" or found == pytest.approx([20, 25, 30], abs=0.5)
    again = result(call, "run", *asked, "--schedule", "gossip")
    assert again["run"] == ran["run"] + 1  # they have agreed before


def test_a_picture_of_it_is_drawn_and_none_of_a_survey(call, folder):
    asked = ("--range", "quantile", "--tail", "0.01")
    result(call, *FIRST, *asked)
    ran = result(call, "run", *asked)
    assert result(call, "check", "--picture", "run.png")["picture"].endswith("run.png")
    number = str(Outcome.load(State(folder / ".dcka"), ran["run"]).run - 1)
    assert "is a survey, of which there is no picture" in refusal(call, "check", number, "--picture", "s.png")


def test_what_the_nodes_hold_and_what_is_wanted_have_to_fit(call):
    _, _, said = call(*FIRST, "--range", "quantile")
    assert "note: run with --range quantile too" in said
    line = refusal(call, "run")
    assert "readings, on no grid yet: run with --range minmax or --range quantile" in line
    result(call, "run", "--range", "minmax")
    line = refusal(call, "run")
    assert (
        'data with range = "minmax"' in line and "inject the data again, or run with --range minmax" in line
    )
    result(call, *FIRST)
    line = refusal(call, "run", "--scale", "std")
    assert 'scale = "one"' in line and "inject the data again" in line
    line = refusal(call, "run", "--range", "minmax")
    assert (
        'were injected with range = "host"' in line
        and "inject the data again, or run with --range host" in line
    )
    result(call, "run")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            (*FIRST, "--range", "middle"),
            "--range middle: name who finds it, host, minmax or quantile; or write LOW,HIGH",
        ),
        (
            (*FIRST, "--range", "minmax", "--range", "temperature=0,40"),
            "--range LOW,HIGH is a range that is known",
        ),
        ((*FIRST, "--scale", "z"), '--scale z: it must be "one", "minmax" or "std"'),
        (("run", "--range", "middle"), '--range middle: it must be "host", "minmax" or "quantile"'),
        (
            ("run", "--range", "quantile", "--tail", "0.5"),
            "--tail 0.5: it must be a number from 1e-06 to 0.49",
        ),
        (
            ("board", "inject", "readings.csv", "--range", "minmax", "--all"),
            "over a cable go data whose range is known",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(call, arguments, words):
    assert words in refusal(call, *arguments)
