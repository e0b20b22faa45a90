"""`dcka simulate`: thousands of nodes in one process, without a broker."""

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

EXIT_DIFFERS = 1


@click.command(
    "simulate",
    epilog=examples(
        "dcka simulate --nodes 10000                            an exact run and a gossip run",
        "dcka simulate --nodes 2000 --schedule tree --topology random",
        "dcka simulate --nodes 500 --k 5 --tolerance 1e-6 --json",
    ),
)
@click.option("--nodes", type=int, required=True, metavar="N", help="How many nodes, up to 65,535.")
@click.option("--k", type=int, default=9, show_default=True, metavar="K", help="Clusters.")
@click.option(
    "--per-gaussian",
    type=int,
    default=5,
    show_default=True,
    metavar="M",
    help="Points of each Gaussian at a node.",
)
@click.option(
    "--topology",
    default="chords",
    show_default=True,
    metavar="NAME",
    help="chords (any two nodes may talk; few slots) or random (radio neighbours; gossip is slow there).",
)
@click.option("--schedule", "kinds", multiple=True, metavar="KIND", help="tree or gossip.  [default: both]")
@click.option(
    "--tolerance",
    type=float,
    default=1e-4,
    show_default=True,
    metavar="X",
    help="gossip: a fraction of the range.",
)
@click.option(
    "--max-slots", type=int, default=100_000, show_default=True, metavar="S", help="gossip: in a step."
)
@click.option(
    "--max-steps", type=int, default=100, show_default=True, metavar="T", help="Outer steps, at most."
)
@click.option(
    "--seed", type=int, default=1, show_default=True, metavar="N", help="Of data, graph and starts."
)
@json_option
def command(output: Output, kinds: tuple[str, ...], **given: int | float | str) -> int:
    """Cluster nine Gaussians over a large network, in memory: sums up a tree, and the paper's gossip.

    The exit code is 1 where the exact run differs from K-means on all points in a bit, or gossip did not agree.
    """
    from dcka.cli.experiments import require

    require("scipy")
    from dcka.simulate import Settings, simulate, text

    chosen = {"kinds": kinds} if kinds else {}
    record = simulate(Settings(**given, **chosen), output.say)  # type: ignore[arg-type]
    output.result(record, text(record))
    good = record.get("tree", {}).get("bit_identical", True) and record.get("gossip", {}).get("agreed", True)
    return 0 if good else EXIT_DIFFERS
