"""Which version a node shall have, and whether it may: from what it says of itself."""

from collections.abc import Mapping
from typing import Any

from dcka.boards.images import MINIMUM
from dcka.boards.installed import MARCHES
from dcka.boards.versions import MPY, air_version
from dcka.broker.own_address import is_loopback
from dcka.config import Config
from dcka.errors import DckaError
from dcka.updates.manifests import Signed, signed

_BOARDS = ("xtensa", "xtensawin", "rv32imc")
_MOST_COUNTER = 1 << 30  # small integers of 32 bits; a million updates a day would take three years


class NotForThis(DckaError):
    """The node can't have the version, or shall not by itself."""


def planned(
    config: Config,
    key: bytes,
    node: int,
    facts: Mapping[str, Any],
    *,
    source: bool = False,
    again: bool = False,
    rollback: bool = False,
) -> Signed | None:
    """The version for a node with these `facts`; None where it runs it. `again`: also one that it went back from.

    Raises NotForThis, UsageError where no broker is named that the node could reach, and BuildError.
    """
    mpy, counter = facts.get("mpy"), facts.get("counter")
    micropython = facts.get("micropython")
    if type(mpy) is not int or type(counter) is not int or not isinstance(micropython, list):
        raise NotForThis("its answer does not say which MicroPython it has")
    if tuple(micropython) < MINIMUM:
        raise NotForThis(
            f"it has MicroPython {'.'.join(map(str, micropython))}: flash a newer one over the cable"
        )
    if not source and (mpy & 0xFF, mpy >> 8 & 3) != MPY:
        raise NotForThis(
            f"its MicroPython loads .mpy files of version {mpy & 0xFF}.{mpy >> 8 & 3}, and not {MPY[0]}.{MPY[1]}"
        )
    if not 0 <= counter < _MOST_COUNTER:
        raise NotForThis(f"it says that it has seen the counter {counter}")
    broker = config.network.broker
    if MARCHES.get(mpy >> 10 & 0xF) in _BOARDS and broker is not None and is_loopback(broker.host):
        raise NotForThis(
            f"{broker} is this computer's own loopback, which a board cannot reach: name the broker's address for "
            f"the boards in network.toml, or with --broker"
        )
    air = air_version(config, node, mpy, source)
    if facts.get("version") == air.version:
        return None
    back = facts.get("rolled_back")
    if isinstance(back, Mapping) and back.get("version") == air.version and not again:
        raise NotForThis(
            f"it went back from this version: {back.get('reason', '')}; to try it once more, say --again"
        )
    return signed(air, config.network.name, node, counter + 1, key, rollback)
