"""mosquitto, the broker that most people have: it is not installed with dcka."""

import os
import shutil
from pathlib import Path

from dcka.broker.base import Broker, BrokerError

# Servers are often outside a user's PATH: Debian; its own builds; Homebrew on Arm and Intel; MacPorts.
FOLDERS = (
    "/usr/sbin",
    "/usr/local/sbin",
    "/opt/homebrew/opt/mosquitto/sbin",
    "/usr/local/opt/mosquitto/sbin",
    "/opt/local/sbin",
)


def find_mosquitto() -> Path | None:
    """The mosquitto of the PATH or of the usual folders, or None."""
    found = shutil.which("mosquitto") or shutil.which("mosquitto", path=os.pathsep.join(FOLDERS))
    return None if found is None else Path(found)


class MosquittoBroker(Broker):
    """The system's mosquitto, for a demonstration: loopback, anonymous, nothing kept without a folder."""

    engine = "mosquitto"
    template = "mosquitto.conf"
    ready_text = " running"

    def _program(self) -> Path:
        found = find_mosquitto()
        if found is None:
            raise BrokerError(
                f"mosquitto is neither on the PATH nor in {', '.join(FOLDERS[:2])}: install it"
                " (apt-get install mosquitto, or brew install mosquitto), or use the embedded broker"
            )
        return found

    def _arguments(self, configuration: Path) -> list[str]:
        return ["-c", str(configuration)]

    def _settings(self, folder: Path) -> dict[str, str]:
        return {"store": str(folder), "persistence": "false" if self._folder is None else "true"}
