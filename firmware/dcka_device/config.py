"""node.json: who this node is and where its broker is."""

import sys
from json import load as load_json

from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_device.guard import Guard

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


def with_parts(config: "dict[str, Any]", guard: "Guard | None") -> "Any":
    """What is called in every turn of the loop: the guard, and around it what node.json names in `parts`.

    Each is a module of dcka_device whose `main(config, guard)` gives what takes the guard's place, with its methods
    `parts` and `alive`. So neither the loop nor a node without them has anything of them.
    """
    for name in config.get("parts", ()):
        name = "dcka_device." + name
        __import__(name)
        guard = sys.modules[name].main(config, guard)
    return guard
