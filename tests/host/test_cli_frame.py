"""The frame of `dcka`: what a verb raises becomes one line and an exit code, and stdout stays clean."""

import json
import os
import pkgutil
import signal
import subprocess
import sys
from importlib import import_module

import pytest

from dcka import __version__
from dcka.cli import main
from dcka.cli.verbs import BENCH_VERBS, BOARD_VERBS, BROKER_VERBS, REPRODUCE_VERBS, RESULTS_VERBS, VERBS, Verb

VERB = '''
import os, socket, sys, threading
import click
from dcka.cli.options import examples, json_option
from dcka.errors import DckaError, UsageError

class Refused(DckaError):
    exit_code = 7

@click.command("play", epilog=examples("dcka play quietly", "dcka play     loudly"))
@click.argument("what", default="nothing")
@click.option("--count", type=int, default=1)
@json_option
def command(what, count, output):
    """Play."""
    output.detail("a detail")
    output.say("[run] k = 0 :warning:")
    if what == "refused":
        raise Refused("the piano\\nis\\x1b[31m locked: fetch the key")
    if what == "usage":
        raise UsageError("play what?")
    if what == "bug":
        return [][0]
    if what == "verdict":
        return 1
    if what == "exit":
        click.get_current_context().exit(5)
    if what == "interrupt":
        raise KeyboardInterrupt
    if what == "print":
        print("a library chatters")
    if what == "socket":
        raise BrokenPipeError(32, "the broker is gone")
    if what == "wait":
        try:
            print("ready", file=sys.stderr, flush=True)
            threading.Event().wait()
        finally:
            print("cleaned up", file=sys.stderr, flush=True)
    if what == "flood":
        while True:
            print("x" * 10_000)
    output.result({"count": count}, "pläyed" if what == "umlaut" else "played")
'''

PLAY = {"play": Verb("a_verb_to_play", "Play.", "Games"), "rest": Verb("no_such_module", "Rest.", "Pauses")}


@pytest.fixture
def play(tmp_path, monkeypatch, capsys):
    """Calls `dcka` with a verb `play`, and another whose module is not there; (code, stdout, stderr)."""
    (tmp_path / "a_verb_to_play.py").write_text(VERB, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "a_verb_to_play", raising=False)

    def call(*arguments):
        code = main(arguments, PLAY)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def process(tmp_path):
    """Starts `dcka play …` as a process of its own; it is ended with the test."""
    (tmp_path / "a_verb_to_play.py").write_text(VERB, encoding="utf-8")
    started = []

    def start(*arguments, stdout=subprocess.PIPE):
        program = (
            "import sys; from dcka.cli import main; from dcka.cli.verbs import Verb; "
            "sys.exit(main(verbs={'play': Verb('a_verb_to_play', '', '')}))"
        )
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        child = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        started.append(child)
        return child

    yield start
    for child in started:
        if child.poll() is None:
            child.kill()
        child.communicate()


# calls


def test_help_lists_the_verbs_by_heading_without_importing_any(play):
    code, out, err = play("--help")
    assert (code, err) == (0, "")
    assert "Games:\n  play  Play.\n" in out
    assert "Pauses:\n  rest  Rest.\n" in out
    assert "a_verb_to_play" not in sys.modules


def test_the_version_is_one_line(play):
    assert play("--version") == (0, f"dcka {__version__}\n", "")


def test_no_verb_at_all_shows_the_help_on_stderr(play):
    code, out, err = play()
    assert (code, out) == (2, "")
    assert "Usage: dcka [OPTIONS] VERB" in err


def test_help_and_version_stay_fast_for_want_of_heavy_imports():
    program = (
        "import sys; from dcka.cli import main; main(['--help']); main(['--version']); "
        "heavy = {'numpy', 'paho', 'rich', 'matplotlib', 'tomllib', 'dcka.config', 'dcka.topology'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_examples_keep_their_line_breaks_and_spaces(play):
    _, out, _ = play("play", "--help")
    assert "  Examples:\n    dcka play quietly\n    dcka play     loudly\n" in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["plya"], 'dcka: there is no verb "plya"; did you mean play? (see: dcka --help)'),
        (["zzz"], 'dcka: there is no verb "zzz"; the verbs are play, rest (see: dcka --help)'),
        (["--nope"], "dcka: there is no option --nope (see: dcka --help)"),
        (
            ["play", "--cont", "3"],
            "dcka: there is no option --cont; did you mean --count? (see: dcka play --help)",
        ),
        (
            ["play", "--count", "many"],
            "dcka: invalid value for '--count': 'many' is not a valid integer (see: dcka play --help)",
        ),
        (["play", "usage"], "dcka: play what?"),
    ],
)
def test_a_wrong_call_is_one_line_on_stderr_and_exit_2(play, arguments, line):
    code, out, err = play(*arguments)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == line
    assert "Traceback" not in err


