"""What becomes of a message on its way from one node to another: when it comes, how often, and whether at all."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from dcka.emulation.air import CONSENSUS, Faults
from dcka.emulation.virtual.timeline import US_PER_MS

Loss = Callable[[int, int, float], float]
"""(who sends, who hears, the time in s) → the share of messages that is lost on that link then."""

_KINDS = frozenset(kind.decode() for kind in CONSENSUS)
# A message through Wi-Fi, broker and Wi-Fi, on a good day; and what it waits at most for those before it.
LEAST_MS, MOST_MS = 8, 30
# One that is overtaken comes so much later.
OVERTAKEN_MS = 120
# A week draws half a million of these: `randint`'s own draws, without its checks.
_WAYS = (MOST_MS - LEAST_MS) * US_PER_MS + 1
_WAY_BITS = _WAYS.bit_length()


def no_loss(sender: int, hearer: int, now_s: float) -> float:
    """A radio that loses nothing."""
    return 0.0


@dataclass
class AirCounts:
    """Deliveries of consensus messages: all that were to be, and what became of some."""

    deliveries: int = 0
    lost: int = 0
    doubled: int = 0
    overtaken: int = 0


class Air:
    """`faults`: the same for all links, on top of what `loss` says of each; `chance`: draws both.

    What a node says to the host, and the host to it, is TCP's to bring: it comes, unless the connection breaks. So are
    retained messages. What nodes say to each other stands for a radio, and may be lost.
    """

    def __init__(self, faults: Faults, loss: Loss, chance: random.Random) -> None:
        self.counts = AirCounts()
        self._faults = faults
        self._loss = loss
        self._chance = chance

    def delays_us(self, sender: int, hearer: int, suffix: str, now_s: float) -> list[int]:
        """When each copy comes, in microseconds from now; [] where it is lost. `sender`, `hearer`: 0 for the host."""
        chance, faults = self._chance, self._faults
        if not sender or not hearer or sender == hearer or suffix.partition("/")[0] not in _KINDS:
            return [self.way_us()]
        counts = self.counts
        counts.deliveries += 1
        kept = (1.0 - faults.loss) * (1.0 - self._loss(sender, hearer, now_s))
        if chance.random() >= kept:
            counts.lost += 1
            return []
        delays = [self.way_us()]
        if faults.duplicate and chance.random() < faults.duplicate:
            counts.doubled += 1
            delays.append(self.way_us())
        if faults.reorder and chance.random() < faults.reorder:
            counts.overtaken += 1
            delays = [delay + OVERTAKEN_MS * US_PER_MS for delay in delays]
        if faults.delay_ms:
            delays = [delay + round(faults.delay_ms * US_PER_MS) for delay in delays]
        return delays

    def way_us(self) -> int:
        """How long a message is on its way."""
        draw = self._chance.getrandbits(_WAY_BITS)
        while draw >= _WAYS:
            draw = self._chance.getrandbits(_WAY_BITS)
        return LEAST_MS * US_PER_MS + draw
