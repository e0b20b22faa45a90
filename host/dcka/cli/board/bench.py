"""`dcka board bench`: how fast a K-means step is on a board."""

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

EXIT_MISSED = 1


@click.command(
    "bench",
    epilog=examples(
        "dcka board bench /dev/ttyUSB0",
        "dcka board bench /dev/ttyUSB0 --case A --json",
    ),
)
@click.argument("port")
@click.option(
    "--case", "cases", multiple=True, metavar="CASE", help="A, B or C; may be repeated.  [default: all]"
)
@click.option("--rounds", type=int, default=5, metavar="N", help="How often all take turns.  [default: 5]")
@json_option
def command(port: str, cases: tuple[str, ...], rounds: int, output: Output) -> int:
    """Measure the kernels on a board, beside a naive step and bytecode.

    The same cases and the same figures as `dcka bench kernel`, without numpy's time; the sums are compared with
    numpy's integers. It takes minutes. A case that the board's memory is too small for is told so. The exit code is 1
    where a kernel adds other bits, allocates, misses what was promised of it, or has no memory.

    The board needs MicroPython, no firmware of ours, and some 60 KB of free flash: the kernels are put into /dcka-bench
    there. The folder is removed at the end, after Ctrl-C too; what a lost cable leaves of it, the next call removes.
    The board's program is stopped, and started again.
    """
    from dcka.bench.kernel import in_memory, kernel
    from dcka.bench.kernel_cases import CASES
    from dcka.bench.kernel_files import board_modules
    from dcka.bench.kernel_unix import program_text
    from dcka.bench.kernel_words import kernel_text
    from dcka.boards.bench import ask_board

    chosen = in_memory(cases)
    dimensions = {CASES[name].n for name in chosen}
    record = kernel(
        chosen,
        rounds,
        lambda asked: ask_board(
            port, lambda march: board_modules(dimensions, march), program_text(), asked, output.say
        ),
        output.say,
        with_numpy=False,
    )
    output.result(record | {"port": port}, kernel_text(record))
    return 0 if record["ok"] else EXIT_MISSED
