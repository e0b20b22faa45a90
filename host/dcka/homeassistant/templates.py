"""Jinja templates with which Home Assistant reads a node's status and result (docs/protocol.md, section 7).

Home Assistant has no code of ours: whatever is to be seen there has to follow from one message. So the model of
`dcka.energy`, which is linear in a ledger, is written out as numbers here, and a test renders it beside the model.
"""

from dcka.energy import BATTERY_MAH, DAY_MS, ESP32, Ledger, Model, modelled_charges_mc

ONLINE = "{{ 'offline' if value_json.state == 'offline' else 'online' }}"
"""A node that sleeps on purpose is there; one that is gone has left its will."""

STATE = "{{ value_json.state }}"
PROBLEM = "{{ 'ON' if value_json.problem is defined and value_json.problem else 'OFF' }}"
CLUSTER = "{{ value_json.latest[0] if value_json.latest is defined else None }}"
DISTANCE = "{{ value_json.latest[1] if value_json.latest is defined else None }}"
BATTERY = "{{ value_json.battery if value_json.battery is defined else None }}"
RSSI = "{{ value_json.rssi if value_json.rssi is defined else None }}"
HEAP_FREE = "{{ value_json.free if value_json.free is defined else None }}"
DROPPED = "{{ value_json.dropped.values() | sum if value_json.dropped is defined else None }}"
BOOT = "{{ value_json.boot }}"
RUN = "{{ value_json.run }}"
SSD = "{{ value_json.ssd }}"

# Places in a ledger (docs/protocol.md, section 7).
_ASSOCIATIONS, _BROADCASTS, _BYTES, _HEARD, _HEARD_BYTES, _COMPUTING = range(1, 7)


def battery_days(topic: float, capacity_mah: float = BATTERY_MAH, model: Model = ESP32) -> str:
    """How many days a battery would last if the node went on as in the run whose result this is: modelled.

    As `dcka.runs.ledgers` has it: awake is what was neither slept nor spent in associating, and computing is a part
    of it. topic: bytes of a message's topic. The template renders to a number with one digit, and to None where there
    is nothing to reckon with.
    """

    def charge(**counts: float) -> float:
        """mC of one more of something, less what nothing costs."""
        ledger = Ledger(**{"topic_bytes": topic, **counts})
        return sum(modelled_charges_mc(ledger, model, _LONG_MS).values()) - nothing

    nothing = sum(modelled_charges_mc(Ledger(), model, _LONG_MS).values())
    deep = (
        model.deep_sleep_ma / 1000
    )  # mC a ms: in `charge` awake time displaces deep sleep, in a run there is none
    prices = {
        _BROADCASTS: charge(broadcasts=1),
        _BYTES: charge(payload_sent=1),
        _HEARD: charge(deliveries=1),
        _HEARD_BYTES: charge(payload_heard=1),
    }
    associating_ms = model.association_ms
    association = charge(associations=1) + deep * associating_ms
    awake = charge(slots_awake=1, slot_ms=1.0) + deep
    asleep = charge(light_sleep_ms=1.0) + deep
    computing = charge(slots_awake=1, slot_ms=1.0, computing_ms=1.0) + deep - awake
    linear = " + ".join(f"l[{place}] * {price:.9g}" for place, price in prices.items())
    # mC over ms are A; times 1000 mA; mA times 24 mAh a day.
    return (
        "{% set l = value_json.ledger | default([0, 0, 0, 0, 0, 0, 0]) %}"
        "{% set rest = value_json.asleep_ms | default(0) %}"
        f"{{% set awake = [value_json.ms - rest - l[{_ASSOCIATIONS}] * {associating_ms:.9g}, 0] | max %}}"
        f"{{% set span = awake + rest + l[{_ASSOCIATIONS}] * {associating_ms:.9g} %}}"
        f"{{% set mc = awake * {awake:.9g} + rest * {asleep:.9g} + l[{_ASSOCIATIONS}] * {association:.9g}"
        f" + [l[{_COMPUTING}], awake] | min * {computing:.9g} + {linear} %}}"
        f"{{{{ ({capacity_mah:.9g} * 3600 / (mc / span * {DAY_MS})) | round(1) if span and mc else None }}}}"
    )


_LONG_MS = 1e9
