"""`dcka bench week` and `dcka emulate --time-scale`: their options, their keys, their exit codes."""

import json

import pytest
from click.testing import CliRunner

from dcka.cli.bench.week import command as week
from dcka.cli.emulate import command as emulate
from dcka.cli.weeks import scale_of
from dcka.errors import UsageError

KEYS = {
    "days", "nodes", "clusterings", "exact", "partial", "results_wrong", "readings_lost", "worst_node_mah",
    "updates_done", "rollbacks",
}  # fmt: skip


def test_one_object_on_stdout_with_the_keys_and_the_words_on_stderr():
    done = CliRunner().invoke(week, ["--days", "0.2", "--nodes", "4", "--json"])
    record = json.loads(done.stdout)
    assert done.exit_code == 0 and record.keys() >= KEYS
    assert (record["nodes"], record["results_wrong"], record["readings_lost"]) == (4, 0, 0)
    assert "0.2 days in" in done.stderr


def test_emulate_simulates_with_the_motes_that_dcka_has():
    done = CliRunner().invoke(
        emulate, ["--time-scale", "max", "--days", "0.15", "--data", "suthaharan", "--loss", "0.1"]
    )
    assert done.exit_code == 0, done.stderr
    assert "4 nodes (suthaharan): 3 clusterings, 3 exact" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--days", "2"], "--days goes with --time-scale"),
        (["--time-scale", "10", "--heap", "128K"], "--heap is of nodes in real time"),
        (["--time-scale", "fast"], "'fast'"),
        (["--time-scale", "max", "--days", "0"], "--days"),
        (["--time-scale", "max", "--loss", "2"], "--loss"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, word):
    done = CliRunner().invoke(emulate, arguments)
    assert isinstance(done.exception, UsageError) and word in str(done.exception)


def test_a_time_scale_is_a_number_or_max():
    assert scale_of("max") is None and scale_of("10000") == 10000.0
    for text in ("0", "-1", "inf", "nan", ""):
        with pytest.raises(UsageError):
            scale_of(text)
