"""A simulated week from its first moment to its last, and what it came to."""

import random
from collections.abc import Callable

from dcka.emulation.virtual.air import Air
from dcka.emulation.virtual.board import Board
from dcka.emulation.virtual.broker import Broker
from dcka.emulation.virtual.oscillator import Oscillator
from dcka.emulation.virtual.timeline import US_PER_S, Timeline
from dcka.emulation.virtual.world import World
from dcka.week.failures import AWAY, DAY_S, DEATH, OUTAGE, TORN, Failure, failures
from dcka.week.feed import Feed
from dcka.week.host import Clustering, Host
from dcka.week.recordings import feed_for
from dcka.week.report import Json, report
from dcka.week.settings import WeekSettings
from dcka.week.time_service import TimeService
from dcka.week.updating import KEY
from dcka.week.witness import Witness

NETWORK = "week"
# 2026-11-30 00:00 UTC, in seconds since 2020: a Monday.
START_S = 218_073_600
# Boards are switched on one after the other, by a person.
SWITCHED_ON_S = 120


def run_week(
    settings: WeekSettings,
    *,
    on_advance: Callable[[float], None] = lambda now_s: None,
    on_clustering: Callable[[Clustering], None] = lambda one: None,
    **parts: object,
) -> Json:
    """Simulate it; the report. A KeyboardInterrupt, from `on_advance` say, ends it early: the report is of what was.

    `parts`: of `World`, in the place of what nodes are made of. Raises WeekError.
    """
    course = Course(settings, feed_for(settings), on_advance, on_clustering, **parts)
    return course.run()


class Course:
    """`feed`: readings and radio. The rest as for `run_week`."""

    def __init__(
        self,
        settings: WeekSettings,
        feed: Feed,
        on_advance: Callable[[float], None] = lambda now_s: None,
        on_clustering: Callable[[Clustering], None] = lambda one: None,
        **parts: object,
    ) -> None:
        self.settings = settings
        self.feed = feed
        self.timeline = Timeline(on_advance)
        self.air = Air(settings.faults, feed.loss, random.Random(f"{settings.seed} air"))
        self.broker = Broker(self.timeline, self.air)
        self.witness = Witness(feed.ids)
        self.world = World(
            NETWORK, self.timeline, self.broker, feed.reading, self.witness, feed.text, START_S,
            settings.sample_s, settings.battery_mah,
            update_key=KEY if settings.updating else b"", **parts,  # type: ignore[arg-type]
        )  # fmt: skip
        self.boards = {node: self._board(node) for node in feed.ids}
        self.failed: list[Failure] = []
        self.dead: set[int] = set()
        TimeService(self.world)
        self.host = Host(self.world, feed, settings, self.witness, on_clustering)

    def run(self) -> Json:
        """All of it, and the report."""
        chance = random.Random(f"{self.settings.seed} switched on")
        for board in self.boards.values():
            self.timeline.after(chance.randint(0, SWITCHED_ON_S * US_PER_S), board.power_on)
        if self.settings.failing:
            for failure in failures(self.feed.ids, self.settings.days, self.settings.seed):
                self.timeline.at(failure.at_us, lambda failure=failure: self._strike(failure))
        interrupted = False
        try:
            self.host.live(self.settings.days * DAY_S)
        except KeyboardInterrupt:
            interrupted = True
        for board in self.boards.values():
            board.close()
        return report(self, interrupted)

    def _board(self, node: int) -> Board:
        chance = random.Random(f"{self.settings.seed} clock of node {node}")
        clock = Oscillator.drawn(chance) if self.settings.drifting else Oscillator()
        return Board(node, self.world, clock, str(self.settings.seed))

    def _strike(self, failure: Failure) -> None:
        """Let it go wrong; and, unless it is for ever, plan that it is over."""
        if failure.node in self.dead:
            return
        self.failed.append(failure)
        if failure.kind == OUTAGE:
            self.broker.go_away(forget=bool(failure.detail))
            self.timeline.after(failure.lasts_us, self.broker.come_back)
            return
        board = self.boards[failure.node]
        if failure.kind == AWAY:
            self.broker.out_of_reach(failure.node)
            self.timeline.after(failure.lasts_us, lambda: self.broker.within_reach(failure.node))
        elif failure.kind == TORN:
            board.files.cut_after = failure.detail
        else:
            board.power_off()
            if failure.kind == DEATH:
                self.dead.add(failure.node)
            else:
                self.timeline.after(failure.lasts_us, lambda: self._power_on(failure.node))

    def _power_on(self, node: int) -> None:
        if node not in self.dead:
            self.boards[node].power_on()
