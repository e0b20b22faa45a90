"""A day of a node that sleeps deeply between clusterings: what it is awake for, and how many days a battery lasts.

Modelled, as all of this package: the counts follow from the pace and from the firmware's own rota and clock, the
charges from `dcka.energy.model`, and how long a run takes a board is assumed.
"""

import math
from dataclasses import dataclass

from dcka.energy.ledger import Ledger
from dcka.energy.model import DAY_MS, ESP32, EnergyError, Model, modelled_charges_mc
from dcka_core.clock import Clock
from dcka_core.rota import AIM_S

_MC_A_MAH = 3600.0
_DAY_S = DAY_MS / 1000
# From starting to connected, a quarter on top as the rota has it, in whole seconds.
_LEAD_S = 2.0
# After the end of a run a node stays for so long (dcka_device/sleeping.py).
_LINGER_S = 2.0
# From being connected to the host's beacon.
_ANSWER_S = 1.0
# Nights after which the guard is looked at: until then the clock has learned how far its oscillator is off.
_NIGHTS = 8
# The worst node of `dcka demo --schedule tree` (docs/energy.md).
_BROADCASTS, _PAYLOAD = 34, 2311


@dataclass(frozen=True)
class Sleeper:
    """`every_s`: between clusterings. `sample_s`: between readings, 0 for none. `run_s`: how long a clustering takes a
    board, of which nothing was measured. `broadcasts`, `payload`: messages of a run that a node sends, and their bytes;
    it hears as many."""

    every_s: float
    sample_s: float = 60.0
    run_s: float = 5.0
    broadcasts: float = _BROADCASTS
    payload: float = _PAYLOAD

    def __post_init__(self) -> None:
        if not (self.every_s >= 10 and self.sample_s >= 0 and self.run_s >= 0):
            raise EnergyError(
                f"a clustering every {self.every_s:g} s that takes {self.run_s:g} s, and a reading every "
                f"{self.sample_s:g} s: no time is negative, and a pace is 10 s at least"
            )


def aim(every_s: float) -> tuple[float, int]:
    """(how early a node wakes for a clustering because of its clock, in s; how often it asks for the time in between),
    by the firmware's own rules, once its clock has learned an oscillator that is wrong by the same each night."""
    clock, at = Clock(0), 1
    clock.hear(at, 0, 0)
    for _ in range(_NIGHTS):
        night = max(1, min(round(every_s), clock.sleep_within(AIM_S * 1000)))
        clock.slept(night * 1000, 0)
        at += night
        clock.hear(at, 0, 0)
    within = clock.sleep_within(AIM_S * 1000)
    asks = math.ceil(every_s / within) - 1
    return clock.guard_ms(round(every_s - asks * within)) / 1000, asks


def day(sleeper: Sleeper, model: Model = ESP32) -> Ledger:
    """The ledger of a day. Raises EnergyError where a day is too short for it (in `modelled_charges_mc`)."""
    runs = _DAY_S / sleeper.every_s
    guard, asks = aim(sleeper.every_s)
    asking_s = asks * _ANSWER_S
    awake_s = guard + _LEAD_S + sleeper.run_s + _LINGER_S - model.association_ms / 1000
    # A reading that is due while the radio is on needs no wake of its own.
    samples = _DAY_S / sleeper.sample_s if sleeper.sample_s else 0.0
    alone = samples * max(0.0, 1 - awake_s / sleeper.every_s)
    return Ledger(
        slots_awake=runs * (awake_s + asking_s),
        slot_ms=1000,
        associations=runs * (1 + asks),
        broadcasts=runs * sleeper.broadcasts,
        deliveries=runs * sleeper.broadcasts,
        payload_sent=runs * sleeper.payload,
        payload_heard=runs * sleeper.payload,
        sampling_wakes=alone,
    )


def modelled_day(sleeper: Sleeper, battery_mah: float, model: Model = ESP32) -> dict[str, object]:
    """`mah_a_day` by cause and in all, and `battery_days`: of a battery with `battery_mah` to give, which loses nothing
    by itself. Raises EnergyError."""
    if not battery_mah > 0:
        raise EnergyError(f"a battery of {battery_mah:g} mAh: it must have some")
    charges = {cause: mc / _MC_A_MAH for cause, mc in modelled_charges_mc(day(sleeper, model), model).items()}
    total = sum(charges.values())
    return {
        "modelled": True,
        "every_s": sleeper.every_s,
        "sample_s": sleeper.sample_s,
        "run_s": sleeper.run_s,
        "guard_s": aim(sleeper.every_s)[0],
        "asks": aim(sleeper.every_s)[1],
        "mah_a_day": total,
        "by_cause": charges,
        "battery_mah": battery_mah,
        "battery_days": battery_mah / total,
    }
