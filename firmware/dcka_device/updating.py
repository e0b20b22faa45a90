"""An update's messages on a board: what the node is, asked of the interpreter; the answer; the restart.

Loaded with an update's first message, and dropped with the intake that keeps it when a run needs the room.
"""

import os
import sys
from binascii import unhexlify
from json import dumps

from dcka_core.actions import PUBLISH, UPDATE
from dcka_core.errors import CoreError, MessageError
from dcka_core.update import NO_VERSIONS, Update, refusal
from dcka_core.voice import VERSION
from dcka_device.standing import standing
from dcka_device.version_files import VersionFiles, is_version, settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Updating:
    """Lives as long as the intake that keeps it. alive: called every now and then in what takes long."""

    def __init__(self, alive: "Callable[[], None]") -> None:
        home = sys.path[0].strip("/") if sys.path else ""
        self._update: Update | None = None
        self._problem = ""
        # Messages of it, for who would sleep: an update that goes on is worth staying awake.
        self.heard = 0
        if not is_version(home):
            self._problem = NO_VERSIONS
            return
        try:
            settings = settings_of(home + "/node.json")
        except CoreError as error:
            self._problem = str(error)
            return
        key = settings.get("update_key")
        self._update = Update(
            VersionFiles(home, alive), lambda: _facts(home, settings), unhexlify(key) if key else b""
        )

    def perform(self, payload: bytes, topic: str) -> "list[Any]":
        """Take a message of type 9; what the shell then does. topic: where the answer goes.

        MessageError for a malformed message.
        """
        start = False
        self.heard += 1
        if self._update is None:
            answer = refusal(payload, self._problem)
        else:
            try:
                answer, start = self._update.take(payload)
            except MessageError:
                raise
            except CoreError as error:
                answer = refusal(payload, str(error))
            except OSError as error:
                answer = refusal(payload, "flash: %s" % error)
        actions: list[Any] = [(PUBLISH, topic, dumps(answer), False)]
        if start:
            # Without an intake: nothing more to take. It comes when the answer has been given to the link.
            actions.append((UPDATE, b"", None))
        return actions


def _facts(home: str, settings: "dict[str, Any]") -> "dict[str, Any]":
    """What a manifest is held against, and the host plans by."""
    facts = standing(home)
    facts["network"] = settings["network"]
    facts["node"] = settings["node"]
    facts["firmware"] = VERSION
    facts["micropython"] = list(sys.implementation.version)[:3]
    facts["mpy"] = getattr(sys.implementation, "_mpy", 0)
    block, blocks, free = os.statvfs(".")[1:4]
    facts["free_kb"] = block * (0 if free > blocks else free) // 1024
    battery = (settings.get("update") or {}).get("battery")
    if battery:
        facts["battery_mv"] = _battery_mv(battery)
        facts["least_mv"] = battery["least_mv"]
    return facts


def _battery_mv(battery: "dict[str, Any]") -> "int | None":
    """The battery's voltage, by a divider of `permille`; None where the chip has no such converter."""
    try:
        from machine import ADC, Pin
    except ImportError:
        return None
    return int(ADC(Pin(battery["pin"])).read_uv() // 1000 * battery["permille"] // 1000)
