"""`dcka bench soak`: run after run with random faults."""

import secrets

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

EXIT_FAILED = 1
SECONDS = 1800


@click.command(
    "soak",
    epilog=examples(
        "dcka bench soak                           half an hour (make soak)",
        "dcka bench soak --seconds 60 --seed 7     the same faults as another with this seed",
    ),
)
@click.option("--seconds", type=float, default=SECONDS, metavar="S", help=f"How long.  [default: {SECONDS}]")
@click.option("--nodes", type=int, default=20, metavar="N", help="Of the network.  [default: 20]")
@click.option("--seed", type=int, metavar="N", help="Of the faults.  [default: drawn, and told]")
@click.option(
    "--engine", metavar="NAME", default="mosquitto", help="mosquitto or embedded.  [default: mosquitto]"
)
@json_option
def command(seconds: float, nodes: int, seed: int | None, engine: str, output: Output) -> int:
    """Run again and again on one network, while brokers restart, connections break and nodes lose their power.

    The exit code is 0 only where no result was wrong, no node was lost, and neither memory nor open files nor threads
    have grown.
    """
    from dcka.bench.faults.fault import Settings
    from dcka.bench.faults.soak import soak, text

    settings = Settings(engine, nodes, seed=secrets.randbelow(1 << 31) if seed is None else seed)
    record = soak(seconds, settings, output.say)
    output.result(record, text(record))
    return 0 if record["ok"] else EXIT_FAILED
