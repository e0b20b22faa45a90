"""What goes wrong in a week: power that goes, boards that die, nodes out of reach, a broker that is away."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from dcka.emulation.virtual.timeline import US_PER_S

CUT, TORN, DEATH, AWAY, OUTAGE = "power cut", "power cut in a write", "death", "out of reach", "broker away"
DAY_S = 86_400


@dataclass(frozen=True, order=True)
class Failure:
    """`at_s`: true seconds from the start. `node`: whom it strikes, 0 for the broker. `lasts_s`: 0 for ever.

    `detail`: of TORN the bytes that are still written; of OUTAGE 1 where the broker forgets what it kept.
    """

    at_s: float
    kind: str
    node: int = 0
    lasts_s: float = 0.0
    detail: int = 0

    @property
    def at_us(self) -> int:
        return round(self.at_s * US_PER_S)

    @property
    def lasts_us(self) -> int:
        return round(self.lasts_s * US_PER_S)


def failures(nodes: Sequence[int], days: float, seed: int) -> list[Failure]:
    """Those of `days` days, by time; the same for the same seed.

    A node's power goes every second day on average, half of the times in the midst of a write; every fourth day it is
    out of reach for hours. One node of ten dies, in the second half. The broker is away every second day, for up to
    twenty minutes, and forgets what it kept half of the times.
    """
    chance = random.Random(f"{seed} failures")
    span = days * DAY_S
    found = []
    for node in nodes:
        for at in _moments(chance, span, 2 * DAY_S):
            torn = chance.random() < 0.5
            lasts = chance.choice((5.0, 60.0, 7200.0))
            found.append(
                Failure(at, TORN if torn else CUT, node, lasts, chance.randint(0, 400) if torn else 0)
            )
        found += [
            Failure(at, AWAY, node, chance.uniform(600, 6 * 3600)) for at in _moments(chance, span, 4 * DAY_S)
        ]
    found += [
        Failure(at, OUTAGE, 0, chance.uniform(10, 1200), int(chance.random() < 0.5))
        for at in _moments(chance, span, 2 * DAY_S)
    ]
    for node in chance.sample(list(nodes), len(nodes) // 10):
        found.append(Failure(chance.uniform(0.5, 0.95) * span, DEATH, node))
    return sorted(found)


def _moments(chance: random.Random, span: float, mean: float) -> list[float]:
    """When something happens that happens every `mean` s on average (a Poisson process)."""
    moments, at = [], chance.expovariate(1 / mean)
    while at < span:
        moments.append(at)
        at += chance.expovariate(1 / mean)
    return moments
