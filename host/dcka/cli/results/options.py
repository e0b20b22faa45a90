"""What the verbs of `dcka results` have in common: which history, which runs."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.options import Decorated
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.history import History, StoredRun

KINDS = ("tree", "gossip", "survey", "seeding", "score", "tail")
STATES = ("running", "finished", "partial", "failed", "unknown")


def network_name_option(command: Decorated) -> Decorated:
    """`--network-name NAME`; the function gets `network`, a text or None."""
    return click.option(
        "--network-name", "network", metavar="NAME", help="Runs of this network alone.  [default: of all]"
    )(command)


def filters(command: Decorated) -> Decorated:
    """`--network-name`, `--kind`, `--state`, `--since`, `--limit`; the function gets `wanted`'s arguments by name."""
    options: list[Callable[[Decorated], Decorated]] = [
        network_name_option,
        click.option(
            "--kind", "kinds", multiple=True, type=click.Choice(KINDS),
            help="Of these kinds; may be repeated.  [default: tree and gossip]",
        ),
        click.option("--all", "every", is_flag=True, help="Surveys, seedings and scores too."),
        click.option("--state", type=click.Choice(STATES), help="That ended so."),
        click.option("--since", metavar="WHEN", help="Begun since 2026-11-30, or in the last 7d, 12h or 30m."),
        click.option(
            "--limit", type=click.IntRange(min=0), default=50, show_default=True, metavar="N",
            help="The newest so many; 0 = all.",
        ),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def wanted(
    history: "History",
    network: str | None,
    kinds: tuple[str, ...],
    every: bool,
    state: str | None,
    since: str | None,
    limit: int,
) -> "list[StoredRun]":
    """The runs that the filters let through, the newest first."""
    return history.runs(**_filters(network, kinds, every, state, since, limit))


def wanted_summaries(history: "History", **given: Any) -> list[dict[str, Any]]:
    """Of the same runs what a list says of them, for `--json`: in a third of the time."""
    return history.summaries(**_filters(**given))


def _filters(
    network: str | None, kinds: tuple[str, ...], every: bool, state: str | None, since: str | None, limit: int
) -> dict[str, Any]:
    """As `History.runs` takes them. Raises UsageError."""
    if every and kinds:
        raise UsageError("--all and --kind: give one of both")
    return {
        "network": network,
        "limit": limit or None,
        "kinds": () if every else kinds or ("tree", "gossip"),
        "state": state,
        "since": None if since is None else moment(since),
    }


def moment(text: str) -> float:
    """Seconds since 1970 of a date, a time, or so long ago. Raises UsageError."""
    units = {"d": "days", "h": "hours", "m": "minutes"}
    if text[-1:] in units and text[:-1].isascii() and text[:-1].isdigit() and len(text) < 8:
        return (datetime.now(UTC) - timedelta(**{units[text[-1]]: int(text[:-1])})).timestamp()
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is no time: give a date, such as 2026-11-30, or 7d, 12h, 30m") from None


def run_of(history: "History", ref: str, network: str | None = None) -> "StoredRun":
    """The run that a person means: of the network whose file is here, if it has one. Raises NoSuchRun."""
    from dcka.history import NoSuchRun

    if network is None and "/" not in ref:
        here = _network_here()
        if here is not None:
            try:
                return history.run(ref, here)
            except NoSuchRun:
                pass
    return history.run(ref, network)


def _network_here() -> str | None:
    from dcka.config import find_network_file, load

    try:
        file = find_network_file(None)
        return None if file is None else load(file).network.name
    except UsageError:
        return None  # what is wrong with it is of no matter here


def clipped(text: Any, longest: int = 60) -> str:
    """Foreign text for a terminal."""
    from dcka.monitor.events import clean

    return clean(text, longest)
