"""The host of a simulated week: it says the pace, asks for windows, calls each clustering, and has it judged."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from dcka.config import Config, from_mapping
from dcka.emulation.virtual.channel import VirtualChannel
from dcka.emulation.virtual.world import World
from dcka.errors import DckaError
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.statuses import ASLEEP, NodeStatus
from dcka.runs.controller import run
from dcka.runs.outcome import Outcome, decode_commit, greatest_holder
from dcka.runs.plan import idle, plan
from dcka.streams.members import Part, part_of
from dcka.streams.window import Window
from dcka.week.feed import Feed
from dcka.week.judge import EXACT, UNFINISHED, judge
from dcka.week.settings import WeekSettings
from dcka.week.updating import AWAKE_S as UPDATING_S
from dcka.week.updating import Updater
from dcka.week.window import range_of
from dcka.week.witness import Witness

# From the beginning of a clustering: so long all who are expected may take to show the window's points; then it goes on
# with those who have.
WINDOW_S = 40.0
# Nodes are there from the pace's start on for so long, where no run begins.
AWAKE_S = 90
READY_S = 5.0
LIMIT_S = 100.0
# Who was in none of so many clusterings is not waited for, unless it has been heard of since.
FORGOTTEN = 2
DAY_S = 86_400
PATIENCE_MS = 500


@dataclass(frozen=True)
class Clustering:
    """One that was called. `members`: who was planned in. `verdict`: a word of `judge`, and `reason`."""

    number: int
    members: tuple[int, ...]
    verdict: str
    reason: str
    steps: int
    points: int


class Host:
    """`tell`: called with each clustering when it is over."""

    def __init__(
        self,
        world: World,
        feed: Feed,
        settings: WeekSettings,
        witness: Witness,
        tell: Callable[[Clustering], None] = lambda one: None,
    ) -> None:
        self.clusterings: list[Clustering] = []
        self.channel = VirtualChannel(world.network, world.broker, world.timeline)
        self._world = world
        self._feed = feed
        self._settings = settings
        self._witness = witness
        self._tell = tell
        self._range = range_of(feed)
        self._config = _configuration(world, feed, settings)
        self._inbox = Inbox(self.channel, {}, self._take_status, on_reconnect=self._restate)
        self._window: Window | None = None
        self._held: dict[int, NodeStatus] = {}
        self._absences = Counter[int]()
        self._centres: list[list[int]] | None = None
        total = int(settings.days * DAY_S - WINDOW_S - LIMIT_S - 1) // settings.every_s
        self.updater = Updater(self.channel, settings.seed, total) if settings.updating else None
        self._run = 0
        self._done = -1

    def live(self, until_s: float) -> None:
        """Call every clustering that begins before `until_s` of true time, and let time pass until then."""
        self.channel.subscribe("status/+")
        self._say_pace()
        number = 0
        while (begins := self._begin_s(number)) + WINDOW_S + LIMIT_S < until_s:
            self._wait_until(begins)
            if self.updater is not None and self.updater.is_due(number):
                self._update(self.updater, number)
            self._cluster(number)
            number += 1
        self._wait_until(until_s)

    def _begin_s(self, number: int) -> float:
        return float((number + 1) * self._settings.every_s)

    def _wait_until(self, at_s: float) -> None:
        while (left := at_s - self.channel.now()) > 0:
            self._inbox.turn(left)

    # ---- an update, and the clustering after it ----

    def _update(self, updater: Updater, number: int) -> None:
        """The nodes have heard, when they were connected, that it takes longer this time."""
        self._wait_until(self.channel.now() + WINDOW_S)
        updater.roll_out(number, [node for node in self._feed.ids if self._is_awake(node)])

    def _is_awake(self, node: int) -> bool:
        status = self._inbox.statuses.get(node)
        return status is not None and status.online and status.state != ASLEEP

    # ---- one clustering ----

    def _cluster(self, number: int) -> None:
        window = self._ask_for_window(number)
        deadline = self.channel.now() + WINDOW_S
        while self.channel.now() < deadline and not self._expected() <= self._held.keys():
            self._inbox.turn(deadline - self.channel.now())
        part = part_of(self._config, self._held)
        members = () if part is None else part.config.ids
        for node in self._feed.ids:
            self._absences[node] = 0 if node in members else self._absences[node] + 1
        self._conclude(number, window, part)
        self._done = number
        self._say_pace()

    def _expected(self) -> set[int]:
        return {node for node in self._feed.ids if self._absences[node] < FORGOTTEN}

    def _conclude(self, number: int, window: Window, part: Part | None) -> None:
        """Run it, and have it judged."""
        members = () if part is None else part.config.ids
        points = sum(self._held[node].rows for node in members)
        if part is None or len(members) < 2 or points < self._settings.k:
            self._keep(number, members, points, UNFINISHED, "too few nodes have shown their points")
            return
        try:
            outcome = self._clustered(window, part)
        except DckaError as error:
            # Nodes that have gone meanwhile, or the broker.
            self._keep(number, members, points, UNFINISHED, str(error))
            return
        windows = {node: self._witness.window(node, bytes.fromhex(window.dataset)) for node in members}
        verdict, reason = judge(outcome, self._feed.columns, window.range.whole, windows)
        steps = 0
        if outcome.finished:
            commit = decode_commit(outcome, greatest_holder(outcome))
            steps = commit.step
            n = len(self._feed.columns)
            self._centres = [list(commit.centres[at : at + n]) for at in range(0, len(commit.centres), n)]
        self._keep(number, members, points, verdict, reason, steps)

    def _clustered(self, window: Window, part: Part) -> Outcome:
        held = {node: self._held[node] for node in part.config.ids}
        self._run += 2
        made = plan(
            part.config,
            window.dataset_record(self._world.network, held),
            self._run,
            max_message={node: status.max_message for node, status in held.items()},
            centres=self._centres,
            on_grid=True,
        )
        return run(self.channel, made, limit_s=LIMIT_S, ready_s=READY_S)

    def _keep(
        self, number: int, members: tuple[int, ...], points: int, verdict: str, reason: str, steps: int = 0
    ) -> None:
        kept = Clustering(number, members, verdict, "" if verdict == EXACT else reason, steps, points)
        self.clusterings.append(kept)
        self._tell(kept)

    # ---- what is published ----

    def _ask_for_window(self, number: int) -> Window:
        """All readings of the last `window_s` before this clustering begins."""
        # Who was cut off in the last run, and has come back, shall not go on waiting for the others.
        self.channel.publish("run", idle(self._run + 1), retain=True)
        until = self._world.start_s + round(self._begin_s(number))
        window = Window(number + 1, until - self._settings.window_s, until, self._range)
        self._window, self._held = window, {}
        self._witness.expect(bytes.fromhex(window.dataset), window.since, window.until)
        self.channel.publish("window", window.record(), retain=True)
        return window

    def _say_pace(self) -> None:
        self.channel.publish("pace", self._pace(), retain=True)

    def _pace(self) -> dict[str, object]:
        every_s = self._settings.every_s
        at = self._world.start_s + round(self._begin_s(0))
        updating = self.updater is not None and self.updater.is_due(self._done + 1)
        awake_s = UPDATING_S if updating else AWAKE_S
        return {"v": 1, "every_s": every_s, "at": at, "awake_s": awake_s, "done": self._done}

    def _restate(self) -> None:
        """After an outage: what the broker kept may be gone."""
        self._say_pace()
        if self._window is not None:
            self.channel.publish("window", self._window.record(), retain=True)

    def _take_status(self, status: NodeStatus) -> None:
        if status.online:
            self._absences[status.node] = min(self._absences[status.node], FORGOTTEN - 1)
        if not status.online or status.state == ASLEEP:
            # It was there, and is not any more: the others would be kept waiting for as long as it sleeps.
            self._held.pop(status.node, None)
        elif self._window is not None and status.dataset == self._window.dataset:
            self._held[status.node] = status


def _configuration(world: World, feed: Feed, settings: WeekSettings) -> Config:
    return from_mapping(
        {
            "network": {"name": world.network, "nodes": list(feed.ids)},
            "topology": {"phases": [[list(link) for link in feed.links.phases[0]]]},
            "run": {"k": settings.k, "seed": settings.seed, "patience_ms": PATIENCE_MS, "schedule": "tree"},
        }
    )
