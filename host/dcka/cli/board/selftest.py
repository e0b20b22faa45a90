"""`dcka board selftest`: the whole path, on emulated boards."""

from typing import TYPE_CHECKING

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.boards.selftest import Report


@click.command(
    "selftest",
    epilog=examples(
        "dcka board selftest                five emulated boards, one with another chip",
        "dcka board selftest --boards 2     the quickest",
        "dcka board selftest --json         one object, for scripts",
    ),
)
@click.option(
    "--boards", type=int, default=5, show_default=True, metavar="N", help="Emulated boards, 2 to 16."
)
@json_option
def command(boards: int, output: Output) -> int:
    """Try the whole path on emulated boards: flash, provision, inject, join, run, check, logs.

    No board is needed, and none that is plugged in is touched. Each emulated board is a real MicroPython on a
    pseudo-terminal, with a flash of its own and a bootloader for esptool; the broker is the embedded one. What only
    hardware can show is not tested: the reset by DTR and RTS, USB, radio, currents. Exit code 0 where every board
    went the whole way and the run's verdict is PASS, 1 otherwise. Nothing is left running, and nothing kept.
    """
    from dcka.boards.selftest import selftest

    report = selftest(boards, output.say)
    output.result(report.record(), _words(report))
    if report.problem:
        output.say(f"dcka: {report.problem}")
    return 0 if report.passed else 1


def _words(report: "Report") -> str:
    count, chips = report.boards, " and ".join(dict.fromkeys(report.chips))
    lines = [
        f"flashed      {report.flashed} of {count}, {report.verified} verified ({chips})",
        f"provisioned  {report.provisioned} of {count}, {report.joined} joined; {report.files_sent} files sent",
        f"again        {report.files_skipped_second_time} files in place, none sent",
        f"injected     {report.injected} of {count}",
        f"run          {report.run_verdict or 'no verdict'}",
        f"power cut    {report.rejoined} of {count} came back by themselves",
        f"{'PASS' if report.passed else 'FAIL'}: the whole path on {count} emulated boards, {report.wall_s:.1f} s",
    ]
    return "\n".join(lines)
