"""A node under CPython: the core, fed in the order in which a board's shell feeds it (`dcka_device/shell.py`)."""

import json
import platform
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from dcka.emulation.flash import READINGS_FILE, Flash
from dcka.emulation.gate import Gates
from dcka.emulation.link import Link
from dcka.emulation.loop import Loop
from dcka.emulation.network import NodeFailure
from dcka.emulation.numpy_kernel import accumulate
from dcka.emulation.sensing import Sensing
from dcka.emulation.tracebacks import last_place
from dcka_core.actions import ADOPT, DROP, MAKE, PUBLISH, SAVE, SLEEP, SUBSCRIBE, UNSUBSCRIBE, UPDATE
from dcka_core.errors import CoreError
from dcka_core.member import RUN_FILE
from dcka_core.node import Node
from dcka_core.parts import part
from dcka_core.points import Points
from dcka_core.session import COMMIT_FILE
from dcka_core.survey_grid import SurveyGrid
from dcka_core.ticks import PERIOD, diff
from dcka_core.update import NO_VERSIONS, refusal
from dcka_core.windows import Windows

# Places in the node's ledger (protocol, section 7).
_ASSOCIATIONS, _COMPUTING = 1, 6

RUNTIME = f"cpython {platform.python_version()} {sys.platform}"


