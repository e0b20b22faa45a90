"""Which boards a verb is about, and where it finds the network and what was noted of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dcka.cli.options import configuration
from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.boards.ports import PortInfo
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


def build_names(network: Path | None) -> "Mapping[str, Mapping[str, str]]":
    """What the build of this dcka's firmware shortened, with the parts that the network's nodes have."""
    from dcka.emulation.prepared import prepared_once
    from dcka.firmware_files import board_files
    from dcka.sensing.settings import sensor_parts

    config = config_if_any(network)
    return prepared_once(board_files(parts=sensor_parts(config.sensors) if config else ())).names


def boards_among(chosen: "Sequence[PortInfo]", all_: bool, output: Output) -> "list[PortInfo]":
    """With --all, only ports that a board may be behind: nothing is written to a printer. Raises PortMissing."""
    from dcka.boards.errors import PortMissing
    from dcka.boards.usb import is_board

    boards = [port for port in chosen if not all_ or is_board(port)]
    for port in chosen:
        if port not in boards:
            output.say(
                f"not opened: {port}: no ESP32 board has this USB chip; if one is there: --port {port.path}"
            )
    if not boards:
        raise PortMissing("no port has an ESP32 board behind it: dcka board doctor says what to try")
    return boards


def registry_for(network: Path | None, state: Path | None) -> "Registry | None":
    """The registry of that network, or of the state folder that `--state` names; None for neither."""
    from dcka.boards.registry import Registry
    from dcka.config import State

    config = config_if_any(network)
    if config is None and state is None:
        return None
    return Registry(State.beside(config.file if config else None, state))
