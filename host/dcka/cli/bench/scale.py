"""`dcka bench scale`: many nodes on this computer, and how fast they are."""

from pathlib import Path

import click

from dcka.cli.options import birch_option, examples, json_option
from dcka.cli.output import Output

EXIT_MISSED = 1


@click.command(
    "scale",
    epilog=examples(
        "dcka bench scale                                 all cases: some ten minutes",
        "dcka bench scale --case mosquitto-200 --repeats 5",
        "dcka bench scale --case cluster-1000 --json > scale.json",
    ),
)
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="CASE",
    help="mosquitto-200, mosquitto-1000, embedded-200, embedded-1000, birch-tls-20, cluster-1000 or memory; may be "
    "repeated.  [default: all]",
)
@click.option("--repeats", type=int, default=3, metavar="N", help="Runs whose median is taken.  [default: 3]")
@click.option("--nodes", type=int, metavar="N", help="So many nodes in each case, for a quick look.")
@birch_option
@json_option
def command(
    cases: tuple[str, ...], repeats: int, nodes: int | None, birch: Path | None, output: Output
) -> int:
    """Run networks of 200 and 1,000 emulated nodes, and compare the time with that of the bare messages.

    The messages of a run are recorded, and sent anew by MQTT clients that do nothing else, in turns with the runs. The
    exit code is 1 where a run does not end in the reference's bits, or takes more than three times as long, or a node
    more than 100 KB.
    """
    from dcka.bench.scale import CASES, scale, text

    record = scale(cases or tuple(CASES), output.say, nodes=nodes, repeats=repeats, birch=birch)
    output.result(record, text(record))
    return 0 if record["ok"] else EXIT_MISSED
