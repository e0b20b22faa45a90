"""Real motes as feeds: the library's readings and radio, where a person has the files; Suthaharan's, which dcka has."""

import csv
import gzip
import math
import zlib
from pathlib import Path

from dcka.datasets.real_motes import suthaharan as load_suthaharan
from dcka.schedule.errors import ScheduleError
from dcka.schedule.radio import heard_both_ways
from dcka.schedule.ulb import MIN_RSSI_DBM, find, reports
from dcka.topology import Graph
from dcka.week.feed import HOUR_S, Feed, Recording, generated, ranges
from dcka.week.settings import WeekError, WeekSettings

Pair = tuple[int, int]
READINGS = "ulb_library2_readings.csv.gz"
_COLUMNS = ("hum", "temp")
_DECIMALS = 2
_MINUTE_MS = 60_000
GENERATED_NODES = 20
# Suthaharan's motes read every 5 s.
_PERIOD_S = 5.0


def feed_for(settings: WeekSettings) -> Feed:
    """The feed that the settings ask for; of "auto" the first of library, Suthaharan that is there.

    Raises WeekError.
    """
    if settings.nodes is not None or settings.source == "generated":
        return generated(settings.nodes or GENERATED_NODES, settings.seed)
    if settings.source == "suthaharan":
        return suthaharan()
    try:
        return ulb(settings.folder)
    except ScheduleError as error:
        if settings.source == "ulb" or settings.folder is not None:
            raise WeekError(str(error)) from error
    return suthaharan()


def suthaharan() -> Feed:
    """Four motes, humidity and temperature, six hours; they hear each other, and nothing is known of losses."""
    data = load_suthaharan()
    recordings = {}
    for node, values in data.values.items():
        fixed = [tuple(round(value * 10**_DECIMALS) for value in row) for row in values.tolist()]
        recordings[node] = Recording([place * _PERIOD_S for place in range(len(fixed))], fixed)
    span = max(one.times[-1] for one in recordings.values()) + _PERIOD_S
    ids = tuple(recordings)
    links = Graph.build(ids, [[(a, b) for a in ids for b in ids if a < b]])
    return Feed("suthaharan", data.columns, _DECIMALS, *ranges(recordings), links, recordings, span)


def ulb(folder: Path | None) -> Feed:
    """Twenty motes in a library, humidity and temperature every minute, and how well they heard each other.

    The loss of a link in an hour is the share of that hour's minutes in which it was not heard. Raises ScheduleError
    where the files are not there, WeekError where they are others.
    """
    path = find(folder)
    if not (path.parent / READINGS).is_file():
        raise ScheduleError(f"{READINGS} is not in {path.parent}, where the motes' radio is; put it there")
    strengths, heard = _heard(path)
    ids = {node for pair in strengths for node in pair}
    links = heard_both_ways(strengths, ids, MIN_RSSI_DBM, "the ULB library").graph()
    hours = len(next(iter(heard.values())))

    def loss(sender: int, hearer: int, now_s: float) -> float:
        shares = heard.get((hearer, sender))
        return 1.0 if shares is None else 1.0 - shares[int(now_s / HOUR_S) % hours]

    recordings = _recordings(path.parent / READINGS, links.ids)
    return Feed("ulb", _COLUMNS, _DECIMALS, *ranges(recordings), links, recordings, hours * HOUR_S, loss)


def _heard(path: Path) -> tuple[dict[Pair, list[float]], dict[Pair, list[float]]]:
    """By (who hears, whom): the strengths in dBm; and for each whole hour of the recording, the share of its minutes in
    which it did.
    """
    strengths: dict[Pair, list[float]] = {}
    minutes: dict[Pair, set[int]] = {}
    first = last = None
    for ts, node, other, strength in reports(path):
        first = ts if first is None else first
        last = (ts - first) // _MINUTE_MS
        minutes.setdefault((node, other), set()).add(last)
        strengths.setdefault((node, other), []).append(strength)
    hours = (last or 0) // 60
    if not hours:
        raise WeekError(f"{path}: less than an hour, and a week replays whole hours")
    return strengths, {
        pair: [sum(1 for minute in own if minute // 60 == hour) / 60 for hour in range(hours)]
        for pair, own in minutes.items()
    }


def _recordings(path: Path, ids: tuple[int, ...]) -> dict[int, Recording]:
    rows: dict[int, list[tuple[float, tuple[int, ...]]]] = {node: [] for node in ids}
    try:
        with gzip.open(path, "rt", encoding="ascii", newline="") as stream:
            for row in csv.DictReader(stream):
                reading = [float(row[column]) for column in _COLUMNS]
                if all(map(math.isfinite, reading)) and int(row["node"]) in rows:
                    fixed = tuple(round(value * 10**_DECIMALS) for value in reading)
                    rows[int(row["node"])].append((float(row["ts_ms"]) / 1000, fixed))
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise WeekError(f"{path}: not the file it should be ({error!r})") from error
    if not all(rows.values()):
        raise WeekError(f"{path}: a mote that the radio has is not in it")
    made = {}
    for node, own in rows.items():
        own.sort()
        begun = own[0][0]
        made[node] = Recording([ts - begun for ts, _ in own], [values for _, values in own])
    return made
