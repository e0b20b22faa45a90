"""What a node counts of its own work: the input of the model, and no charge in itself."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

MQTT_BYTES = 4
"""PUBLISH, QoS 0: a fixed header of 2 bytes, 2 bytes for the topic's length (MQTT 3.1.1, section 3.3). The topic itself
is counted beside it. Where topic and payload have more than 125 bytes the header has 3, which is neglected."""
TOPIC_BYTES = 22
"""Where no topic is known: `dcka/sensors/x/0/12` and its like; `dcka/greenhouse/commit/12` has 25."""
TCP_IP_BYTES = 40
"""IPv4 and TCP headers without options (RFC 791, RFC 9293); the answering ACK has as many."""


def wire_bytes(payload: float, messages: float = 1, topic: float = TOPIC_BYTES) -> float:
    """Bytes of `messages` messages with `payload` bytes in all, with MQTT, TCP and IP headers and a topic of `topic`
    bytes each; without the ACKs that come back."""
    return payload + messages * (MQTT_BYTES + topic + TCP_IP_BYTES)


def topic_bytes(network: str, ids: Iterable[int]) -> int:
    """The longest topic on which these nodes speak to each other, in bytes: a commit's. Sums have up to 5 less."""
    return max(len(f"dcka/{network}/commit/{node}".encode()) for node in ids)


@dataclass(frozen=True)
class Ledger:
    """One node's work over some span of time.

    `slots_awake` of `slot_ms` each; `light_sleep_ms`: asleep within a run. `associations`: with the access
    point. `broadcasts`, `deliveries`: messages sent, messages heard. `payload_sent`, `payload_heard`: their bytes
    without any header. `computing_ms`: of the time awake, that in which the processor works. `topic_bytes`: of a
    message's topic. `sampling_wakes`: out of deep sleep, for a reading, without the radio. Counts are fractions where
    they are averages.

    Raises ValueError for a negative count.
    """

    slots_awake: float = 0
    slot_ms: float = 0.0
    light_sleep_ms: float = 0.0
    associations: float = 0
    broadcasts: float = 0
    deliveries: float = 0
    payload_sent: float = 0
    payload_heard: float = 0
    computing_ms: float = 0.0
    topic_bytes: float = TOPIC_BYTES
    sampling_wakes: float = 0

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not value >= 0:
                raise ValueError(f"ledger: {entry.name} = {value}: a count is 0 or more")

    @property
    def awake_ms(self) -> float:
        return self.slots_awake * self.slot_ms

    @property
    def wire_sent(self) -> float:
        """Bytes sent with MQTT, TCP and IP headers, and an ACK for every message heard."""
        sent = wire_bytes(self.payload_sent, self.broadcasts, self.topic_bytes)
        return sent + self.deliveries * TCP_IP_BYTES

    @property
    def wire_heard(self) -> float:
        """Bytes heard with MQTT, TCP and IP headers, and an ACK for every message sent."""
        heard = wire_bytes(self.payload_heard, self.deliveries, self.topic_bytes)
        return heard + self.broadcasts * TCP_IP_BYTES
