"""A node that sleeps deeply between runs: when it may, what it says before, and what it listens to for that.

Loaded where node.json's `parts` has it, as the last: it stands around the guard and around what senses, and the loop
has no code for it. What to do when is `dcka_core.rota`'s to say; how a wake begins is in `waking`.
"""

import time

from dcka_core import ticks
from dcka_core.actions import PUBLISH
from dcka_core.carry import BAD_WAKES
from dcka_core.rota import JOIN, LEAST_SLEEP_S, LISTEN
from dcka_device.hearing import Word
from dcka_device.nap import take_leave
from dcka_device.night import Night, percent
from dcka_device.night import now as now_ticks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core.node import Node
    from dcka_device.link import Link
    from dcka_device.store import Store

_LOOK_MS = 1000
# The host answers a status with the time: so long a node waits for that.
_LISTEN_MS = 10000
# A transfer, or rows of a run that has not begun, keep a node awake for so long; a run that waits in vain for so many
# times the cap.
_HOLD_MS = 60000
_RUN_CAPS = 10
# Shorter sleeps cost more than they save: to start and to associate again costs as much as 5 s awake (docs/energy.md).
_WORTH_S = 6
# After the end of a run a node stays, for those who have not heard of it: at least so long.
_LINGER_MS = 2000
_LEAVE_TRIES = 50
_WRITE_INTEREST = 2
# In the ledger: messages of the consensus that have come.
_HEARD = 4
_LEAVE_MS = 10


