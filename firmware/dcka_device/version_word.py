"""What a board says of its versions, retained, each time that it has got ready: loaded for that alone."""

import sys
from json import dumps

import dcka_device
from dcka_core.voice import VERSION
from dcka_device.standing import standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.node import Node
    from dcka_device.link import Link


def tell(link: "Link", node: "Node", folder: str) -> None:
    """Publish it on `version/<i>`."""
    # "…/status/<i>", of the will.
    topic = node.will()[0].split("/")
    topic[2] = "version"
    said = standing(folder.strip("/"))
    said["v"] = 1
    said["node"] = int(topic[3])
    said["firmware"] = VERSION
    link.publish("/".join(topic), dumps(said), True)
    # The heap has no room for code that rests.
    for name in ("version_word", "standing"):
        sys.modules.pop("dcka_device." + name, None)
        if hasattr(dcka_device, name):
            delattr(dcka_device, name)
