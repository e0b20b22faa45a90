"""`dcka bench engine`: the host's K-means engine beside scikit-learn's."""

from pathlib import Path

import click

from dcka.cli.options import birch_option, examples, json_option
from dcka.cli.output import Output

EXIT_DIFFERS = 1


@click.command(
    "engine",
    epilog=examples(
        "dcka bench engine                        all cases: some two minutes",
        "dcka bench engine --case gaussians --json",
        "dcka bench engine --birch ~/data         Birch1 lies there",
    ),
)
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="CASE",
    help="birch1, gaussians or d16; may be repeated.  [default: all]",
)
@birch_option
@json_option
def command(cases: tuple[str, ...], birch: Path | None, output: Output) -> int:
    """Time one run to convergence against scikit-learn's KMeans, from the same start, on one thread and on two.

    Ratios are medians over interleaved repetitions, of its time to ours. The exit code is 1 where a label differs from
    the reference's, or the SSD by more than 1e-12.
    """
    from dcka.cli.experiments import require

    require("llvmlite", "numba", "sklearn", "threadpoolctl")
    from dcka.bench.engine import CASES, engine, text

    record = engine(cases or CASES, birch, output.say)
    output.result(record, text(record))
    return 0 if record["ok"] else EXIT_DIFFERS
