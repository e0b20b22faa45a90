"""Messages counted, node by node: what was sent, who heard it, how many bytes."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dcka.energy import Ledger

Counts = NDArray[np.int64]


class Traffic:
    """The messages among nodes 0 … N − 1 (positions in `ids`), and those of the host to them.

    `sent`, `heard`, `bytes_sent`, `bytes_heard`: (N,). A broadcast is counted once where it is sent, and once at each
    node that hears it. `host_sent`, `host_bytes`: what the host sends; it has no battery. `asked`: SUBSCRIBE packets
    of each node, answered by the broker.
    """

    def __init__(self, ids: Sequence[int]) -> None:
        self.place = {node: index for index, node in enumerate(ids)}
        self.sent, self.heard, self.bytes_sent, self.bytes_heard, self.asked = np.zeros(
            (5, len(ids)), dtype=np.int64
        )
        self.host_sent = self.host_bytes = 0

    def message(self, sender: int | None, size: int, hearers: Iterable[int]) -> None:
        """A message of `size` bytes from the node of id `sender`, or None for the host, that `hearers` got."""
        if sender is None:
            self.host_sent += 1
            self.host_bytes += size
        else:
            self.sent[self.place[sender]] += 1
            self.bytes_sent[self.place[sender]] += size
        for hearer in hearers:
            self.heard[self.place[hearer]] += 1
            self.bytes_heard[self.place[hearer]] += size

    def slots(self, sizes: Counts, hears: NDArray[np.bool_]) -> None:
        """Slots in which the same nodes hear each other: `sizes` (S, N), 0 where a node is silent; `hears` (N, N),
        True at [i, h] where i hears h."""
        counts, totals = (sizes > 0).sum(axis=0), sizes.sum(axis=0)
        self.sent += counts
        self.bytes_sent += totals
        self.heard += hears @ counts
        self.bytes_heard += hears @ totals

    def add(self, other: "Traffic") -> None:
        """Add what `other`, of the same nodes, has counted."""
        for name in ("sent", "heard", "bytes_sent", "bytes_heard", "asked"):
            getattr(self, name)[:] += getattr(other, name)
        self.host_sent += other.host_sent
        self.host_bytes += other.host_bytes

    @property
    def broadcasts(self) -> int:
        return int(self.sent.sum()) + self.host_sent

    @property
    def deliveries(self) -> int:
        return int(self.heard.sum())

    @property
    def payload_bytes(self) -> int:
        """Of every broadcast once, however many hear it."""
        return int(self.bytes_sent.sum()) + self.host_bytes

    @property
    def wire_bytes(self) -> int:
        """All that passes between nodes and broker, both ways, by `dcka.energy.Ledger`."""
        ledgers = [self.ledger(index) for index in range(len(self.sent))]
        return round(sum(ledger.wire_sent + ledger.wire_heard for ledger in ledgers))

    def ledger(self, index: int) -> Ledger:
        """The messages of one node. A SUBSCRIBE and its answer stand as a message without payload: 66 bytes out and
        40 back, where the packets have 67 and 45 with the usual topic."""
        return Ledger(
            broadcasts=int(self.sent[index] + self.asked[index]),
            deliveries=int(self.heard[index]),
            payload_sent=int(self.bytes_sent[index]),
            payload_heard=int(self.bytes_heard[index]),
        )
