"""What a node takes for time: a crystal while it is awake, an oscillator that is wrong by percents in deep sleep."""

import random
from dataclasses import dataclass

# An ESP32's sleep clock is an RC oscillator: wrong by percents, and by some thousandths more or less each time, as its
# temperature has it.
SLEEP_PPM = 30_000
SLEEP_JITTER_PPM = 2_000
CRYSTAL_PPM = 40


@dataclass(frozen=True)
class Oscillator:
    """`awake_ppm`, `asleep_ppm`: how much the clock is fast, in millionths; `jitter_ppm`: how far a sleep's may be from
    that.
    """

    awake_ppm: int = 0
    asleep_ppm: int = 0
    jitter_ppm: int = 0

    @classmethod
    def drawn(cls, chance: random.Random) -> "Oscillator":
        """One of those that are built."""
        return cls(
            chance.randint(-CRYSTAL_PPM, CRYSTAL_PPM),
            chance.randint(-SLEEP_PPM, SLEEP_PPM),
            SLEEP_JITTER_PPM,
        )

    def own_us(self, true_us: int) -> int:
        """What it counts, awake, in a true time."""
        return true_us + true_us * self.awake_ppm // 1_000_000

    def true_us(self, own_us: int) -> int:
        """How long that really is, rounded up: a node that waits for a moment is not early by its own clock."""
        rate = 1_000_000 + self.awake_ppm
        return -(-own_us * 1_000_000 // rate)

    def sleep_us(self, own_us: int, chance: random.Random) -> int:
        """How long a deep sleep of `own_us` really takes."""
        ppm = self.asleep_ppm + chance.randint(-self.jitter_ppm, self.jitter_ppm)
        return own_us * 1_000_000 // (1_000_000 + ppm)
