"""A node from a reset to its next deep sleep: it goes by its rota, which the core decides.

What a board's shell does in its place, with a clock, a store and a sensor that are simulated.
"""

from typing import TYPE_CHECKING

from dcka.emulation.virtual.life import Life
from dcka.emulation.virtual.online import Online
from dcka.emulation.virtual.timeline import US_PER_MS, US_PER_S
from dcka.emulation.virtual.versions import LIMIT_S, STAY_S
from dcka_core import ticks
from dcka_core.carry import Carried, read
from dcka_core.clock import Clock
from dcka_core.rota import JOIN, LEAST_SLEEP_S, SAMPLE, SPEAK, SYNC, Rota

if TYPE_CHECKING:
    from dcka.emulation.virtual.board import Board

# What reading a sensor takes, the processor at work.
SENSE_MS = 60
# Readings that wait in RTC memory.
HOLD = 60
# A node that has its result stays for those who lack the last commit: 20 patiences of half a second.
LINGER_S = 10
# So much longer than the pace allows it may be, where a run is under way.
MOST_OVER_S = 120
MOST_SLEEP_S = 86_400
SECOND_US = US_PER_S


class Awake:
    """The program's state in RAM: `clock`, `rota`, `segments`, and the radio while it is on."""

    def __init__(self, board: "Board", life: Life) -> None:
        self.board = board
        self.life = life
        world = board.world
        self._begun_us = self._counted_us = world.timeline.now_us
        self.clock = Clock(0)
        self.rota = Rota(world.sample_s, HOLD)
        self.segments = world.open_segments(board.files)
        self._online: Online | None = None
        self._what = 0
        self._number = -1
        self._until = 0
        self._began = 0
        self._leaving = False
        carried = read(board.rtc)
        board.rtc = b""
        if carried is not None:
            self._restore(carried)

    def _restore(self, carried: Carried) -> None:
        self.clock.restore(carried.clock)
        self.clock.slept(carried.asked_ms, 0)
        self.rota.restore(carried.rota)
        if carried.frame and not self.segments.restore(carried.frame):
            self.board.world.watcher.forgotten(self.board.id)
        self.rota.held = self.segments.pending

    # ---- time ----

    def ticks(self) -> int:
        """The board's millisecond counter: it began with the program."""
        passed = self.board.world.timeline.now_us - self._begun_us
        return self.board.oscillator.own_us(passed) // US_PER_MS & (ticks.PERIOD - 1)

    def now(self) -> int:
        """Wall time in s, as the node believes."""
        return self.clock.now(self.ticks())

    def _at(self, second: int, call: "object") -> None:
        wait_us = max(0, self.clock.ms_until(second, self.ticks())) * US_PER_MS
        self.life.after(self.board.oscillator.true_us(wait_us), call)  # type: ignore[arg-type]

    # ---- what is next ----

    def begin(self) -> None:
        """Look at the rota, and do what it says."""
        now = self.now()
        what, at, until = self.rota.next(now, self.clock, self.board.battery)
        if at > now:
            self._wait(at, now)
        elif not what & SPEAK:
            self._sense(what)
            self.life.after(SENSE_MS * US_PER_MS, self.begin)
        else:
            self._sense(what)
            self._go_online(what, now, until)

    def _wait(self, at: int, now: int) -> None:
        if at - now < LEAST_SLEEP_S:
            self._at(at, self.begin)
            return
        asked_ms = self.clock.to_ask(min(MOST_SLEEP_S * 1000, self.clock.ms_until(at, self.ticks())))
        board, waiting = self.board, bytes(self.segments.waiting())
        record = Carried(asked_ms, 0, board.battery, self.clock.carried(), self.rota.carried(), waiting)
        board.sleep(asked_ms, record.encode())

    def _sense(self, what: int) -> None:
        board, world = self.board, self.board.world
        if what & SAMPLE:
            values = world.sensor(board.id, world.timeline.now_s)
            due = self.rota.took_reading(self.now())
            if values is not None:
                syncs = self.segments.syncs
                self.segments.append(due, values)
                if self.segments.syncs != syncs:
                    world.watcher.synced(board.id)
                world.watcher.appended(board.id, due, values)
        if what & SYNC:
            self.sync()
        self.rota.held = self.segments.pending

    def sync(self) -> None:
        """What waits goes to flash."""
        self.segments.sync()
        self.board.world.watcher.synced(self.board.id)

    # ---- with the radio ----

    def _go_online(self, what: int, now: int, until: int) -> None:
        self.account()
        self._aim(what, now, until)
        self._online = Online(self, self._look)
        if self.board.versions.trial:
            self.life.after(LIMIT_S * US_PER_S, self._go_back)
            self.life.after(SECOND_US, self._prove)
        self._at(now - now % self.rota.sample_s + self.rota.sample_s, self._sample)

    def _aim(self, what: int, now: int, until: int) -> None:
        """What the radio is on for, and for how long at most."""
        self._what, self._until, self._began, self._leaving = what, until, now, False
        if what & JOIN:
            self._number = self.rota.number(now, self.clock, self.board.battery)
        self._at(until, self._over)

    def _sample(self) -> None:
        """A reading is due while the radio is on."""
        now = self.now()
        if self._online is None:
            return
        if self.rota.due(now):
            self._sense(SAMPLE | SYNC)
        self._at(now - now % self.rota.sample_s + self.rota.sample_s, self._sample)

    def _look(self) -> None:
        """After each event: is it done?"""
        online = self._online
        if online is None or self._leaving or self.board.versions.trial:
            return
        told = online.heard_time and self.rota.pace is not None
        done = online.took_part if self._what & JOIN else told
        if done:
            self._leaving = True
            self.life.after((LINGER_S if self._what & JOIN else 1) * US_PER_S, self._leave)

    def _over(self) -> None:
        """It has been there for as long as the rota wanted."""
        online = self._online
        if online is None or self._leaving:
            return
        if self.board.versions.trial:
            self.life.after(LINGER_S * US_PER_S, self._over)
            return
        now = self.now()
        what, _, until = self.rota.speaks(now, self.clock, self.board.battery)
        if self._what & what & JOIN and until > now:
            # The host has said meanwhile that it takes longer.
            self._until = until
            self._at(until, self._over)
            return
        session = online.core.session
        busy = session is not None and not session.done
        if busy and self.now() < self._until + MOST_OVER_S:
            self.life.after(LINGER_S * US_PER_S, self._over)
        else:
            self._leave()

    def _leave(self) -> None:
        online = self._online
        if online is None:
            return
        if self._what & JOIN:
            self.rota.awake_for(self._number)
        self.rota.asked(self._began, online.heard_time, online.connected_s)
        now = self.now()
        what, at, until = self.rota.speaks(now, self.clock, self.board.battery)
        if at - now < LEAST_SLEEP_S:
            # It is wanted already: for the clustering that it did not know of before.
            self._aim(what, now, until)
            return
        self._online = None
        self.sync()
        self.rota.held = 0
        online.leave(max(0, at - now) * 1000)
        self._counted_us = self.board.world.timeline.now_us
        self.begin()

    # ---- a version on trial ----

    def _prove(self) -> None:
        """It has joined once its own word has come back; then it has to stay for a while."""
        online = self._online
        if not self.board.versions.trial:
            return
        if online is not None and online.core.settled:
            self.life.after(STAY_S * US_PER_S, self._joined)
        else:
            self.life.after(SECOND_US, self._prove)

    def _joined(self) -> None:
        self.board.versions.joined()
        if self._online is not None:
            self._online.tell_version()
            self._look()

    def _go_back(self) -> None:
        if self.board.versions.trial:
            self.board.versions.back(f"did not join within {LIMIT_S} s")
            self.board.restart()

    # ---- the end ----

    def account(self) -> None:
        """Count the time awake up to now; with the radio on it counts that itself."""
        if self._online is None:
            now = self.board.world.timeline.now_us
            self.board.meter.bare_ms += (now - self._counted_us) / US_PER_MS
            self._counted_us = now

    def close(self) -> None:
        """The program ends here, without a word."""
        self.board.skipped = max(self.board.skipped, self.rota.skipped)
        if self._online is not None:
            self._online.close()
