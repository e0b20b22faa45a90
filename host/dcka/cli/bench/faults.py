"""`dcka bench faults`: what goes wrong, each in a real run, and that no result is."""

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

EXIT_FAILED = 1


@click.command(
    "faults",
    epilog=examples(
        "dcka bench faults                                all of them: some minutes",
        "dcka bench faults --fault broker_paused --pause 5",
        "dcka bench faults --fault fuzz --messages 5000 --seed 7 --json",
    ),
)
@click.option(
    "--fault",
    "names",
    multiple=True,
    metavar="FAULT",
    help="One of the list; may be repeated.  [default: all]",
)
@click.option("--nodes", type=int, default=20, metavar="N", help="Of each network.  [default: 20]")
@click.option(
    "--pause", type=float, default=30.0, metavar="S", help="How long the broker is frozen.  [default: 30]"
)
@click.option("--messages", type=int, default=100_000, metavar="N", help="Of the fuzz.  [default: 100000]")
@click.option("--seed", type=int, default=1, metavar="N", help="Of all that is random.  [default: 1]")
@click.option(
    "--engine", metavar="NAME", default="mosquitto", help="mosquitto or embedded.  [default: mosquitto]"
)
@json_option
def command(
    names: tuple[str, ...], nodes: int, pause: float, messages: int, seed: int, engine: str, output: Output
) -> int:
    """Let each fault happen in a run of its own, and compare what comes of it with the reference.

    The exit code is 0 only where every fault was stood: no wrong result, no node lost, the run ended as it has to, and
    a run afterwards is whole.
    """
    from dcka.bench.faults import FAULTS, faults, text
    from dcka.bench.faults.fault import Settings

    settings = Settings(engine, nodes, pause, messages, seed)
    record = faults(names or tuple(FAULTS), settings, output.say)
    output.result(record, text(record))
    return 0 if record["ok"] else EXIT_FAILED
