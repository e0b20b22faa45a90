"""What the verbs of a broker with locks have in common."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dcka.cli.options import configuration

if TYPE_CHECKING:
    from dcka.broker.folder import BrokerFolder, Doors
    from dcka.config import Config

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def folder_option(command: Decorated) -> Decorated:
    """`--folder DIR`; the function gets `folder`, a Path or None."""
    return click.option(
        "--folder",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="The broker's folder.  [default: broker beside the network file]",
    )(command)


def locked(network: Path | None, folder: Path | None) -> "tuple[Config, BrokerFolder, Doors]":
    """The network, the folder of its broker, and what that says. Raises UsageError where one is not there."""
    from dcka.broker.folder import BrokerFolder, require_doors

    config = configuration(network)
    place = BrokerFolder.beside(config.file, folder)
    return config, place, require_doors(place)


def reloaded_words(reloaded: bool) -> str:
    """What a person has to do so that the broker knows."""
    if reloaded:
        return "the broker has read it; nobody else was cut off"
    return (
        "no broker runs out of this folder here: it counts from the next dcka broker up (or, where it is another"
        " computer's, when it has the files and reads them again)"
    )