# outcomes


def test_an_error_for_people_is_one_clean_line_with_its_own_exit_code(play):
    for flags in ([], ["--json"]):
        code, out, err = play("play", "refused", *flags)
        assert (code, out) == (7, "")
        assert err.splitlines()[-1] == "dcka: the piano is [31m locked: fetch the key"
        assert "Traceback" not in err


def test_verbose_adds_the_traceback_before_or_behind_the_verb(play):
    for arguments in (["-v", "play", "refused"], ["play", "--json", "refused", "--verbose"]):
        code, _, err = play(*arguments)
        assert code == 7
        assert "a detail" in err
        assert "Traceback" in err
        assert err.splitlines()[-1].startswith("dcka: the piano")
    assert "a detail" not in play("play")[2]


def test_a_fault_of_ours_shows_its_traceback_and_asks_for_a_report(play):
    code, out, err = play("play", "bug")
    assert (code, out) == (70, "")
    assert "IndexError" in err
    assert "please report it" in err.splitlines()[-1]
    code, _, err = play("rest")
    assert code == 70
    assert "No module named 'no_such_module'" in err


@pytest.mark.parametrize(("what", "code"), [("nothing", 0), ("verdict", 1), ("exit", 5), ("interrupt", 130)])
def test_exit_codes(play, what, code):
    assert play("play", what)[0] == code


def test_a_broken_pipe_that_is_not_ours_is_not_hidden(play):
    code, _, err = play("play", "socket")
    assert code == 70
    assert "the broker is gone" in err


# stdout


def test_results_go_to_stdout_and_words_to_stderr_with_their_brackets(play):
    code, out, err = play("play")
    assert (code, out, err) == (0, "played\n", "[run] k = 0 :warning:\n")


def test_in_json_mode_stdout_is_one_object_even_when_a_library_prints(play):
    code, out, err = play("play", "print", "--count", "3", "--json")
    assert code == 0
    assert json.loads(out) == {"count": 3}
    assert out.count("\n") == 1
    assert "a library chatters" in err
    assert "a library chatters" in play("play", "print")[1]


# signals and pipes


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_the_verb_through_its_clean_up(process, number, code):
    child = process("play", "wait")
    lines = []
    while "ready\n" not in lines:
        lines.append(child.stderr.readline())
    child.send_signal(number)
    rest = child.stderr.read()
    assert child.wait() == code
    assert "cleaned up" in rest
    assert "Traceback" not in rest
    assert ("\ndcka: stopped\n" in rest) == (number == signal.SIGINT)


def test_a_reader_that_leaves_ends_the_verb_quietly(process):
    child = process("play", "flood")
    child.stdout.read(1)
    child.stdout.close()
    err = child.stderr.read()
    assert child.wait() == 141
    assert err == "[run] k = 0 :warning:\n"


def test_a_stdout_without_an_encoding_for_it_shows_a_question_mark(process, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii:strict")
    child = process("play", "umlaut")
    assert child.stdout.read() == "pl?yed\n"
    assert child.wait() == 0


def test_main_leaves_the_signal_handlers_as_it_found_them(play):
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        play("play")
        assert [signal.getsignal(number) for number in before] == [signal.SIG_DFL, signal.SIG_DFL]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# the table


TABLES = {
    "dcka": VERBS,
    "dcka board": BOARD_VERBS,
    "dcka broker": BROKER_VERBS,
    "dcka bench": BENCH_VERBS,
    "dcka reproduce": REPRODUCE_VERBS,
    "dcka results": RESULTS_VERBS,
}
# A verb that is a group of verbs has its own table.
GROUPS = {group.removeprefix("dcka ") for group in TABLES if group != "dcka"}
LEAVES = [(group, name) for group, table in TABLES.items() for name in table if name not in GROUPS]


@pytest.mark.parametrize(("group", "name"), LEAVES)
def test_every_verb_of_the_tables_has_examples_and_json(group, name):
    command = import_module(TABLES[group][name].module).command
    assert command.name == name
    assert f"Examples:\n  {group} {name}" in command.epilog
    assert command.help
    assert "--json" in {option for parameter in command.params for option in parameter.opts}


@pytest.mark.parametrize(("group", "table"), TABLES.items())
def test_every_verb_module_is_in_its_table(group, table):
    package = import_module(group.replace("dcka", "dcka.cli", 1).replace(" ", "."))
    modules = [f"{package.__name__}.{entry.name}" for entry in pkgutil.iter_modules(package.__path__)]
    verbs = {
        name for name in modules if name != "dcka.cli.__main__" and hasattr(import_module(name), "command")
    }
    assert verbs == {verb.module for verb in table.values()}
