"""Options that verbs share, and the helper for the examples in their help."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dcka.cli import logs
from dcka.cli.output import Output
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.config import Config, State
    from dcka.emulation.air import Faults

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def examples(*lines: str) -> str:
    """An epilog with the heading "Examples:" and the lines as they are, one below the other."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {line}" for line in lines)])


def json_option(command: Decorated) -> Decorated:
    """`--json`; the function gets `output`, an Output that knows of it. With it come the options of `log_options`."""
    return click.option(
        "--json",
        "output",
        is_flag=True,
        callback=_output,
        help="Print one JSON object on stdout; everything else goes to stderr.",
    )(log_options(command, hidden=True))


def log_options(command: Decorated, hidden: bool = False) -> Decorated:
    """`--log-level LEVEL`, `-v`, `-q`; the last one counts, of those before the verb and those behind it.

    `hidden` from the help of verbs: `dcka --help` has them. They are taken there because people write them there.
    """
    flags: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "hidden": hidden}
    level = click.option(
        "--log-level",
        type=click.Choice(tuple(logs.LEVELS)),
        is_eager=True,
        expose_value=False,
        hidden=hidden,
        callback=_set_level,
        help=f"What stderr gets, at least so serious.  [default: the environment's {logs.VARIABLE}, {logs.DEFAULT}]",
    )
    verbose = click.option(
        "-v", "--verbose", callback=_verbose, help="--log-level debug; an error shows its traceback.", **flags
    )
    quiet = click.option("-q", "--quiet", callback=_quiet, help="--log-level warning.", **flags)
    return level(verbose(quiet(command)))


def _set_level(ctx: click.Context, parameter: click.Parameter, level: str | None) -> None:
    if level is not None:
        logs.set_level(level)


def _verbose(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        logs.set_level("debug")


def _quiet(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        logs.set_level("warning")


def network_option(command: Decorated) -> Decorated:
    """`--network FILE`; the function gets `network`, a Path or None."""
    return click.option(
        "--network",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="The network file.  [default: network.toml here]",
    )(command)


def state_option(command: Decorated) -> Decorated:
    """`--state DIR`; the function gets `state`, a Path or None."""
    return click.option(
        "--state",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Where runs and data sets are kept.  [default: .dcka beside the network file]",
    )(command)


def broker_option(command: Decorated) -> Decorated:
    """`--broker URL[,URL…]`, also repeated; the function gets `broker`, a text or None. `configuration` checks it."""
    return click.option(
        "--broker",
        multiple=True,
        callback=_joined,
        metavar="URL[,URL]",
        help="The broker, such as mqtt://192.168.1.10:1883, instead of the network file's; a cluster's servers with "
        "commas between them.",
    )(command)


def _joined(ctx: click.Context, parameter: click.Parameter, urls: tuple[str, ...]) -> str | None:
    return ",".join(urls) if urls else None


MOST_REVEALED = 64
"""Events of a node in a run, at most (docs/protocol.md, section 3)."""

RANGES = ("host", "minmax", "quantile")
"""Who finds the range of the readings, and by what."""


def range_options() -> list[Callable[[Decorated], Decorated]]:
    """`--tail` and `--scale`, which go with `--range`."""
    return [
        click.option("--tail", type=float, metavar="P", help="quantile: the part cut off at either end."),
        click.option(
            "--scale", metavar="HOW", help="one step for all columns; or each by its minmax or std."
        ),
    ]


def range_choice(command: Decorated) -> Decorated:
    """`--range WORD`, `--tail`, `--scale`; the function gets `range`, `tail` and `scale`, each None where not given."""
    words = click.option("--range", metavar="WHO", help="host, minmax or quantile: who finds the range.")
    for option in reversed([words, *range_options()]):
        command = option(command)
    return command


def init_choice(command: Decorated) -> Decorated:
    """`--init START`; the function gets `init`, None where not given."""
    return click.option(
        "--init",
        metavar="START",
        help="The first centres: local, sorted, snake (each node draws its own), shared, partition (random labels), "
        "or kmeans++, which reveals K readings (docs/starts.md).",
    )(command)


def reveal_option(command: Decorated) -> Decorated:
    """`--reveal [N]`; the function gets `reveal`, how many readings each node says at most, 0 for none."""
    return click.option(
        "--reveal",
        type=click.IntRange(1, MOST_REVEALED),
        is_flag=False,
        flag_value=16,
        default=None,
        callback=lambda ctx, parameter, value: value or 0,
        metavar="[N]",
        help="Each node says its N farthest readings that are beyond, 16 where no N is given: this reveals them.",
    )(command)


def require_quantile(tail: float | None, range: str) -> None:
    """Raises UsageError where a tail is given, and no quantiles are sought."""
    if tail is not None and range != "quantile":
        raise UsageError("--tail goes with --range quantile: smallest and largest have no tail")


def birch_option(command: Decorated) -> Decorated:
    """`--birch DIR`; the function gets `birch`, a Path or None."""
    return click.option(
        "--birch",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Where birch1.txt (or .txt.gz) and so on are.  [default: data here, or the cache]",
    )(command)


def radio_options(command: Decorated) -> Decorated:
    """`--loss`, `--duplicate`, `--reorder`, `--delay-ms`; the function gets them by these names, for `faults_of`."""
    shares = (
        ("--loss", "Share of the messages between nodes that is lost."),
        ("--duplicate", "Share that comes twice."),
        ("--reorder", "Share that the next one overtakes."),
    )
    command = click.option(
        "--delay-ms", type=float, default=0.0, metavar="MS", help="How long each of them is on its way."
    )(command)
    for name, words in reversed(shares):
        command = click.option(name, type=float, default=0.0, metavar="P", help=words)(command)
    return command


def faults_of(loss: float, duplicate: float, reorder: float, delay_ms: float) -> "Faults":
    """What the radio is to do. Raises UsageError for what cannot be."""
    from dcka.emulation.air import Faults

    return Faults(loss, duplicate, reorder, delay_ms)


def configuration(network: Path | None = None, broker: str | None = None) -> "Config":
    """The validated network file that `--network` and `--broker` speak of.

    Raises UsageError where it is not there or not as it has to be.
    """
    from dcka.config import find_network_file, load

    return load(find_network_file(network)).replaced("network", broker=broker)


def state_of(config: "Config", state: Path | None = None) -> "State":
    """The state folder that `--state` names, or the one beside the network file."""
    from dcka.config import State

    return State.beside(config.file, state)


def _output(ctx: click.Context, parameter: click.Parameter, json_mode: bool) -> Output:
    return ctx.with_resource(Output(json_mode).guarded())
