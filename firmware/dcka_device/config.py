"""node.json: who this node is and where its broker is."""

from json import load as load_json

from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CONFIG_FILE = "node.json"


def read(folder: str = "") -> "dict[str, Any]":
    """The configuration in `folder`, with what may be left out filled in.

    CoreError names the key, OSError a missing file.
    """
    path = folder + "/" + _CONFIG_FILE if folder else _CONFIG_FILE
    with open(path) as file:
        try:
            config: dict[str, Any] = load_json(file)
        except ValueError:
            raise CoreError("%s is no JSON" % path)
    for key, kind in (("network", str), ("node", int), ("broker", dict)):
        if not isinstance(config.get(key), kind):
            raise CoreError("%s is %r in %s" % (key, config.get(key), path))
    if not config["broker"].get("host"):
        raise CoreError("broker.host is missing in %s" % path)
    config["broker"].setdefault("port", 1883)
    if folder and config["broker"].get("ca"):
        config["broker"]["ca"] = folder + "/" + config["broker"]["ca"]
    # Larger messages are dropped by the client and counted; the host asks for this number before it starts a run.
    config.setdefault("max_message", 1024)
    # Seconds: a node that froze is told offline after one and a half of it.
    config.setdefault("keepalive", 10)
    return config