class CPythonNode:
    """One node from its boot to its end: build it, `start` it, let the loop turn, `end` it.

    settings: as node.json has them, with `node`, and `clock_ppm` where its clock is to be wrong. vitals: () → (live,
    free) bytes. random: (count) → bytes. load: the parts of the core, as `dcka_core.parts.part` does.
    A fault of the core ends this node alone, with `failure`; the broker then publishes its will.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        flash: Flash,
        loop: Loop,
        gates: Gates,
        vitals: Callable[[], tuple[int, int]],
        random: Callable[[int], bytes],
        load: Callable[[str], Any] = part,
    ) -> None:
        self.failure: NodeFailure | None = None
        self._settings = settings
        self._flash = flash
        self._loop = loop
        self._gates = gates
        self._vitals = vitals
        self._random = random
        self._load = load
        self._busy = 0  # of the computing time: what is no whole millisecond yet, in µs
        self._connection = 0  # which of the link's the core knows of; 0 while it knows of none
        # Its clock goes so many of its own ms in a true one.
        self._rate = 1 + settings.get("clock_ppm", 0) / 1_000_000
        self._node: Node
        self._link: Link | None = None
        self._sensing: Sensing | None = None

    @property
    def running(self) -> bool:
        """Whether it has been started and has not ended."""
        return self._link is not None

    def start(self) -> None:
        """Boot: raise the boot count, load the data, begin to connect."""
        self._guarded(self._boot)

    def end(self) -> None:
        """End at once, as a power cut would. Its flash stays."""
        self._loop.at(self._turn, None)
        self._loop.at(self._sense, None)
        link, self._link = self._link, None
        if link is not None:
            link.cut()

    def _boot(self) -> None:
        settings = self._settings
        boot = self._flash.raise_boot()
        self._node = Node(
            settings["network"],
            settings["node"],
            boot,
            int.from_bytes(self._random(4), "little"),
            _memory(self._flash.read(RUN_FILE)),
            self._flash.read(COMMIT_FILE) or b"",
            settings["max_message"],
            RUNTIME,
            self._vitals,
            self._load,
        )
        if "sensors" in settings:
            self._sensing = Sensing(settings["sensors"], self._flash)
            self._node.also["sensing"] = self._sensing.report
            self._node.others["window"] = Windows(self._sensing.segments, self._load)
        self._link = Link(settings, self._node.will(), self._loop, self._gates, self._turn)
        try:
            points = self._flash.points()
        except CoreError as error:
            self._do(self._node.data_failed(str(error), self._now()))
        else:
            self._loaded(points)
        readings = self._flash.readings_dataset()
        if readings:
            self._feed(self._node.readings_held, readings, self._readings)
        for topic in self._node.standing_topics():
            self._link.subscribe(topic)
        self._link.open()
        self._sense()

    def _turn(self) -> None:
        """What has come, what is due; then when to look again."""
        if self._link is not None:
            self._guarded(self._work, self._link)

    def _work(self, link: Link) -> None:
        messages, link.inbox = link.inbox, []
        connection = link.connections if link.up else 0
        if connection != self._connection:
            if self._connection:
                self._node.disconnected()
            self._connection = connection
            if connection:
                self._node.ledger[_ASSOCIATIONS] += 1
                self._feed(self._node.connected)
        while link.oversized:
            link.oversized -= 1
            self._node.count("oversize")
        for topic, payload in messages:
            self._feed(self._node.receive, topic, payload)
        due = self._node.deadline()
        if due is not None and diff(due, self._now()) <= 0:
            self._feed(self._node.tick)
            due = self._node.deadline()
        link.flush()
        if link.resting:
            return
        if not link.up and self._connection:  # it was lost in writing
            self._loop.at(self._turn, time.monotonic())
        elif due is None:
            self._loop.at(self._turn, None)
        else:
            self._loop.at(self._turn, time.monotonic() + max(0, diff(due, self._now())) / 1000 / self._rate)

    def _sense(self) -> None:
        """Sample what is due, also while the node's radio sleeps; then when to look again."""
        sensing = self._sensing
        if sensing is not None:
            self._guarded(lambda: self._loop.at(self._sense, time.monotonic() + sensing.look(self._now())))

    def _feed(self, event: Callable[..., list[Any]], *arguments: Any) -> None:
        """Tell the core of an event, count for how long it computes, and do what it asks for."""
        began = time.perf_counter_ns()
        actions = event(*arguments, self._now())
        self._busy += (time.perf_counter_ns() - began) // 1000
        self._node.ledger[_COMPUTING] += self._busy // 1000
        self._busy %= 1000
        self._do(actions)

    def _do(self, actions: list[Any]) -> None:
        """Do what the core asks for, in its order: what is saved is on flash before what follows is sent."""
        link = self._link
        if link is None:
            return
        for action in actions:
            what = action[0]
            if what == PUBLISH:
                link.publish(action[1], action[2], action[3])
            elif what == SAVE:
                self._flash.save(action[1], _bytes(action[2]))
            elif what == SUBSCRIBE:
                link.subscribe(action[1])
            elif what == UNSUBSCRIBE:
                link.unsubscribe(action[1])
            elif what == SLEEP:
                self._sleep(link, action[1])
            elif what == UPDATE:
                topic = f"dcka/{self._settings['network']}/got/{self._settings['node']}"
                link.publish(topic, json.dumps(refusal(action[1], NO_VERSIONS)), False)
            else:
                self._store(action)

    def _sleep(self, link: Link, rest_ms: int) -> None:
        """Take leave of the broker for so long; until then nothing turns."""
        self._connection = 0
        self._node.disconnected()
        link.rest(rest_ms / 1000 / self._rate)
        self._loop.at(self._turn, None)

    def _now(self) -> int:
        """Milliseconds as a board counts them, by this node's clock."""
        return int(time.monotonic() * 1000 * self._rate) & (PERIOD - 1)

    def _store(self, action: Any) -> None:
        if action[0] == MAKE:
            self._make(action[1], action[2])
            return
        if action[0] == ADOPT:
            self._adopt(action[1], action[2])
            return
        try:
            if action[0] == DROP:
                self._flash.drop()
                return
            _, name, payload, offset, total = action
            if not offset:
                self._flash.begin(name, total)
            self._flash.append(name, _bytes(payload), offset)
        except OSError as error:
            self._do(self._node.data_failed(f"the data can't be stored: {error}", self._now()))

    def _adopt(self, aside: str, name: str) -> None:
        """Take the new data file; where it can't be read, the old one again."""
        self._node.forget_data()
        try:
            points = self._flash.adopt(aside, name)
        except (OSError, CoreError) as error:
            self._do(self._node.data_failed(f"the data can't be stored: {error}", self._now()))
            points = self._flash.points()
        else:
            if points is not None and name == READINGS_FILE:
                self._feed(self._node.readings_held, points.dataset, self._readings)
                points = self._flash.points()
        self._loaded(points)

    def _readings(self) -> Points | None:
        return self._flash.points(READINGS_FILE)

    def _make(self, grid: SurveyGrid, readings: Points | None) -> None:
        """Make the points of a survey; where that fails, the old ones stay."""
        try:
            points = self._flash.make(grid, readings)
        except (OSError, CoreError) as error:
            self._do(self._node.data_failed(f"the points can't be made: {error}", self._now()))
            return
        points.kernel = accumulate
        self._feed(self._node.points_made, points, grid.told())

    def _loaded(self, points: Points | None) -> None:
        if points is not None:
            points.kernel = accumulate
            self._feed(self._node.data_loaded, points)

    def _guarded(self, work: Callable[..., None], *arguments: Any) -> None:
        """Let a fault end this node, with its traceback, and not the loop that other nodes live by."""
        try:
            work(*arguments)
        except Exception as error:
            node = self._settings["node"]
            lines = "".join(traceback.format_exception(error)).splitlines()
            self.failure = NodeFailure(
                node, 1, f"node {node} crashed: {lines[-1]}{last_place(lines)}", tuple(lines)
            )
            self.end()


def _bytes(payload: bytes | bytearray | str) -> bytes:
    return payload.encode() if isinstance(payload, str) else bytes(payload)


def _memory(content: bytes | None) -> dict[str, Any] | None:
    """What RUN_FILE held; with a foreign one the node is new to every run."""
    try:
        memory = json.loads(content or b"")
    except ValueError:
        return None
    return memory if isinstance(memory, dict) else None
