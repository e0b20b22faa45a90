"""The parts of the core that a node needs one at a time, and can drop: a small heap has no room for code that rests."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The part's modules; the first is the one that is asked for.
MODULES = {
    "tree": ("tree", "tree_messages"),
    "duty": ("duty", "slots", "tree", "tree_messages"),
    "epochs": ("epochs",),
    "gossip": ("gossip_session", "gossip", "spread"),
    "intake": ("intake",),
    "record": ("record",),
    "starts": ("starts",),
    "points": ("points",),
}


def part(name: str) -> "Any":
    """The module of a part; None for "", which only asks the shell to drop what is loaded."""
    if not name:
        return None
    module = MODULES[name][0]
    return getattr(__import__("dcka_core." + module), module)
