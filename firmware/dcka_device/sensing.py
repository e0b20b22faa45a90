"""A node that senses: its sensors are asked in the turns of the node's loop. Loaded where node.json's `parts` has it.

It stands around whatever watches over the loop (`guard`), so that the loop has no code for it.
"""

import sys
import time

from dcka_core.sampling import LOOK_MS, Sampler
from dcka_core.segments import Segments
from dcka_device.segment_files import SegmentFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core.node import Node
    from dcka_device.guard import Guard
    from dcka_device.store import Store

# 2020-01-01 00:00 UTC, counted from where a clock begins: boards in 2000, desktops in 1970.
_BEGIN_S = {1970: 1577836800, 2000: 631152000}
# A clock that says less was never set: this firmware is younger.
_SET_S = 6 * 365 * 86400


class Sensing:
    """What is called in every turn of the loop, and says how long the loop may wait: see `dcka_device.guard.Guard`."""

    def __init__(self, settings: "dict[str, Any]", guard: "Guard | None") -> None:
        self._guard = guard
        self._settings = settings["sensors"]
        self._clock: Any = None
        self.sampler: Any = None
        self._begin_s = _BEGIN_S[time.gmtime(0)[0]]

    def parts(
        self,
        settings: "dict[str, Any]",
        boot: int,
        node: "Node",
        store: "Store",
        clock: "Callable[[], int]",
        jitter: "Callable[[int], int]",
    ) -> "tuple[Any, Any]":
        """Begin to sense; console and radio are the guard's."""
        # Not above: a wake for a reading loads this file too, and nothing of what the network needs (waking.py).
        from dcka_core.windows import Windows

        told = self._settings
        segments = open_segments(told)
        sensors = [open_sensor(one) for one in told["drivers"]]
        self.sampler = Sampler(sensors, segments, told["every_s"], told["sync_every"])
        self._clock = clock
        node.also["sensing"] = self.sampler.report
        node.others["window"] = Windows(segments, store.load)
        if self._guard:
            self._guard.at_end.append(self.sampler.sync)
        return self._guard.parts(settings, boot, node, store, clock, jitter) if self._guard else (None, None)

    def alive(self, online: bool) -> int:
        """The program turns: what is due is sampled. The ms after which this has to be called again."""
        rest = self._guard.alive(online) if self._guard else LOOK_MS
        if self.sampler is None:
            return rest
        due: int = self.sampler.tick(self._clock(), self.time_s())
        return min(rest, due)

    @property
    def on_trial(self) -> bool:
        """The guard's: whether this is a new version that has not joined yet."""
        return bool(self._guard and self._guard.on_trial)

    def time_s(self) -> "int | None":
        """Seconds since 2020; None where the clock was never set."""
        second: int = int(time.time()) - self._begin_s
        return second if second >= _SET_S else None


def open_segments(settings: "dict[str, Any]") -> Segments:
    """The segments on this node's flash."""
    return Segments(
        SegmentFiles(settings["reserve"]),
        settings["columns"],
        settings["segment"],
        settings["most"],
        settings["keep_s"],
    )


def open_sensor(settings: "dict[str, Any]") -> "Any":
    """The sensor that the settings name, of its own file: only what a node has is loaded."""
    name = "dcka_device.sensors." + settings["driver"]
    __import__(name)
    return sys.modules[name].Sensor(settings)


def main(settings: "dict[str, Any]", guard: "Guard | None") -> Sensing:
    """What takes the guard's place."""
    return Sensing(settings, guard)
