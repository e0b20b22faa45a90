"""A simulated board: what it keeps when its program ends, its power, and its program's lives one after the other."""

import random
from collections.abc import Callable
from typing import Any

from dcka.emulation.flash import MemoryFlash
from dcka.emulation.virtual.awake import Awake
from dcka.emulation.virtual.life import Life
from dcka.emulation.virtual.meter import Meter
from dcka.emulation.virtual.oscillator import Oscillator
from dcka.emulation.virtual.segment_files import PowerCut, SegmentFiles
from dcka.emulation.virtual.timeline import US_PER_MS, US_PER_S
from dcka.emulation.virtual.versions import BrokenVersion, Versions
from dcka.emulation.virtual.world import World
from dcka.energy import topic_bytes
from dcka_core.signing import node_key

RTC_BYTES = 2048
LOOK_S = 600
# From the reset to the program's first line: no clock of the node counts it.
START_MS = 350
# A board that crashed starts again, at once; one that does so again and again, as its guard has it, not at once.
RESTART_S = 5


class Board:
    """Node `id` of a world. Its flash lasts; RTC memory lasts while there is power."""

    def __init__(self, node: int, world: World, oscillator: Oscillator, seed: str) -> None:
        self.id = node
        self.world = world
        self.oscillator = oscillator
        self.chance = random.Random(f"{seed} node {node}")
        self.flash = MemoryFlash()
        self.files = SegmentFiles(world.flash_bytes)
        key = node_key(world.update_key, world.network, node) if world.update_key else b""
        self.versions = Versions(world.network, node, key)
        self.meter = Meter(topic_bytes(world.network, [node]))
        self.rtc = b""
        self.powered = False
        self.skipped = 0
        self.awake: Awake | None = None
        self._life: Life | None = None
        self._off_since: int | None = 0
        self._look_again = 0
        self._left = 100

    # ---- power ----

    def power_on(self) -> None:
        """Power is there: a start with an empty RTC memory."""
        if self.powered:
            return
        now = self.world.timeline.now_us
        if self._off_since is not None:
            self.meter.off_ms += (now - self._off_since) / US_PER_MS
            self._off_since = None
        self.powered = True
        self.reset()

    def power_off(self) -> None:
        """The power goes, now: what is in RAM and RTC memory is gone, and nobody takes leave."""
        if not self.powered:
            return
        self._end()
        self.powered = False
        self.rtc = b""
        self.files.cut_after = None
        self._off_since = self.world.timeline.now_us
        self.world.watcher.cut(self.id)

    def close(self) -> None:
        """The time is over: count what it has spent up to now."""
        if self._off_since is not None:
            self.meter.off_ms += (self.world.timeline.now_us - self._off_since) / US_PER_MS
            self._off_since = self.world.timeline.now_us
        elif self.awake is not None:
            self.awake.account()

    @property
    def spent_mah(self) -> float:
        """The modelled charge so far; what is not over yet is not in it."""
        return self.meter.mah(self.world.timeline.now_s)

    @property
    def battery(self) -> int:
        """What is left, in percent; looked at once in ten minutes."""
        now = self.world.timeline.now_us
        if now >= self._look_again:
            self._look_again = now + LOOK_S * US_PER_S
            self._left = self._percent()
        return self._left

    def _percent(self) -> int:
        return max(0, round(100 - 100 * self.spent_mah / self.world.battery_mah))

    # ---- the program ----

    def reset(self) -> None:
        """The program starts, from the first line."""
        self._end()
        self.meter.wakes += 1
        life = self._life = Life(self.world.timeline, self._guarded)
        self.meter.bare_ms += START_MS
        life.after(START_MS * US_PER_MS, self._begin, life)

    def restart(self) -> None:
        """The program ends itself, for another one to start: RTC memory begins anew."""
        self.rtc = b""
        self.reset()

    def sleep(self, asked_ms: int, memory: bytes) -> None:
        """Deep sleep for so long by its own slow clock; RTC memory keeps `memory`; a reset ends it."""
        if len(memory) > RTC_BYTES:
            raise ValueError(f"{len(memory)} bytes for RTC memory, which has {RTC_BYTES}")
        self._end()
        self.rtc = memory
        life = self._life = Life(self.world.timeline, self._guarded)
        life.after(self.oscillator.sleep_us(asked_ms * US_PER_MS, self.chance), self.reset)

    def _begin(self, life: Life) -> None:
        self.versions.start(after_sleep=bool(self.rtc))
        self.awake = Awake(self, life)
        self.awake.begin()

    def _end(self) -> None:
        if self._life is not None:
            self._life.over = True
            self._life = None
        if self.awake is not None:
            self.awake.account()
            self.awake.close()
            self.awake = None

    def _guarded(self, call: Callable[..., None], *arguments: Any) -> None:
        """The power may go in the midst of a write; a fault of the program ends it visibly, and it starts again."""
        try:
            call(*arguments)
        except PowerCut:
            self.power_off()
            self.world.timeline.after(RESTART_S * US_PER_S, self.power_on)
        except Exception as error:
            if not isinstance(error, BrokenVersion):
                self.world.watcher.crashed(self.id, error)
            self._end()
            self.rtc = b""
            self.world.watcher.cut(self.id)
            life = self._life = Life(self.world.timeline, self._guarded)
            life.after(RESTART_S * US_PER_S, self.reset)
