"""What the verbs of `dcka ha` share: the prefix, and the two ways into the broker."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dcka.cli.options import configuration, state_of
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.config import Config
    from dcka.mqtt import Connection

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def prefix_option(command: Decorated) -> Decorated:
    """`--prefix TEXT`; the function gets `prefix`, a text that topics may begin with."""
    return click.option(
        "--prefix",
        default="homeassistant",
        show_default=True,
        callback=_prefix,
        metavar="TEXT",
        help="Home Assistant's discovery prefix, as its MQTT integration has it.",
    )(command)


def _prefix(ctx: click.Context, parameter: click.Parameter, prefix: str) -> str:
    text = prefix.strip("/")
    if not re.fullmatch(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*", text):
        raise UsageError(f"--prefix {prefix!r}: a topic such as homeassistant is needed, without + and #")
    return text


@contextmanager
def discovery_topics(
    network: Path | None, broker: str | None, state: Path | None, prefix: str
) -> "Iterator[tuple[Config, Connection, Connection]]":
    """(the network, its own topics, Home Assistant's topics) at the network's broker."""
    from dcka.mqtt import Connection
    from dcka.mqtt.address import broker_of

    config = configuration(network)
    url = broker_of(config, state_of(config, state), broker)
    with (
        Connection(url, config.network.name, role="ha") as own,
        Connection(url, config.network.name, role="ha-discovery", prefix=f"{prefix}/") as theirs,
    ):
        yield config, own, theirs
