"""When a node's sensors are asked, what becomes of their answers, and what is said of it.

Only a node that senses loads this. A sensor is an object with `name` (its first column), `count` (of its columns),
`start()`, which begins a measurement and says after how many ms it can be read, and `read(values, first)`, which puts
its whole numbers into `values` from place `first` on. Both raise SensorError or OSError where there is no measurement.
See docs/sensors.md.
"""

from array import array

from dcka_core import ticks
from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from dcka_core.segments import Segments

    class Sensor(Protocol):
        """One device, which gives one or more columns."""

        name: str
        count: int

        def start(self) -> int:
            """Begin to measure; after how many ms it can be read."""

        def read(self, values: "array[int]", first: int) -> None:
            """Put `count` whole numbers into `values`, from place `first` on."""


# The longest time between two calls: the node's clock may be set meanwhile.
LOOK_MS = 1000
# The node's clock and its ticks are not the same: the second may begin a little later than was thought.
_AGAIN_MS = 10


class SensorError(CoreError):
    """There is no measurement; the text says why."""


class Sampler:
    """Samples at each whole multiple of `every_s` seconds, and syncs after so many readings.

    A reading has all its columns: where one sensor fails there is none at that time, and `failed` counts that sensor.
    report: what the node's status says of it (protocol, section 7), brought up to date in place.
    """

    def __init__(
        self, sensors: "Sequence[Sensor]", segments: "Segments", every_s: int, sync_every: int
    ) -> None:
        self._sensors = sensors
        self.segments = segments
        self._every_s = every_s
        self._sync_every = sync_every
        self._values = array("i", bytes(4 * segments.n))
        # When the next sample is due, in seconds; None before the node knows the time.
        self._next_s: int | None = None
        # While a measurement is under way: when it began, and when it can be read.
        self._began_s = 0
        # The tick that is taken for the begin of that second: the next samples keep to it.
        self._beat: int | None = None
        self._ready: int | None = None
        self._failed: dict[str, int] = {}
        self._erased = -1
        self.report: dict[str, Any] = {"missed": 0, "failed": self._failed}
        self._guarded(self._look)

    def tick(self, now: int, time_s: "int | None") -> int:
        """Do what is due. The ms after which it has to be called again, LOOK_MS at most.

        now: in ticks. time_s: seconds since 2020, None where the node does not know them: then nothing is sampled.
        """
        if self._ready is not None:
            left = ticks.diff(self._ready, now)
            if left > 0:
                return min(left, LOOK_MS)
            self._ready = None
            self._read()
        if time_s is None:
            self._next_s = None
            return LOOK_MS
        every = self._every_s
        if self._next_s is None or self._next_s - time_s > every:
            # The first, or the clock was set back.
            self._next_s = (time_s // every + 1) * every
        if time_s >= self._next_s:
            self.report["missed"] += (time_s - self._next_s) // every
            self._next_s = (time_s // every + 1) * every
            self._start(now, time_s)
            if self._ready is not None:
                return max(0, min(ticks.diff(self._ready, now), LOOK_MS))
        return self._rest(now, self._next_s)

    def sync(self) -> None:
        """What waits goes to flash now: before a sleep, or a window."""
        self._guarded(self._sync)

    def _rest(self, now: int, next_s: int) -> int:
        """The ms until that second begins, LOOK_MS at most; a few where it should have begun already."""
        ahead = next_s - self._began_s
        if self._beat is None or not 0 <= ahead <= self._every_s:
            return LOOK_MS
        return max(_AGAIN_MS, min(ticks.diff(ticks.add(self._beat, ahead * 1000), now), LOOK_MS))

    def _keep_time(self, now: int, time_s: int) -> None:
        """A sample begins. Each at the same part of its second: with what a turn is late added up, one would slip into
        the second after."""
        passed = time_s - self._began_s
        beat = now
        if self._beat is not None and 0 < passed <= self._every_s:
            beat = ticks.add(self._beat, passed * 1000)
        self._beat = beat if 0 <= ticks.diff(now, beat) < 1000 else now
        self._began_s = time_s

    def _start(self, now: int, time_s: int) -> None:
        self._keep_time(now, time_s)
        wait = 0
        for sensor in self._sensors:
            try:
                wait = max(wait, sensor.start())
            except (SensorError, OSError) as error:
                self._fail(sensor, error)
                return
        if wait:
            self._ready = ticks.add(now, wait)
        else:
            self._read()

    def _read(self) -> None:
        first = 0
        for sensor in self._sensors:
            try:
                sensor.read(self._values, first)
            except (SensorError, OSError) as error:
                self._fail(sensor, error)
                return
            first += sensor.count
        self.report.pop("fault", None)
        self._guarded(self._keep)

    def _fail(self, sensor: "Sensor", error: Exception) -> None:
        self._failed[sensor.name] = self._failed.get(sensor.name, 0) + 1
        self.report["fault"] = "%s: %s" % (sensor.name, error)

    def _keep(self) -> None:
        segments = self.segments
        segments.append(self._began_s, self._values)
        if segments.pending >= self._sync_every:
            self._sync()
        self.report["newest"] = segments.newest
        self.report["waiting"] = segments.pending

    def _sync(self) -> None:
        self.segments.sync()
        self._look()

    def _look(self) -> None:
        """What is on flash."""
        segments = self.segments
        segments.recover()
        report = self.report
        if segments.erased != self._erased or report.get("oldest") is None:
            self._erased = segments.erased
            report["oldest"] = segments.oldest
        report["readings"] = segments.stored
        report["newest"] = segments.newest
        report["waiting"] = segments.pending
        report["syncs"] = segments.syncs
        report["erased"] = segments.erased
        report.pop("flash", None)

    def _guarded(self, work: "Any") -> None:
        """Let a flash that refuses cost readings, not the node."""
        try:
            work()
        except OSError as error:
            self.report["flash"] = str(error)
            self._failed["flash"] = self._failed.get("flash", 0) + 1
