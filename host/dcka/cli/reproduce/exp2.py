"""`dcka reproduce exp2`: the Birch sets on twenty nodes."""

from pathlib import Path
from typing import Any

import click

from dcka.cli.options import birch_option, examples, json_option
from dcka.cli.output import Output
from dcka.cli.reproduce.options import progress_bar, reproduce_options, settings_of

EXIT_DIFFERS = 1


@click.command(
    "exp2",
    epilog=examples(
        "dcka reproduce exp2 --fetch --jobs 2             the three sets, loaded from their home page",
        "dcka reproduce exp2 --birch ~/data --set birch2 --k 100 --runs 4",
        "dcka reproduce exp2 --init local                 the paper's start alone",
        "dcka reproduce exp2 --scheduler tcp://host:8786",
    ),
)
@reproduce_options
@birch_option
@click.option(
    "--set", "sets", multiple=True, metavar="LIST", help="Such as birch1,birch3.  [default: all three]"
)
@click.option("--fetch", is_flag=True, help="Load the sets that are not there from their home page.")
@json_option
def command(output: Output, birch: Path | None, sets: tuple[str, ...], fetch: bool, **given: Any) -> int:
    """DCKA and CKA on the Birch sets, 100,000 points dealt at random to twenty nodes.

    Writes report.md with tables and pictures, runs.csv, results.json and a manifest into a folder. The exit code is 1
    where an SSD lies below the best known or the full simulation differs, which would be a fault of ours.
    """
    from dcka.cli.experiments import require

    require("joblib", "numba")
    from dcka.datasets import birch as files
    from dcka.experiments import exp2, report
    from dcka.inject.errors import DataError

    names = [name for text in sets for name in text.split(",")] or list(files.SETS)
    settings = settings_of(given, Path("exp2"), exp2.RUNS, 1, exp2.KS, exp2.SEED)
    settings.check(exp2.PER_NODE)
    for name in names if fetch else ():
        try:
            files.find(name, birch)
        except DataError:
            output.say(f"loading {name} from {files.ADDRESS}")
            files.fetch(name, birch)
    with progress_bar(output) as progress:
        record, rows = exp2.exp2(settings, names, birch, output.say, progress)
    file = report.write_exp2(settings, record, rows)
    output.result({**report.short(record), "report": file.absolute()}, report.words(record, file))
    same = all(own["same"] for own in record["full_simulation"].values())
    return EXIT_DIFFERS if record["below_best_known"] or not same else 0
