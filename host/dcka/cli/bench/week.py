"""`dcka bench week`: a week of a living network, simulated, and every clustering of it checked."""

import time
from pathlib import Path

import click

from dcka.cli.options import examples, faults_of, json_option, radio_options
from dcka.cli.output import Output
from dcka.cli.weeks import scale_of, settings_of, simulate, week_options

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130


@click.command(
    "week",
    epilog=examples(
        "dcka bench week                           seven days, as fast as they go: about a minute",
        "dcka bench week --data generated --nodes 50 --days 2",
        "dcka bench week --loss 0.1 --seed 7       a worse radio, and other failures",
        "dcka bench week --no-failures --json      nothing fails: every clustering has all nodes in it",
    ),
)
@week_options
@click.option("--nodes", type=int, metavar="N", help="Of a generated network.  [default: 20]")
@click.option("--failures/--no-failures", default=True, help="Whether power, boards and the broker fail.")
@click.option("--time-scale", default="max", metavar="FACTOR", help="At most so fast.  [default: max]")
@radio_options
@json_option
def command(
    days: float | None,
    seed: int | None,
    data: str | None,
    data_folder: Path | None,
    every: int | None,
    nodes: int | None,
    failures: bool,
    time_scale: str,
    output: Output,
    **radio: float,
) -> int:
    """Simulate a week of nodes that sense, sleep, drift and fail, and check each clustering with the reference.

    Readings and radio are replayed from real motes, or generated. The exit code is 0 only where no result was wrong,
    no reading that was on flash is lost, and no program of a node crashed. The same seed gives the same report.
    """
    from dcka.week.report import text

    settings = settings_of(
        days, seed, data, data_folder, every, nodes=nodes, failing=failures, faults=faults_of(**radio)
    )
    begun = time.monotonic()
    record = simulate(settings, scale_of(time_scale), output)
    output.say(f"{record['days']:.3g} days in {time.monotonic() - begun:.0f} s")
    output.result(record, text(record))
    if record["interrupted"]:
        return EXIT_INTERRUPTED
    return 0 if record["ok"] else EXIT_FAILED
