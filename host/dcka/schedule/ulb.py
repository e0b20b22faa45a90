"""The radio of 20 motes in a library, measured over five hours (Université libre de Bruxelles), where a person has it.

The file says who heard whom in each of the motes' reports: `ts_ms seq packet node heard_node f g`. `f` is the CC2420's
RSSI register, 45 above the strength in dBm: −96 to −32 dBm here, the receiver's sensitivity being −95. `g` is the
byte that the chip appends beside it, a correlation of 50 to 110 with the CRC bit of 128 on top. It comes without a
licence, so the program neither holds it nor needs it.
"""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from dcka.schedule.errors import ScheduleError
from dcka.schedule.radio import Radio, heard_both_ways

FILE = "ulb_library2_neighbours.txt.gz"
FOLDERS = (Path("data"), Path("../shared/data"))
"""Where it is looked for without a folder of one's own."""
RSSI_OFFSET_DBM = 45
MIN_RSSI_DBM = -64.0
"""Over five hours every mote heard every other: at this strength about half of the pairs are links, in one part."""


def find(folder: Path | None = None) -> Path:
    """The file in `folder`, or in the first of `FOLDERS` that has it. Raises ScheduleError where there is none."""
    for place in FOLDERS if folder is None else (folder,):
        if (place / FILE).is_file():
            return place / FILE
    where = str(folder) if folder is not None else " and ".join(str(place) for place in FOLDERS)
    raise ScheduleError(
        f"{FILE} is not in {where}; the measured radio does not come with dcka: put the file there or name "
        f"its folder with --ulb FOLDER, or take another graph with --topology random"
    )


def reports(path: Path) -> Iterator[tuple[int, int, int, float]]:
    """Each report as (milliseconds since 1970, who hears, whom, dBm). Raises ScheduleError for another file."""
    read = 0
    try:
        with gzip.open(path, "rt", encoding="ascii") as stream:
            for line in stream:
                ts, _, _, node, heard, register, _ = map(int, line.split())
                yield ts, node, heard, float(register - RSSI_OFFSET_DBM)
                read += 1
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ScheduleError(f"{path}, after line {read}: not the file it should be ({error})") from error


def radio(folder: Path | None = None, min_rssi: float | None = None) -> Radio:
    """The links over the whole recording, at medians of `min_rssi` (`MIN_RSSI_DBM` where None) and more."""
    heard: dict[tuple[int, int], list[float]] = {}
    for _, node, other, strength in reports(find(folder)):
        heard.setdefault((node, other), []).append(strength)
    ids = {node for pair in heard for node in pair}
    return heard_both_ways(heard, ids, MIN_RSSI_DBM if min_rssi is None else min_rssi, "the ULB library")
