"""20 real motes: their readings, and their radio replayed minute by minute (`dcka.schedule.ulb` says what the file is).

A slot is a minute of the recording, which begins anew at its end. The paper's graph of a slot has the pairs that heard
each other in that minute. Our tree takes the links of the whole recording (`dcka.schedule.ulb.radio`); what a node
sends reaches a neighbour where that one heard it in that minute, and is lost otherwise.
"""

import csv
import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from dcka.bench.charge import SLOT_MS
from dcka.bench.errors import Absent
from dcka.bench.pinned import Instance
from dcka.emulation.in_memory import Lost
from dcka.inject.dataset import Dataset, from_values
from dcka.schedule.errors import ScheduleError
from dcka.schedule.ulb import find, radio, reports
from dcka.topology import Graph

READINGS = "ulb_library2_readings.csv.gz"
COLUMNS = ("hum", "temp")
CLUSTERS = 4
SEED = 1
MINUTE_MS = 60_000

Minutes = list[set[tuple[int, int]]]
"""For each minute the pairs (who hears, whom)."""


def load(folder: Path | None = None) -> tuple[Instance, Lost]:
    """The instance, and the radio as the real nodes meet it.

    Raises Absent where the files are not in `folder`, or not in the places where they are looked for.
    """
    try:
        path = find(folder)
    except ScheduleError as error:
        raise Absent(str(error)) from error
    if not (path.parent / READINGS).is_file():
        raise Absent(f"{READINGS} is not in {path.parent}, where the motes' radio is; put it there")
    links = radio(path.parent).graph()
    minutes = _minutes(path)
    ids = links.ids
    phases = [sorted((a, b) for a, b in heard if a < b and (b, a) in heard) for heard in minutes]
    graph = Graph.build(ids, phases)
    instance = Instance("ulb", graph, links, _dataset(path.parent / READINGS, ids), CLUSTERS, SEED, True)
    return instance, _lost(minutes)


def _minutes(path: Path) -> Minutes:
    first: int | None = None
    found: Minutes = []
    for ts, node, heard, _ in reports(path):
        first = ts if first is None else first
        minute = (ts - first) // MINUTE_MS
        while len(found) <= minute:
            found.append(set())
        found[minute].add((node, heard))
    return found


def _lost(minutes: Minutes) -> Lost:
    def lost(sender: int, topic: str, hearer: int, now_ms: int) -> bool:
        if topic.partition("/")[0] not in ("x", "commit", "epoch"):
            return False
        return (hearer, sender) not in minutes[int(now_ms // SLOT_MS) % len(minutes)]

    return lost


def _dataset(path: Path, ids: tuple[int, ...]) -> Dataset:
    """Humidity and temperature of the motes, each mote's at its node. Raises Absent for a file that is another."""
    values: dict[int, list[tuple[float, ...]]] = {node: [] for node in ids}
    try:
        with gzip.open(path, "rt", encoding="ascii", newline="") as stream:
            for row in csv.DictReader(stream):
                reading = tuple(float(row[column]) for column in COLUMNS)
                if all(map(math.isfinite, reading)):
                    values[int(row["node"])].append(reading)
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise Absent(f"{path}: not the file it should be ({error!r})") from error
    return from_values("ulb", COLUMNS, {node: np.array(own) for node, own in values.items()})
