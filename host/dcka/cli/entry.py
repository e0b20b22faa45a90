"""`main`: runs a verb and turns what it raises into one line on stderr and an exit code."""

import logging
import os
import select
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

import click

from dcka import __version__
from dcka.cli import logs
from dcka.cli.group import VerbGroup
from dcka.cli.options import log_options
from dcka.cli.verbs import VERBS, Verb
from dcka.errors import DckaError

# What a shell reports for a program that a signal ended: 128 + its number.
EXIT_INTERRUPTED = 128 + 2
EXIT_BROKEN_PIPE = 128 + 13
# EX_SOFTWARE of sysexits.h: a fault of ours, not to be mistaken for a verdict of FAIL, which is 1.
EXIT_BUG = 70


def main(arguments: Sequence[str] | None = None, verbs: Mapping[str, Verb] = VERBS) -> int:
    """Run the command line `arguments` (without the program's name; sys.argv's by default); the exit code.

    0 for success, or the integer that the verb returns or exits with; `exit_code` of a DckaError (1, 2 for a
    wrong call or file); 2 for a call that click refuses; 130 after Ctrl-C; 141 where nobody reads the output
    any more; 70 for a fault of ours, with its traceback. SIGTERM and SIGHUP end the verb as Ctrl-C does, by
    SystemExit with 143 and 129, so that it stops what it has started.
    """
    _never_fail_to_encode()
    with _ended_by_signals(), logs.listening():
        try:
            code = _run(sys.argv[1:] if arguments is None else list(arguments), verbs)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            return EXIT_BROKEN_PIPE if _output_is_broken() else _bug()


def _run(arguments: list[str], verbs: Mapping[str, Verb]) -> int:
    try:
        logs.set_level(logs.level_of_environment())
        with command_group(verbs).make_context("dcka", arguments) as ctx:
            outcome = ctx.command.invoke(ctx)
            return outcome if isinstance(outcome, int) else 0
    except click.exceptions.Exit as way_out:
        return way_out.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        return _said(error.format_message(), error.exit_code)
    except click.ClickException as error:
        return _said(_line(_call_refused(error)), error.exit_code)
    except DckaError as error:
        logs.put(traceback.format_exc().rstrip(), logging.DEBUG, sys.stderr)
        return _said(_line(str(error)), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        # The terminal has written ^C: begin a line of our own.
        return _said("\ndcka: stopped", EXIT_INTERRUPTED)
    except BrokenPipeError:
        raise
    except Exception:
        return _bug()


def command_group(verbs: Mapping[str, Verb] = VERBS) -> VerbGroup:
    """The group `dcka` over `verbs`."""

    @click.group(
        cls=VerbGroup,
        name="dcka",
        no_args_is_help=True,
        subcommand_metavar="VERB ...",
        epilog="dcka VERB --help shows the options of a verb, with examples.",
    )
    @click.version_option(__version__, prog_name="dcka", message="%(prog)s %(version)s")
    @log_options
    def dcka() -> None:
        """Cluster the readings of a sensor network where they are: distributed K-means over MQTT."""

    dcka.verbs = verbs
    return dcka


def _call_refused(error: click.ClickException) -> str:
    """click's message in this program's form: no capital, no full stop, and where the help is."""
    if isinstance(error, click.NoSuchOption):
        hint = f"; did you mean {error.possibilities[0]}?" if error.possibilities else ""
        message = f"there is no option {error.option_name}{hint}"
    else:
        message = error.format_message().rstrip(".")
        message = message[:1].lower() + message[1:]
    ctx = getattr(error, "ctx", None)
    return message if ctx is None else f"{message} (see: {ctx.command_path} --help)"


def _line(message: str) -> str:
    """One line, whatever is quoted in it: no line break, and nothing that a terminal would obey."""
    return "dcka: " + "".join(sign if sign.isprintable() else " " for sign in message)


def _said(words: str, code: int) -> int:
    # Whatever the level: an exit code alone helps nobody.
    level = logging.INFO if code == EXIT_INTERRUPTED else logging.ERROR
    print(logs.lines(words, level, sys.stderr), file=sys.stderr)
    return code


def _bug() -> int:
    _said(traceback.format_exc().rstrip(), EXIT_BUG)
    return _said(
        f"dcka: this is a fault in dcka {__version__}; please report it with the lines above and the call",
        EXIT_BUG,
    )


def _output_is_broken() -> bool:
    """Whether it is stdout or stderr whose reader is gone; what is left for it then goes nowhere.

    Other pipes and sockets break too, and that is no reason to be silent. The exception does not say whose
    pipe it was, and a stream may have dropped what it could not write, so the descriptors are asked.
    """
    broken = False
    for stream in (sys.stdout, sys.stderr):
        if _reader_is_gone(stream):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            broken = True
    return broken


def _reader_is_gone(stream: TextIO) -> bool:
    if not hasattr(select, "poll"):
        return True
    try:
        descriptor = stream.fileno()
    except OSError:
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return bool(poll.poll(0))


def _never_fail_to_encode() -> None:
    """On a stdout whose encoding has no "…" show a "?", rather than end the verb; stderr never fails."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit, whose way out passes every `finally`; restore them then."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
