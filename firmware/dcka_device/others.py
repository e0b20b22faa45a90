"""A broker of several addresses: who loses one goes on to the next. Loaded only where node.json names `others`."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def go_on(broker: "dict[str, Any]", heard: bool) -> None:
    """The next address has its turn, and the present one is the last now.

    What was looked up for an address stays with it, for a look-up blocks; but not where it was not `heard` of.
    """
    others = broker["others"]
    others.append((broker["host"], broker["port"], broker.get("found") if heard else None))
    place = others.pop(0)
    broker["host"] = place[0]
    broker["port"] = place[1]
    broker["found"] = place[2] if len(place) > 2 else None
