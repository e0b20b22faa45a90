"""Out of deep sleep: what this wake is for. A reading is taken without the rest of the program, which is not loaded.

Only nodes that sleep deeply have it, with copies of what it needs, in the folder `wake` (firmware/manifest.py): the
program is one file with all that is always needed, and here the network is not.
"""

from dcka_core.errors import CoreError
from dcka_core.rota import SAMPLE, SPEAK, SYNC
from dcka_device.night import Night, rest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(folder: str) -> None:
    """Do what needs no radio, and sleep on. Returns where the program has to run."""
    from dcka_device import config

    settings = config.read(folder)
    night = Night(settings)
    if not night.woke:
        return
    # It counts as bad until it has come to its end, whatever ends it.
    bad = night.bad
    night.bad += 1
    night.keep()
    opened: Any = None
    while True:
        what, at, _ = night.rota.next(night.now_s(), night.clock, night.battery)
        if at > night.now_s():
            night.bad = 0 if opened else bad
            night.wait_until(at)
        elif what & SAMPLE and night.rota.due(night.now_s()):
            if opened is None:
                opened = _opened(settings["sensors"], night)
            _sample(night, opened[0], opened[1], what)
        elif what & SPEAK:
            break
    # The program has a count of its own for starts that come to nothing.
    night.bad = 0 if opened else bad
    night.keep()


def _opened(settings: "dict[str, Any]", night: Night) -> "Any":
    from dcka_device import sensing

    segments = sensing.open_segments(settings)
    segments.restore(night.frame)
    return segments, [sensing.open_sensor(one) for one in settings["drivers"]]


def _sample(night: Night, segments: "Any", sensors: "list[Any]", what: int) -> None:
    """One reading, of all sensors or none: one that fails is counted as skipped."""
    from array import array

    due = night.rota.took_reading(night.now_s())
    values = array("i", bytes(4 * segments.n))
    first = 0
    try:
        rest(max([sensor.start() for sensor in sensors]))
        for sensor in sensors:
            sensor.read(values, first)
            first += sensor.count
        segments.append(due, values)
        if what & SYNC:
            segments.sync()
    except (CoreError, OSError):
        night.rota.skipped += 1
    night.keep_readings(segments)
