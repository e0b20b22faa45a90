"""`dcka bench kernel`: how fast a K-means step is on MicroPython."""

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

EXIT_MISSED = 1


@click.command(
    "kernel",
    epilog=examples(
        "dcka bench kernel                      all cases: half a minute",
        "dcka bench kernel --case A --json",
        "dcka bench kernel --table              which kernel is the fastest, by n and K",
    ),
)
@click.option(
    "--case", "cases", multiple=True, metavar="CASE", help="A to D; may be repeated.  [default: all]"
)
@click.option("--rounds", type=int, default=25, metavar="N", help="How often all take turns.  [default: 25]")
@click.option("--table", is_flag=True, help="Measure every kernel over n and K instead.")
@json_option
def command(cases: tuple[str, ...], rounds: int, table: bool, output: Output) -> int:
    """Measure the kernels of a node beside a naive step, bytecode and numpy.

    All take turns in one MicroPython process on this computer, over the first steps of a clustering; a time is each
    step's best of many rounds. docs/kernel.md explains the figures; `dcka board bench` measures the same on a board.
    The exit code is 1 where a kernel adds other bits than numpy, allocates, or misses what was promised of it.
    """
    from dcka.bench.kernel import kernel
    from dcka.bench.kernel_table import kernel_table
    from dcka.bench.kernel_unix import ask_unix
    from dcka.bench.kernel_words import kernel_text, table_text

    if table:
        found = kernel_table(rounds, lambda asked: ask_unix(asked, output.detail), output.say)
        output.result(found, table_text(found))
        return 0
    record = kernel(cases, rounds, lambda asked: ask_unix(asked, output.detail), output.say)
    output.result(record, kernel_text(record))
    return 0 if record["ok"] else EXIT_MISSED
