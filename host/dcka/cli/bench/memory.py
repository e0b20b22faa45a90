"""`dcka bench memory`: what heap a node needs."""

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

EXIT_OVER = 1


@click.command(
    "memory",
    epilog=examples(
        "dcka bench memory                          all of it: some minutes",
        "dcka bench memory --case demo --times 1",
        "dcka bench memory --json > memory.json",
    ),
)
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="CASE",
    help="demo, tree, gossip or large; may be repeated.  [default: all]",
)
@click.option("--times", type=int, default=3, metavar="N", help="How often a size has to pass.  [default: 3]")
@json_option
def command(cases: tuple[str, ...], times: int, output: Output) -> int:
    """Measure a node's heap: by part, and the smallest on which it passes.

    On the 64-bit MicroPython of this computer, as compiled files and from sources. docs/memory.md explains the record,
    and what follows for boards. The exit code is 1 where something is above its budget in firmware/budget.toml.
    """
    from dcka.bench.memory import CASES, memory, text

    record = memory(cases or tuple(CASES), times, output.say)
    output.result(record, text(record))
    return 0 if record["ok"] else EXIT_OVER
