"""Networks for the tests of a survey: readings, run records, and what has to come out of them."""

from bus import Bus, make_readings
from scenes import DATASET, Scene

from dcka_core.record import read_run
from dcka_core.starts import Stream
from dcka_core.survey_grid import grid_of
from dcka_core.survey_state import ends

LOWEST = -(1 << 31)


def spread(seed, count, n=2):
    """`count` readings as a flat list: dimensions of unlike size, some far out, many equal."""
    stream = Stream(seed, b"readings")
    values = []
    for number in range(count):
        for j in range(n):
            value = stream.below(100 * 30**j) - 50
            values.append(value * 10000 if number % 17 == 16 else value)
    return values


def record(n, points, members=(1,), **changes):
    """The run record of a survey."""
    made = {
        "v": 1,
        "run": 1,
        "kind": "survey",
        "members": list(members),
        "root": members[0],
        "depth": 0,
        "dataset": DATASET.hex(),
        "points": points,
        "n": n,
        "bits": 11,
        "patience_ms": 100,
        "bins": 16,
        "tail_ppm": 0,
        "scale": "minmax",
    }
    made.update(changes)
    return made


class SurveyScene(Scene):
    """Nodes with readings alone, flat lists by id, on a bus, and the surveys over them; no `bus` of another's."""

    def __init__(self, data, parents, n=2, near=None, **settings):
        bus = Bus()
        for node in data:
            bus.readings[node] = (DATASET, self.opener(n, data[node]))
        plain = record(n, sum([len(data[node]) for node in data]) // n)
        for key in ("kind", "bits", "bins", "tail_ppm", "scale"):
            settings.setdefault(key, plain[key])
        super().__init__(data, parents, bus, n, near=near, **settings)

    def opener(self, n, values):
        return lambda: make_readings(n, DATASET, values)

    def points(self, node):
        return None

    def grid(self, node):
        """The grid that a node's commit leads to."""
        return grid_of(read_run(self.record()), self.held(node).centres)

    def found(self, node):
        """(low, high) of each dimension, from a node's commit."""
        both = ends(self.held(node).centres, self.n)
        return [(both[j], both[self.n + j]) for j in range(self.n)]

    def expected(self, without=()):
        """The same from the readings, sorted; those of the nodes `without` left out."""
        pairs = []
        for j in range(self.n):
            column = sorted(
                [x for node in self.data if node not in without for x in self.data[node][j :: self.n]]
            )
            tail = self.settings["tail_ppm"] * len(column) // 1000000
            pairs.append((column[tail], column[-1 - tail]) if column else (LOWEST, LOWEST))
        return pairs

    def levels(self, node):
        """The points that a node holds, as a flat list."""
        points = self.bus.nodes[node].points
        return [block[place] for block, count in points.blocks for place in range(count * points.n)]
