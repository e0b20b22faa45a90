"""Readings and radio of a week: replayed from real motes, from the beginning again when they end, or generated."""

import bisect
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dcka.emulation.virtual.air import Loss, no_loss
from dcka.topology import Graph

Reading = tuple[int, ...]
HOUR_S = 3600.0


@dataclass(frozen=True)
class Recording:
    """One mote's readings over time: `times` in s from the recording's start, ascending."""

    times: Sequence[float]
    values: Sequence[Reading]

    def at(self, now_s: float, span_s: float) -> Reading:
        """The last one before `now_s`, the recording being played again and again."""
        place = bisect.bisect_right(self.times, now_s % span_s) - 1
        return self.values[place]


@dataclass(frozen=True)
class Feed:
    """`columns`: names; `decimals`: of all of them. `low`, `high`: the range of the grid, in readings.

    `links`: who is within radio reach of whom. `loss`: of each link over time. `span_s`: of the recordings.
    """

    name: str
    columns: tuple[str, ...]
    decimals: int
    low: Reading
    high: Reading
    links: Graph
    recordings: Mapping[int, Recording]
    span_s: float
    loss: Loss = field(default=no_loss)

    @property
    def ids(self) -> tuple[int, ...]:
        return self.links.ids

    @property
    def text(self) -> str:
        """The columns as a node's store has them."""
        return " ".join(f"{name}/{self.decimals}" for name in self.columns)

    def reading(self, node: int, now_s: float) -> Reading:
        """What the sensors of a node say."""
        return self.recordings[node].at(now_s, self.span_s)


def ranges(recordings: Mapping[int, Recording]) -> tuple[Reading, Reading]:
    """The least and the greatest reading of each column."""
    columns = list(zip(*(values for one in recordings.values() for values in one.values), strict=True))
    return tuple(min(column) for column in columns), tuple(max(column) for column in columns)


def generated(nodes: int, seed: int) -> Feed:
    """A network of our own: temperature and humidity of rooms that warm and cool by the day, each a little its own.

    Nodes lie at random in a square, and hear each other up to a radius at which they are all connected; the farther,
    the more is lost, and more by day than by night.
    """
    chance = random.Random(f"{seed} generated network")
    ids = tuple(range(1, nodes + 1))
    places = {node: (chance.random(), chance.random()) for node in ids}
    radius = 1.2 * math.sqrt(math.log(nodes + 1) / (math.pi * nodes)) + 0.1
    links = _within(places, radius)
    while len(links.parts()) > 1:
        radius *= 1.1
        links = _within(places, radius)
    recordings = {node: _generated_days(chance) for node in ids}
    low, high = ranges(recordings)

    def loss(sender: int, hearer: int, now_s: float) -> float:
        share = math.dist(places[sender], places[hearer]) / radius
        busy = 0.5 + 0.5 * math.sin(2 * math.pi * (now_s / 86_400 - 0.25))
        return 0.02 + 0.18 * share**3 * (0.4 + 0.6 * busy)

    return Feed("generated", ("temperature", "humidity"), 2, low, high, links, recordings, 86_400.0, loss)


def _within(places: Mapping[int, tuple[float, float]], radius: float) -> Graph:
    ids = tuple(places)
    links = [(a, b) for a in ids for b in ids if a < b and math.dist(places[a], places[b]) <= radius]
    return Graph.build(ids, [links])


def _generated_days(chance: random.Random) -> Recording:
    """A day, every five minutes: a base, the sun, a heating that is on or off, and noise."""
    base, sun, phase = chance.uniform(17, 23), chance.uniform(1, 6), chance.uniform(-0.08, 0.08)
    damp = chance.uniform(38, 58)
    times, values = [], []
    for step in range(288):
        day = step / 288
        warm = sun * max(0.0, math.sin(2 * math.pi * (day - 0.25 + phase)))
        heated = 2.5 if 0.27 < day < 0.36 or 0.7 < day < 0.9 else 0.0
        temperature = base + warm + heated + chance.gauss(0, 0.15)
        humidity = damp - 1.8 * (warm + heated) + chance.gauss(0, 0.5)
        times.append(step * 300.0)
        values.append((round(temperature * 100), round(humidity * 100)))
    return Recording(times, values)
