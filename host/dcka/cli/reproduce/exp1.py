"""`dcka reproduce exp1`: nine Gaussians on five nodes."""

from typing import Any

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output
from dcka.cli.reproduce.options import progress_bar, reproduce_options, settings_of

EXIT_DIFFERS = 1


@click.command(
    "exp1",
    epilog=examples(
        "dcka reproduce exp1                       all five results and the theory: some minutes",
        "dcka reproduce exp1 --runs 20 --k 5,9 --init local --draws 1",
        "dcka reproduce exp1 --jobs 2 --out report --json",
    ),
)
@reproduce_options
@click.option("--draws", type=int, metavar="N", help="Samples of the Gaussians.  [default: 3]")
@json_option
def command(output: Output, **given: Any) -> int:
    """DCKA and CKA on nine Gaussians, five nodes that hold 900 points each, two graphs in turn.

    Writes report.md with tables and pictures, runs.csv, results.json and a manifest into a folder. The exit code is 1
    where DCKA's labels differ from CKA's from the same start. docs/reproduce.md explains the results.
    """
    from dcka.cli.experiments import require

    require("joblib", "numba")
    from dcka.experiments import exp1, report

    settings = settings_of(given, exp1.default_folder(), exp1.RUNS, exp1.DRAWS, exp1.KS, exp1.SEED)
    with progress_bar(output) as progress:
        record, rows = exp1.exp1(settings, output.say, progress)
    file = report.write_exp1(settings, record, rows)
    output.result({**report.short(record), "report": file.absolute()}, report.words(record, file))
    return 0 if record["dcka_equals_cka"] else EXIT_DIFFERS
