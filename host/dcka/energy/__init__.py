"""What a node's work costs in charge, by a stated model: every figure is modelled, none is measured here.

`ledger`: what a node counts. `model`: currents and charges with their sources, and what they make of a ledger.
`docs/energy.md` is the description for people.
"""

from dcka.energy.ledger import Ledger, topic_bytes, wire_bytes
from dcka.energy.model import (
    BATTERY_MAH,
    DAY_MS,
    ESP32,
    ESP32_DHCP,
    EnergyError,
    Model,
    modelled_charges_mc,
    modelled_mah,
    shortest_sleep_ms,
)

__all__ = [
    "BATTERY_MAH",
    "DAY_MS",
    "ESP32",
    "ESP32_DHCP",
    "EnergyError",
    "Ledger",
    "Model",
    "modelled_charges_mc",
    "modelled_mah",
    "shortest_sleep_ms",
    "topic_bytes",
    "wire_bytes",
]
