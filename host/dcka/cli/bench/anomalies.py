"""`dcka bench anomalies`: what nodes find of labelled events, beside a central K-means."""

from pathlib import Path

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

EXIT_DIFFERS = 1


@click.command(
    "anomalies",
    epilog=examples(
        "dcka bench anomalies --data data              both sets, K = 1, 4 and 9, two quantiles",
        "dcka bench anomalies --data data --k 4 --quantile 0.99 --json",
    ),
)
@click.option(
    "--data", "folder", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR",
    help="Where suthaharan_singlehop.csv.gz and suthaharan_multihop.csv.gz are.",
)  # fmt: skip
@click.option(
    "--k",
    "clusters",
    type=click.IntRange(min=1, max=64),
    multiple=True,
    metavar="K",
    help="Clusters; may be repeated.",
)
@click.option(
    "--quantile",
    "quantiles",
    type=float,
    multiple=True,
    metavar="Q",
    help="May be repeated.  [default: 0.99, 0.995]",
)
@click.option(
    "--runtime", type=click.Choice(("micropython", "cpython")), default="micropython", show_default=True,
    help="Of the nodes.",
)  # fmt: skip
@json_option
def command(
    folder: Path, clusters: tuple[int, ...], quantiles: tuple[float, ...], runtime: str, output: Output
) -> int:
    """Precision and recall of anomalies against the labels of the Suthaharan readings.

    Four nodes have the readings of a mote each, cluster them, and agree on the quantile. Beside it: K-means of
    scikit-learn on all readings, from the same start, and the best of ten starts of its own, with the same rule. The
    exit code is 1 where a run was not the reference's, bit for bit.
    """
    from dcka.anomalies import tail_ppm_of
    from dcka.cli.experiments import require

    require("sklearn")
    from dcka.bench.anomalies import CLUSTERS, QUANTILES, measure, text

    for quantile in quantiles:
        tail_ppm_of(quantile)
    record = measure(folder, runtime, output.say, clusters or CLUSTERS, quantiles or QUANTILES)
    output.result(record, text(record))
    return 0 if record["ok"] else EXIT_DIFFERS
