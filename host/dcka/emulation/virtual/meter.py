"""What a node has spent: facts that are counted, and the charge that the model of docs/energy.md makes of them."""

from dataclasses import dataclass

from dcka.energy import ESP32, Ledger, Model, modelled_mah

# docs/energy.md: assumed, no board has been timed.
COMPUTING_NS = 120  # a reading, centre and dimension
MESSAGE_MS = 5.0  # a message, sent or heard


@dataclass
class Meter:
    """`radio_ms`: awake and associated. `bare_ms`: awake without the radio, the processor at work. `off_ms`: without
    power. `wakes`, `joins`: from deep sleep, and with the radio. All of true time.
    """

    topic_bytes: float
    radio_ms: float = 0.0
    bare_ms: float = 0.0
    off_ms: float = 0.0
    computing_ms: float = 0.0
    associations: int = 0
    wakes: int = 0
    sent: int = 0
    sent_bytes: int = 0
    heard: int = 0
    heard_bytes: int = 0

    def send(self, size: int) -> None:
        self.sent += 1
        self.sent_bytes += size
        self.computing_ms += MESSAGE_MS

    def hear(self, size: int) -> None:
        self.heard += 1
        self.heard_bytes += size
        self.computing_ms += MESSAGE_MS

    def compute(self, readings: int, centres: int, dimensions: int) -> None:
        """A pass of the kernel."""
        self.computing_ms += readings * centres * dimensions * COMPUTING_NS / 1e6

    def ledger(self) -> Ledger:
        """For the model."""
        awake_ms = self.radio_ms + self.bare_ms
        return Ledger(
            slots_awake=1,
            slot_ms=awake_ms,
            associations=self.associations,
            broadcasts=self.sent,
            deliveries=self.heard,
            payload_sent=self.sent_bytes,
            payload_heard=self.heard_bytes,
            computing_ms=min(self.computing_ms + self.bare_ms, awake_ms),
            topic_bytes=self.topic_bytes,
        )

    def mah(self, span_s: float, model: Model = ESP32) -> float:
        """The modelled charge over `span_s` of true time, in mAh; without power nothing is spent."""
        return modelled_mah(self.ledger(), model, span_s * 1000 - self.off_ms)
