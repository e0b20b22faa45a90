"""`dcka results`: what a person types, and what comes; and how the verbs that end runs store them."""

import csv
import io
import json
import sqlite3

import pytest
from history_scene import Heard, recorded

from dcka.check import check
from dcka.cli import main
from dcka.history import Checked, open_history, record_outcome
from dcka.history.export import FORMATS, TABLES


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A history with two clusterings, of which one was checked."""
    place = str(tmp_path_factory.mktemp("results") / "history.sqlite")
    with open_history(place) as history:
        tree, gossip = Heard("tree"), Heard("gossip", 2)
        recorded(history, tree.messages)
        recorded(history, gossip.messages)
        verdict = check(tree.outcome, tree.data)
        record_outcome(
            history, tree.outcome, tree.data.record(), Checked(verdict.word, verdict.reasons, verdict.figures)
        )
    return place


@pytest.fixture
def call(file, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DCKA_HISTORY", file)

    def dcka(*arguments):
        code = main(["results", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return dcka


def shown(answer):
    code, out, err = answer
    assert (code, err) == (0, ""), err
    return json.loads(out)


def test_a_list_shows_the_newest_first_and_filters(call):
    runs = shown(call("list", "--json"))["runs"]
    assert [(run["run"], run["kind"], run["state"], run["verdict"]) for run in runs] == [
        (2, "gossip", "finished", None),
        (1, "tree", "finished", "PASS"),
    ]
    assert [run["run"] for run in shown(call("list", "--kind", "tree", "--json"))["runs"]] == [1]
    assert shown(call("list", "--state", "failed", "--json"))["runs"] == []
    assert shown(call("list", "--network-name", "other", "--json"))["runs"] == []
    assert [run["run"] for run in shown(call("list", "--limit", "1", "--json"))["runs"]] == [2]
    assert shown(call("list", "--since", "1d", "--json"))["runs"] == []  # a test's clock is of 2023
    assert shown(call("list", "--since", "2023-11-01", "--json"))["runs"] == runs
    code, out, _ = call("list")
    assert code == 0 and out.splitlines()[1].startswith("lab/2  gossip") and "PASS" in out


def test_one_run_is_shown_with_all_its_steps(call):
    run = shown(call("show", "1", "--json"))
    assert len(run["steps"]) == run["step_count"] and run["lost_steps"] == [] and run["gaps"] == []
    assert len(run["centroids"]) == 3 and sum(run["counts"]) == 150
    assert run["check"]["reasons"] and run["record"]["run"] == 1
    code, out, _ = call("show", "lab/1")
    assert code == 0 and "tree, K = 3, 4 nodes, finished" in out and "PASS" in out
    assert shown(call("show", run["uid"][:7], "--json"))["uid"] == run["uid"]


def test_two_runs_are_compared(call):
    same = shown(call("compare", "1", "1", "--json"))
    assert same["centroids_equal"] and same["ssd_ratio"] == 1.0 and same["largest_distance"] == 0.0
    assert same["parameters"] == {}
    other = shown(call("compare", "1", "2", "--json"))
    assert other["parameters"]["kind"] == ["tree", "gossip"] and other["same_data"]
    assert [pair["cluster"] for pair in other["nearest"]] == [0, 1, 2] and other["largest_distance"] < 0.1
    assert "SSD of the second" in call("compare", "1", "2")[1]


@pytest.mark.parametrize("table", TABLES)
def test_every_table_says_the_same_in_every_format(call, table, tmp_path):
    contents = {}
    for form in FORMATS:
        made = shown(
            call("export", "1", "2", "--table", table, "--format", form, "--out", f"a.{form}", "--json")
        )
        assert made["runs"] == 2 and made["bytes"] == (tmp_path / f"a.{form}").stat().st_size
        contents[form] = (tmp_path / f"a.{form}").read_bytes()
    rows = json.loads(contents["json"])
    assert rows and {row["run"] for row in rows} == {1, 2}
    assert [row["uid"] for row in csv.DictReader(io.StringIO(contents["csv"].decode()))] == [
        row["uid"] for row in rows
    ]
    parquet = pytest.importorskip("pyarrow.parquet")
    names = list(dict.fromkeys(name for row in rows for name in row))
    assert parquet.read_table(tmp_path / "a.parquet").to_pylist() == [
        {name: row.get(name) for name in names} for row in rows
    ]


def test_csv_goes_to_stdout_and_holds_numbers_in_full(call):
    code, out, err = call("export", "1", "--table", "centroids")
    assert (code, err) == (0, "")
    last = list(csv.DictReader(io.StringIO(out)))[-1]
    run = shown(call("show", "1", "--json"))
    assert [float(last["x"]), float(last["y"])] == run["centroids"][2]


def test_a_picture_is_drawn(call, tmp_path):
    made = shown(call("plot", "2", "--out", "run.png", "--json"))
    assert (tmp_path / "run.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and made["run"] == 2


def test_what_cannot_be_is_refused_with_a_sentence(call):
    for arguments, words in (
        (("show", "9"), "has no run 9; dcka results list shows what it has"),
        (("show", "x/1"), "has no run x/1"),
        (("list", "--since", "soon"), "'soon' is no time: give a date"),
        (("list", "--all", "--kind", "tree"), "--all and --kind: give one of both"),
        (("export", "--table", "readings"), "there is no table readings; the tables are runs, steps"),
        (("export", "--format", "parquet"), "--format parquet needs --out FILE"),
        (("export", "--json"), "--json needs --out FILE"),
        (("remove",), "name the runs to remove, or give --before WHEN"),
        (("remove", "1", "--before", "1d"), "one of both"),
        (("remove", "1"), "1 run would be removed from"),
        (("list", "--history", "nowhere/history.sqlite"), "there is no history yet at"),
        (("list", "--history", "mysql://u:secret@h/d"), "SQLite or PostgreSQL"),
    ):
        code, out, err = call(*arguments)
        assert (code, out) == (2, "") and words in err and err.count("\n") == 1, (arguments, err)
        assert "secret" not in err


def test_runs_are_removed_for_ever(call, tmp_path, file):
    copy = tmp_path / "copy.sqlite"
    with sqlite3.connect(file) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    source.close()
    target.close()
    assert shown(call("remove", "1", "--yes", "--history", str(copy), "--json")) == {"removed": 1}
    assert [run["run"] for run in shown(call("list", "--history", str(copy), "--json"))["runs"]] == [2]
    assert shown(call("remove", "--before", "0m", "--yes", "--history", str(copy), "--json")) == {
        "removed": 1
    }
    assert len(shown(call("list", "--json"))["runs"]) == 2


def test_where_nothing_was_ever_stored_the_list_is_empty(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("DCKA_HISTORY", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["results", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == []
    assert list(tmp_path.iterdir()) == []
