"""What is announced to Home Assistant: one retained message a node, which makes it a device with its entities.

Pure. The form is that of discovery by device (Home Assistant 2024.11 and later): `<prefix>/device/<object id>/config`,
with the entities under `components`. An empty message there removes the device.

Ids are made of the node's id, which is on the board, and the network's name. A network's name may hold digits and `_`
itself, so the id comes first: `dcka_3_attic` can only be read one way.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dcka import __version__
from dcka.energy import BATTERY_MAH, topic_bytes
from dcka.homeassistant import templates

PREFIX = "homeassistant"
STATES = ("ready", "running", "done", "asleep", "offline")
_ORIGIN = "dcka"

Json = dict[str, Any]


def object_id(network: str, node: int) -> str:
    """The device's, in the topic, and the beginning of every unique id. Stable as long as node and network are."""
    return f"{_ORIGIN}_{node}_{network}"


def origin_of(payload: Mapping[str, Any]) -> str | None:
    """The network whose node a discovery message is about, where it is one of ours; else None."""
    origin = payload.get("origin")
    device = payload.get("device")
    if not isinstance(origin, Mapping) or origin.get("name") != _ORIGIN or not isinstance(device, Mapping):
        return None
    identifiers = device.get("identifiers")
    if not isinstance(identifiers, list) or len(identifiers) != 1 or not isinstance(identifiers[0], str):
        return None
    start, node, *network = identifiers[0].split("_", 2)
    return network[0] if start == _ORIGIN and node.isdecimal() and network else None


def discovery(
    network: str,
    node: int,
    members: Iterable[int],
    status: Mapping[str, Any] | None = None,
    unit: str = "",
    capacity_mah: float = BATTERY_MAH,
) -> Json:
    """The message that makes `node` a device, one of `members`.

    status: the node's last, where it has said one: its firmware and runtime are told, and whether it measures its
    battery and its radio. unit: of the distances, where it is known. capacity_mah: of the battery whose days are
    modelled.
    """
    known = status or {}
    base = f"dcka/{network}"
    name = object_id(network, node)
    device: Json = {
        "identifiers": [name],
        "name": f"{network} node {node}",
        "manufacturer": "dcka",
        "model": str(known.get("runtime") or "node"),
    }
    if known.get("firmware"):
        device["sw_version"] = str(known["firmware"])
    battery = templates.battery_days(topic_bytes(network, members), capacity_mah)
    entities = _entities(known, unit) | {"battery_days": _battery(network, node, battery, capacity_mah)}
    components = {key: {"unique_id": f"{name}_{key}", **entity} for key, entity in entities.items()}
    return {
        "device": device,
        "origin": {"name": _ORIGIN, "sw_version": __version__},
        "state_topic": f"{base}/status/{node}",
        "availability": [{"topic": f"{base}/status/{node}", "value_template": templates.ONLINE}],
        "qos": 0,
        "components": components,
    }


def _battery(network: str, node: int, template: str, capacity_mah: float) -> Json:
    """Out of the last result, which is not retained: unknown after a restart of Home Assistant, until the next run."""
    return _sensor(
        f"Battery, modelled for {capacity_mah:g} mAh",
        template,
        state_topic=f"dcka/{network}/result/{node}",
        device_class="duration",
        unit_of_measurement="d",
        icon="mdi:battery-clock",
    )


def _entities(status: Mapping[str, Any], unit: str) -> dict[str, Json]:
    """By key, those that are read from the retained status, and so are there after a restart."""
    distance = _sensor("Distance to its centre", templates.DISTANCE, icon="mdi:map-marker-distance")
    distance |= {"state_class": "measurement"} | ({"unit_of_measurement": unit} if unit else {})
    found = {
        "cluster": _sensor("Cluster", templates.CLUSTER, icon="mdi:chart-scatter-plot"),
        "distance": distance,
        "state": _sensor("State", templates.STATE, device_class="enum", options=list(STATES)),
        "problem": {
            "platform": "binary_sensor",
            "name": "Problem",
            "device_class": "problem",
            "value_template": templates.PROBLEM,
            "entity_category": "diagnostic",
        },
        "free": _diagnostic("Free memory", templates.HEAP_FREE, "data_size", "B"),
        "dropped": _diagnostic("Messages dropped", templates.DROPPED),
        "boot": _diagnostic("Starts", templates.BOOT),
        "run": _diagnostic("Run", templates.RUN),
    }
    if "battery" in status:
        found["battery"] = _diagnostic("Battery", templates.BATTERY, "battery", "%")
    if "rssi" in status:
        found["rssi"] = _diagnostic("Signal", templates.RSSI, "signal_strength", "dBm")
    return found


def _sensor(name: str, template: str, **more: Any) -> Json:
    return {"platform": "sensor", "name": name, "value_template": template, **more}


def _diagnostic(name: str, template: str, device_class: str | None = None, unit: str | None = None) -> Json:
    more = {"device_class": device_class, "unit_of_measurement": unit}
    kept = {key: value for key, value in more.items() if value is not None}
    return _sensor(name, template, entity_category="diagnostic", **kept)
