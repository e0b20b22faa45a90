"""Levels of what stderr gets, and how lines look for a person, in a log file, and in the journal of systemd."""

import logging
import os
import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from dcka.cli import logs, main
from dcka.cli.output import Output
from dcka.cli.verbs import Verb

VERB = '''
import logging
import click
from dcka.cli import logs
from dcka.cli.options import json_option
from dcka.errors import UsageError

@click.command("talk")
@click.argument("how", default="")
@json_option
def command(how, output):
    """Talk."""
    if "long" in how:
        logs.begin_service()
    output.error("an error")
    output.warn("a warning")
    output.say("two\\nlines")
    output.detail("a detail")
    logging.getLogger("library").warning("careful")
    logging.getLogger("library").debug("100 %s", "percent\\x1b[31m")
    logging.getLogger("matplotlib").debug("fonts")
    if "fail" in how:
        raise UsageError("no")
    if "bug" in how:
        return [][0]
'''
AT = datetime(2026, 11, 30, 9, 8, 7, 654321, tzinfo=UTC)
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "verb_talk.py").write_text(VERB)
    (tmp_path / "call.py").write_text(
        "import sys\nfrom dcka.cli import main\nfrom dcka.cli.verbs import Verb\n"
        'sys.exit(main(verbs={"talk": Verb("verb_talk", "Talk.", "Start")}))\n'
    )
    return tmp_path


@pytest.fixture
def talk(folder, monkeypatch, capsys):
    """Call `dcka …`: the lines on stderr. It is no terminal."""
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delenv("JOURNAL_STREAM", raising=False)
    monkeypatch.delenv(logs.VARIABLE, raising=False)

    def call(*arguments):
        code = main(arguments, {"talk": Verb("verb_talk", "Talk.", "Start")})
        captured = capsys.readouterr()
        assert captured.out == ""
        return code, captured.err.splitlines()

    yield call
    sys.modules.pop("verb_talk", None)


ERROR, WARNING = ["an error"], ["an error", "a warning"]
INFO = [*WARNING, "two", "lines", "library: careful"]
DEBUG = [*WARNING, "two", "lines", "a detail", "library: careful", "library: 100 percent [31m"]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["talk"], INFO),
        (["--log-level", "error", "talk"], ERROR),
        (["talk", "--log-level", "error"], ERROR),
        (["-q", "talk"], [*WARNING, "library: careful"]),
        (["talk", "--quiet"], [*WARNING, "library: careful"]),
        (["-v", "talk"], DEBUG),
        (["talk", "-v"], DEBUG),
        (["talk", "--log-level", "debug"], DEBUG),
        (["-q", "talk", "-v"], DEBUG),
        (["talk", "-v", "--log-level", "error"], ERROR),
    ],
)
def test_the_last_level_that_is_given_counts(talk, arguments, shown):
    assert talk(*arguments) == (0, shown)


def test_the_environment_sets_the_level_and_options_overrule_it(talk, monkeypatch):
    monkeypatch.setenv(logs.VARIABLE, "Error")
    assert talk("talk") == (0, ERROR)
    assert talk("talk", "-v") == (0, DEBUG)
    monkeypatch.setenv(logs.VARIABLE, "")
    assert talk("talk") == (0, INFO)


def test_a_level_that_there_is_not_is_a_sentence(talk, monkeypatch):
    code, said = talk("talk", "--log-level", "loud")
    assert (code, len(said)) == (2, 1) and "'loud' is not one of 'error', 'warning', 'info', 'debug'" in said[
        0
    ]
    monkeypatch.setenv(logs.VARIABLE, "loud")
    assert talk("talk") == (2, ["dcka: DCKA_LOG is loud: it can be error, warning, info, debug"])


def test_an_error_is_said_at_every_level_and_its_traceback_at_debug(talk):
    assert talk("--log-level", "error", "talk", "fail") == (2, [*ERROR, "dcka: no"])
    code, said = talk("-v", "talk", "fail")
    assert code == 2 and said[-1] == "dcka: no" and "Traceback (most recent call last):" in said


def test_a_long_running_verb_without_a_terminal_says_when_and_how_serious(talk):
    code, said = talk("-v", "talk", "long fail")
    assert code == 2
    assert all(re.match(f"{STAMP} (error|warning|info|debug): ", line) for line in said)
    words = [line.split(" ", 1)[1] for line in said]
    assert words[:5] == [
        "error: an error",
        "warning: a warning",
        "info: two",
        "info: lines",
        "debug: a detail",
    ]
    assert words[-1] == "error: dcka: no"
    assert talk("talk") == (0, INFO)  # the next verb is a short one


@pytest.mark.parametrize("how", ["", "long"])
def test_the_journal_gets_priorities_and_no_times(folder, how):
    reader, writer = os.pipe()
    status = os.fstat(writer)
    environment = {**os.environ, "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
    with open(reader, encoding="utf-8") as lines:
        done = subprocess.run(
            [sys.executable, "call.py", "-v", "talk", f"{how} bug"],
            cwd=folder, stderr=writer, stdout=subprocess.PIPE, env=environment, timeout=50,
        )  # fmt: skip
        os.close(writer)
        said = lines.read().splitlines()
    assert done.returncode == 70
    assert said[:5] == ["<3>an error", "<4>a warning", "<6>two", "<6>lines", "<7>a detail"]
    assert "<4>library: careful" in said
    assert "<3>Traceback (most recent call last):" in said
    assert said[-1].startswith("<3>dcka: this is a fault in dcka")
    assert all(re.match("<[3467]>", line) for line in said)


def test_another_streams_journal_is_not_ours(monkeypatch, tmp_path):
    with (tmp_path / "log").open("w") as stream:
        status = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino + 1}")
        assert not logs.is_journal(stream) and logs.is_plain(stream)
        for nonsense in ("", "x", "1:2:3"):
            monkeypatch.setenv("JOURNAL_STREAM", nonsense)
            assert not logs.is_journal(stream)
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        assert logs.lines("\ntwo\nlines\n", logging.INFO, stream, AT) == "<6>two\n<6>lines"


def test_a_line_of_a_log_file(monkeypatch, tmp_path):
    monkeypatch.delenv("JOURNAL_STREAM", raising=False)
    with logs.listening(), (tmp_path / "log").open("w") as stream:
        logs.begin_service()
        assert logs.lines("gone", logging.WARNING, stream, AT) == "2026-11-30T09:08:07.654Z warning: gone"
        assert logs.lines("", logging.INFO, stream, AT) == "2026-11-30T09:08:07.654Z info: "


def test_what_is_set_for_a_verb_ends_with_it(capsys):
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    with logs.listening():
        logs.set_level("error")
        Output().warn("hidden")
    assert (root.level, root.handlers) == before
    Output().say("shown")
    assert capsys.readouterr().err == "shown\n"
