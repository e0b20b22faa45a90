"""`dcka bench monitor`: what a monitor stands."""

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

EXIT_MISSED = 1


@click.command(
    "monitor",
    epilog=examples(
        "dcka bench monitor                              all parts: half a minute",
        "dcka bench monitor --part telemetry --rate 8000",
        "dcka bench monitor --part paint                 needs Chromium and Playwright",
        "dcka bench monitor --json > monitor.json",
    ),
)
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="PART",
    help="telemetry, listing, paint; may be repeated.  [default: all]",
)
@click.option(
    "--rate",
    type=click.IntRange(min=1),
    default=6000,
    show_default=True,
    metavar="N",
    help="Messages a second.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    metavar="S",
    help="For so long.",
)
@json_option
def command(parts: tuple[str, ...], rate: int, seconds: float, output: Output) -> int:
    """Let 200 nodes speak to a monitor that stores it all, list 10,000 stored runs, and watch the page in a browser.

    The messages come from another process over a broker, and are counted in the database. The exit code is 1 where one
    is lost, where less than 5,000 a second are stored, a list takes more than 300 ms, or 5 of 100 messages of 200 nodes
    that speak ten times a second take more than 500 ms until a browser (Chromium) has painted them.
    """
    from dcka.bench.monitor import PARTS, monitor, text

    record = monitor(parts or PARTS, output.say, rate=rate, seconds=seconds)
    output.result(record, text(record))
    return 0 if record["ok"] else EXIT_MISSED
