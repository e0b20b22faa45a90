"""Where the verbs for boards find the network and what was noted of its boards, without insisting on either."""

from pathlib import Path
from typing import TYPE_CHECKING

from dcka.cli.options import configuration

if TYPE_CHECKING:
    from dcka.boards.registry import Registry
    from dcka.config import Config


def config_if_any(network: Path | None) -> "Config | None":
    """The network file that `--network` names, or the one of this folder; None where neither is there.

    Raises UsageError where it is not as it has to be.
    """
    from dcka.config import FILE_NAME

    if network is None and not Path(FILE_NAME).is_file():
        return None
    return configuration(network)


def registry_for(network: Path | None, state: Path | None) -> "Registry | None":
    """The registry of that network, or of the state folder that `--state` names; None for neither."""
    from dcka.boards.registry import Registry
    from dcka.config import State

    config = config_if_any(network)
    if config is None and state is None:
        return None
    return Registry(State.beside(config.file if config else None, state))
