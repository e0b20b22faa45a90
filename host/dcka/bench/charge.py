"""What a run costs the node that it costs most, by the model of `dcka.energy`: modelled, not measured."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dcka.bench.traffic import Traffic
from dcka.energy import ESP32, Ledger, modelled_mah, shortest_sleep_ms
from dcka.schedule.cost import MESSAGE_MS, POINT_NS, sleeping

SLOT_MS = 1000.0
"""As `dcka schedule` has it where nothing else is said."""


def worst_node_mah(
    traffic: Traffic, work: NDArray[np.bool_], repeats: float, distances: Sequence[int]
) -> float:
    """The largest charge of any node, in mAh, from its first association to the end of the run.

    `work` (S, N): who has something to send or hear in which slot; the S slots come `repeats` times. A node sleeps
    through stretches that are long enough to pay for associating again. `distances`: by node, how many distances it
    computes in one dimension (readings × clusters × dimensions × outer steps).
    """
    return max(
        _mah(traffic.ledger(index), work[:, index].tolist(), repeats, distances[index])
        for index in range(work.shape[1])
    )


def _mah(messages: Ledger, work: Sequence[bool], repeats: float, distances: int) -> float:
    asleep, naps = sleeping(work, SLOT_MS, shortest_sleep_ms(ESP32))
    awake_ms = repeats * (len(work) - sum(asleep)) * SLOT_MS
    light_ms = repeats * (sum(asleep) * SLOT_MS - naps * ESP32.association_ms)
    associations = 1 + repeats * naps
    busy_ms = distances * POINT_NS * 1e-6 + (messages.broadcasts + messages.deliveries) * MESSAGE_MS
    ledger = Ledger(
        slots_awake=awake_ms / SLOT_MS,
        slot_ms=SLOT_MS,
        light_sleep_ms=light_ms,
        associations=associations,
        broadcasts=messages.broadcasts,
        deliveries=messages.deliveries,
        payload_sent=messages.payload_sent,
        payload_heard=messages.payload_heard,
        computing_ms=min(busy_ms, awake_ms),
    )
    span_ms = awake_ms + light_ms + associations * ESP32.association_ms
    return modelled_mah(ledger, ESP32, span_ms)