class Sleeping:
    """What is called in every turn of the loop (`alive`), and then looks at link and node, as a console (`look`)."""

    def __init__(self, settings: "dict[str, Any]", guard: "Any") -> None:
        self._guard = guard
        self._cap_ms: int = 1000 * settings["sleep"]["cap_s"]
        self._battery = settings["sleep"].get("battery")
        self._night = Night(settings)
        self._began = now_ticks()
        self._console: Any = None
        self._radio: Any = None
        self._node: Any = None
        self._link: Any = None
        # When it was connected in this wake, and since when it is not; None: it never was, it is.
        self._took_s: int | None = None
        self._up_at: int | None = None
        self._down_at: int | None = self._began
        self._word = Word(self._night, "dcka/%s/" % settings["network"])
        self._busy_at: int | None = None
        self._pieces = 0
        self._done_at: int | None = None
        # What has come of a run, and when that was last more.
        self._came = -1
        self._came_at = self._began

    def parts(
        self,
        settings: "dict[str, Any]",
        boot: int,
        node: "Node",
        store: "Store",
        clock: "Callable[[], int]",
        jitter: "Callable[[int], int]",
    ) -> "tuple[Any, Any]":
        """Those of the guard, with this one in the console's place. Readings of the night go to flash."""
        if settings.get("wifi"):
            # One who sleeps for want of an access point is enough.
            settings["wifi"]["awake_cap_s"] = 0
        if self._guard:
            self._console, self._radio = self._guard.parts(settings, boot, node, store, clock, jitter)
        self._node = node
        sampler = getattr(self._guard, "sampler", None)
        if sampler:
            sampler.segments.restore(self._night.frame)
            sampler.sync()
            self._night.keep_readings(sampler.segments)
        self._night.set_system()
        self._describe()
        return self, self._radio

    # ---- in every turn ----

    def alive(self, online: bool) -> int:
        """The program turns. A node that finds no broker sleeps when its awake time is used up."""
        rest: int = self._guard.alive(online) if self._guard else _LOOK_MS
        now = now_ticks()
        if online:
            if self._took_s is None:
                self._took_s = ticks.diff(now, self._began) // 1000
            if self._up_at is None:
                self._up_at = now
            self._down_at = None
        else:
            if self._down_at is None:
                self._down_at = now
            self._up_at = None
            if self._is_alone(now, self._down_at) and not self._on_trial():
                self._give_up()
                self._sleep(now)
        return min(rest, _LOOK_MS)

    def look(self, link: "Link", node: "Node", now: int) -> None:
        """After what has come and what was due: whether there is anything to stay awake for."""
        if self._console:
            self._console.look(link, node, now)
        if self._link is None:
            self._link = link
            self._word.listen(link, node)
        if link.up and not self._on_trial() and not self._busy(now) and self._may_sleep(now):
            self._sleep(now)

    # ---- whether ----

    def _on_trial(self) -> bool:
        """A new version stays awake until it has joined or goes back: each wake would count as a start of it."""
        return bool(self._guard and self._guard.on_trial)

    def _is_alone(self, now: int, since: int) -> bool:
        """Whether there has been no broker for as long as the battery has for it. Naps between slots don't count."""
        if not self._in_run():
            return bool(ticks.diff(now, since) > self._cap_ms)
        return bool(not self._node.session.asleep and ticks.diff(now, since) > _RUN_CAPS * self._cap_ms)

    def _give_up(self) -> None:
        """No broker: what is under way goes on without this node."""
        night = self._night
        self._ask_again()
        if night.rota.pace is not None and self._next()[0] & JOIN and self._next()[1] <= night.now_s():
            night.rota.awake_for(night.rota.number(night.now_s(), night.clock, night.battery))

    def _in_run(self) -> bool:
        session: Any = self._node.session if self._node else None
        return bool(session is not None and not session.done)

    def _busy(self, now: int) -> bool:
        """Whether something is under way that sleep would break off."""
        node: Any = self._node
        session: Any = node.session
        if self._in_run():
            self._done_at = None
            came = node.ledger[_HEARD]
            if came != self._came:
                self._came, self._came_at = came, now
            # Where everybody has gone and nobody ended the run.
            return bool(ticks.diff(now, self._came_at) < _RUN_CAPS * self._cap_ms)
        if session is not None:
            # Done: whoever has not heard the end asks for it.
            if self._done_at is None:
                self._done_at = now
            linger_ms = max(_LINGER_MS, 2 * session.run.patience_ms)
            if ticks.diff(now, self._done_at) < linger_ms:
                return True
        rows, intake = node._rows, node._intake
        waits: bool = rows is not None and rows.number > node._newest
        # An update takes minutes: each message of it holds the node anew.
        pieces: int = intake.update.heard if intake is not None and intake.update else 0
        if pieces != self._pieces:
            self._pieces, self._busy_at = pieces, now
        if not node.settled or waits or pieces or (intake is not None and intake.under_way):
            if self._busy_at is None:
                self._busy_at = now
            return bool(ticks.diff(now, self._busy_at) < _HOLD_MS)
        self._busy_at = None
        return False

    def _may_sleep(self, now: int) -> bool:
        night = self._night
        if night.rota.pace is None or self._up_at is None:
            # Nobody has said when it is needed.
            return False
        what, at, _ = self._next()
        if what & LISTEN and at <= night.now_s():
            if ticks.diff(now, self._up_at) < _LISTEN_MS:
                return False
            self._ask_again()
            what, at, _ = self._next()
        return at - night.now_s() >= _WORTH_S

    def _next(self) -> "tuple[int, int, int]":
        night = self._night
        return night.rota.speaks(night.now_s(), night.clock, night.battery)

    def _ask_again(self) -> None:
        """Nobody has said the time in this wake."""
        self._night.rota.asked(self._night.now_s(), self._word.heard, self._took_s)
        self._word.heard = False

    # ---- sleep ----

    def _sleep(self, now: int) -> None:
        """Say for how long, take leave, switch the radio off, and sleep deeply."""
        night = self._night
        if self._word.heard:
            night.rota.asked(night.now_s(), True, self._took_s)
        self._end_readings()
        if self._battery:
            night.battery = percent(self._battery)
        speaks = self._next()[1]
        if self._link is not None and self._link.up:
            self._say_good_night(max(1, night.clock.ms_until(speaks, now)), now)
        if self._radio:
            self._radio.off()
        at = night.rota.next(night.now_s(), night.clock, night.battery)[1]
        night.down(max(LEAST_SLEEP_S * 1000, night.clock.ms_until(at, now_ticks())))

    def _end_readings(self) -> None:
        sampler = getattr(self._guard, "sampler", None)
        if sampler:
            sampler.sync()
            rota = self._night.rota
            newest = sampler.segments.newest
            if newest is not None:
                rota.sampled = max(rota.sampled, newest)
            self._night.keep_readings(sampler.segments)

    def _say_good_night(self, until_ms: int, now: int) -> None:
        link = self._link
        self._describe()
        self._node.also["state"] = "asleep"
        self._node.also["until_ms"] = until_ms
        for action in self._node.connected(now):
            if action[0] == PUBLISH:
                link.publish(action[1], action[2], action[3])
        for _ in range(_LEAVE_TRIES):
            link.flush(now_ticks())
            if not link.client.io_interest(now_ticks()) & _WRITE_INTEREST:
                break
            time.sleep_ms(_LEAVE_MS)
        if link.connector:
            take_leave(link.connector, time)
        link.close()

    def _describe(self) -> None:
        """What the status says of the nights."""
        night = self._night
        told = {"skipped": night.rota.skipped, "drift_ppm": night.clock.drift_ppm}
        told["guard_ms"] = night.clock.guard_ms()
        if night.battery is not None:
            told["battery"] = night.battery
        if night.bad >= BAD_WAKES:
            told["bad"] = night.bad
        self._node.also["nights"] = told


def main(settings: "dict[str, Any]", guard: "Any") -> Sleeping:
    """What takes the guard's place."""
    return Sleeping(settings, guard)
