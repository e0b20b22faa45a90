"""What a node counts of its own work: the input of the model, and no charge in itself."""

from dataclasses import dataclass, fields

MQTT_BYTES = 4
"""PUBLISH, QoS 0: a fixed header of 2 bytes (3 beyond 127 bytes), 2 bytes for the topic's length (MQTT 3.1.1, section
3.3); rounded up. The topic itself is counted beside it."""
TOPIC_BYTES = 22
"""`dcka/sensors/x/0/12` and its like; `dcka/greenhouse/commit/12` has 25."""
TCP_IP_BYTES = 40
"""IPv4 and TCP headers without options (RFC 791, RFC 9293); the answering ACK has as many."""
MESSAGE_BYTES = MQTT_BYTES + TOPIC_BYTES + TCP_IP_BYTES


@dataclass(frozen=True)
class Ledger:
    """One node's work over some span of time.

    `slots_awake` of `slot_ms` each; `light_sleep_ms`: asleep within a run. `associations`: with the access
    point. `broadcasts`, `deliveries`: messages sent, messages heard. `payload_sent`, `payload_heard`: their bytes
    without any header. `computing_ms`: of the time awake, that in which the processor works. Counts are fractions
    where they are averages.

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
        return self.payload_sent + self.broadcasts * MESSAGE_BYTES + self.deliveries * TCP_IP_BYTES

    @property
    def wire_heard(self) -> float:
        """Bytes heard with MQTT, TCP and IP headers, and an ACK for every message sent."""
        return self.payload_heard + self.deliveries * MESSAGE_BYTES + self.broadcasts * TCP_IP_BYTES
