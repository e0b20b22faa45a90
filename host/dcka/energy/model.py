"""The model: currents, charges, airtime, and what a ledger comes to with them. docs/energy.md explains it.

Where a source gives a range, the upper end is taken: the model is to say too much rather than too little.
"""

from dataclasses import dataclass, replace

from dcka.energy.ledger import Ledger
from dcka.errors import UsageError

DAY_MS = 86_400_000
BATTERY_MAH = 2600.0
"""A lithium cell of the size 18650; what a battery's days are reckoned with."""
_MC_A_MAH = 3600.0
"""1 mAh = 3.6 C."""


class EnergyError(UsageError):
    """A ledger that does not fit into its span of time."""


@dataclass(frozen=True)
class Model:
    """Currents in mA, charges in mC, times in ms. The defaults are those of an ESP32 with a static address.

    Espressif, "ESP32 Series Datasheet", tables of RF power consumption and of power modes: `transmit_ma`
    (180–240), `receive_ma` (95–100), `computing_ma` (the processor alone, 20–68), `light_sleep_ma`,
    `deep_sleep_ma` (10 µA). `associated_ma`: held on average by a node that is associated and waits in modem
    sleep. `association_ms`, `association_mc`: waking and associating once, static address (glenn20,
    "upy-esp32-experiments", ESPNowvsWifiEnergyUsage: 734 ms, 100.2 mC; by DHCP 1,626 ms, 204.3 mC).
    `bits_a_ms`: 802.11b's slowest rate, 1 Mbit/s. `frame_ms`: a frame's preamble, gap and acknowledgement there.
    `frame_bytes`: its MAC and LLC headers. `sampling_ms`: of the processor, for a wake that takes a reading: to start
    MicroPython, load what samples, read, and sleep again. It is assumed: no board was timed.
    """

    transmit_ma: float = 240.0
    receive_ma: float = 100.0
    computing_ma: float = 68.0
    associated_ma: float = 30.0
    light_sleep_ma: float = 0.8
    deep_sleep_ma: float = 0.010
    association_ms: float = 730.0
    association_mc: float = 100.0
    bits_a_ms: float = 1000.0
    frame_ms: float = 0.5
    frame_bytes: int = 36
    sampling_ms: float = 500.0


ESP32 = Model()
ESP32_DHCP = replace(ESP32, association_ms=1600.0, association_mc=204.0)


def modelled_mah(ledger: Ledger, model: Model = ESP32, span_ms: float = DAY_MS) -> float:
    """The modelled charge in mAh of `ledger` over `span_ms`, a day by default; what is not accounted for in the
    ledger is spent in deep sleep.

    Raises EnergyError where the ledger takes longer than the span.
    """
    return sum(modelled_charges_mc(ledger, model, span_ms).values()) / _MC_A_MAH


def modelled_charges_mc(ledger: Ledger, model: Model = ESP32, span_ms: float = DAY_MS) -> dict[str, float]:
    """The same in mC by cause: awake, transmitting, receiving, computing, associating, sampling, light_sleep and
    deep_sleep.

    Awake time costs the associated current; transmitting, receiving and computing cost what they take beyond it.
    Raises EnergyError where the ledger takes longer than the span.
    """
    associating_ms = ledger.associations * model.association_ms
    sampling_ms = ledger.sampling_wakes * model.sampling_ms
    rest_ms = span_ms - ledger.awake_ms - ledger.light_sleep_ms - associating_ms - sampling_ms
    if rest_ms < -1e-6 * span_ms:
        raise EnergyError(
            f"the ledger takes {(span_ms - rest_ms) / 1000:,.0f} s and its span has {span_ms / 1000:,.0f} s; "
            f"take fewer runs a day, fewer steps or shorter slots"
        )
    sent_ms = _air_ms(ledger.wire_sent, ledger.broadcasts + ledger.deliveries, model)
    heard_ms = _air_ms(ledger.wire_heard, ledger.broadcasts + ledger.deliveries, model)
    charges_ma_ms = {
        "awake": model.associated_ma * ledger.awake_ms,
        "transmitting": (model.transmit_ma - model.associated_ma) * sent_ms,
        "receiving": (model.receive_ma - model.associated_ma) * heard_ms,
        "computing": (model.computing_ma - model.associated_ma) * ledger.computing_ms,
        "sampling": model.computing_ma * sampling_ms,
        "light_sleep": model.light_sleep_ma * ledger.light_sleep_ms,
        "deep_sleep": model.deep_sleep_ma * max(0.0, rest_ms),
    }
    charges = {cause: charge / 1000 for cause, charge in charges_ma_ms.items()}
    return charges | {"associating": model.association_mc * ledger.associations}


def shortest_sleep_ms(model: Model = ESP32) -> float:
    """The stretch from which on sleeping and associating again costs less than staying associated, in ms.

    With an association of time a and charge q, staying costs I·t and sleeping S·(t − a) + q, so t = (q − S·a) /
    (I − S); never less than a itself.
    """
    spared_ma = model.associated_ma - model.light_sleep_ma
    even_ms = (model.association_mc * 1000 - model.light_sleep_ma * model.association_ms) / spared_ma
    return max(even_ms, model.association_ms)


def _air_ms(wire_bytes: float, frames: float, model: Model) -> float:
    """Time on the air of `frames` frames that carry `wire_bytes` in all: a message or its TCP ACK is a frame."""
    return (wire_bytes + frames * model.frame_bytes) * 8 / model.bits_a_ms + frames * model.frame_ms
