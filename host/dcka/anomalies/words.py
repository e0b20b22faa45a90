"""What is said to people of anomalies: what looking for them reveals, before it does, and what was found."""

from typing import TYPE_CHECKING

from dcka.mqtt.readiness import named

if TYPE_CHECKING:
    from dcka.anomalies.found import Anomalies


def reveals(reveal: int, nodes: int) -> str:
    """What is said before anything is asked for."""
    counts = "how many of its readings are beyond the agreed distance"
    if not reveal:
        return f"each node tells {counts}, and no reading"
    each = "reading" if reveal == 1 else f"{reveal} readings"
    return (
        f"each node tells {counts}, and says the farthest {each} of these: up to {reveal * nodes:,} readings are "
        "revealed to this host, and to all who may read the network's topics event/+"
    )


def text(found: "Anomalies") -> str:
    """A headline, who has how many, and a line for each event."""
    unit = "" if found.scale == "one" else f" in widths of the columns (scale {found.scale})"
    lines = [
        f"run {found.run}: {found.total:,} of {found.readings:,} readings are farther than {found.threshold:.5g}{unit} "
        f"from their centre of run {found.clustering} (quantile {found.quantile:g})"
    ]
    if found.missing:
        lines.append(f"{named(found.missing)} took no part in some or all of it")
    silent = [node for node, count in found.beyond.items() if count is None]
    if silent:
        lines.append(f"{named(silent)} did not tell how many of its readings are beyond")
    having = {node: count for node, count in found.beyond.items() if count}
    if having:
        lines.append("by node: " + ", ".join(f"{node}: {count:,}" for node, count in having.items()))
    for node, events in found.events.items():
        for event in events:
            values = ", ".join(
                f"{name} {value:.5g}" for name, value in zip(found.columns, event["reading"], strict=True)
            )
            where = f"{event['distance']:.5g} from centre {event['centre']}"
            lines.append(f"node {node}, reading {event['index']}: {values}; {where}")
    if found.lost:
        lines.append(f"{found.lost:,} more were said, and were lost on their way")
    return "\n".join(lines)
