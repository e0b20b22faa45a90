"""What a run has cost its nodes: their ledgers as they came (docs/protocol.md, section 7), and the modelled charge."""

from collections.abc import Mapping
from dataclasses import dataclass

from dcka.energy import ESP32, Ledger, Model, modelled_mah, topic_bytes
from dcka.mqtt.statuses import PayloadError, whole, wholes
from dcka.runs.outcome import Json, Outcome

PLACES = (
    "slots_awake",
    "associations",
    "broadcasts",
    "payload_sent",
    "deliveries",
    "payload_heard",
    "computing_ms",
)
"""What the numbers of a ledger on the wire count, in their order; newer nodes may have more behind them."""

BOARDS = (" esp32",)
"""How the `runtime` of a board ends."""


@dataclass(frozen=True)
class NodeLedger:
    """What a node counted in a run: since it took the run's rows, or since its last boot, `boot`, if that was later.

    `counts`: by PLACES. `awake_ms`: from when it entered the run to its end, what it slept taken off. `asleep_ms`:
    that, None in a run without slots. `ledger`: the same for the model. `mah`: the modelled charge of that time, on an
    ESP32.
    """

    boot: int
    counts: Mapping[str, int]
    awake_ms: int
    ledger: Ledger
    mah: float
    asleep_ms: int | None = None

    @property
    def awake_share(self) -> float:
        """Of the run's time; 1 where it can't sleep."""
        whole_ms = self.awake_ms + (self.asleep_ms or 0)
        return self.awake_ms / whole_ms if whole_ms else 1.0

    def record(self) -> Json:
        """For `--json`."""
        return {
            "boot": self.boot,
            **self.counts,
            "awake_ms": self.awake_ms,
            "wire_sent": self.ledger.wire_sent,
            "wire_heard": self.ledger.wire_heard,
            "modelled_mah": self.mah,
            **(
                {}
                if self.asleep_ms is None
                else {"asleep_ms": self.asleep_ms, "awake_share": self.awake_share}
            ),
        }


def require_ledger(record: Json) -> None:
    """Raises PayloadError where a result has a ledger that is none; nodes of older versions have none."""
    if "ledger" in record:
        if len(wholes(record, "ledger")) < len(PLACES):
            raise PayloadError(f"ledger has less than {len(PLACES)} numbers")
        whole(record, "boot")
    whole(record, "asleep_ms", 0)


def ledgers(outcome: Outcome, model: Model = ESP32) -> dict[int, NodeLedger]:
    """By id, of the nodes whose results have one; an older version's have none, nor has one that was rebuilt."""
    topic = topic_bytes(outcome.network, outcome.members)
    return {
        node: node_ledger(result, topic, model)
        for node, result in sorted(outcome.results.items())
        if "ledger" in result
    }


def worst_node(found: Mapping[int, NodeLedger]) -> int | None:
    """The node with the largest modelled charge, the lowest id of equals; None where there is none."""
    return min(found, key=lambda node: (-found[node].mah, node), default=None)


def from_boards(outcome: Outcome) -> bool:
    """Whether all nodes that gave a result are boards, by the runtime in their status."""
    runtimes = [str(outcome.statuses.get(node, {}).get("runtime", "")) for node in outcome.results]
    return bool(runtimes) and all(runtime.endswith(BOARDS) for runtime in runtimes)


def node_ledger(result: Json, topic: int, model: Model = ESP32) -> NodeLedger:
    """What a result says that its node has spent, and the modelled charge. `topic`: bytes of its longest topic."""
    counts = dict(zip(PLACES, result["ledger"], strict=False))
    asleep_ms = result.get("asleep_ms")
    up_ms = max(0, result["ms"] - (asleep_ms or 0))
    # Awake, and not associating: that has its own charge.
    awake_ms = max(0.0, up_ms - counts["associations"] * model.association_ms)
    slots = max(1, counts["slots_awake"])
    ledger = Ledger(
        slots_awake=slots,
        slot_ms=awake_ms / slots,
        light_sleep_ms=asleep_ms or 0,
        associations=counts["associations"],
        broadcasts=counts["broadcasts"],
        deliveries=counts["deliveries"],
        payload_sent=counts["payload_sent"],
        payload_heard=counts["payload_heard"],
        computing_ms=min(counts["computing_ms"], awake_ms),
        topic_bytes=topic,
    )
    span_ms = awake_ms + ledger.light_sleep_ms + counts["associations"] * model.association_ms
    return NodeLedger(result["boot"], counts, up_ms, ledger, modelled_mah(ledger, model, span_ms), asleep_ms)
