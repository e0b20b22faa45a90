"""A window: a node makes its points of those of its own readings that the host asks for."""

from array import array
from json import dumps, loads

from bus import Bus
from plain_kmeans import tuples
from support import raises

from dcka_core.errors import CoreError
from dcka_core.survey_grid import SurveyGrid
from dcka_core.window import WindowReadings, Windows, readings_id


class Taken:
    """Readings in memory, as `Segments` gives them: (time, values ...) each."""

    def __init__(self, rows, n=2):
        self.rows = rows
        self.n = n
        self.passes = 0

    def readings(self, since, until):
        self.passes += 1
        row = array("i", bytes(4 * (self.n + 1)))
        for one in self.rows:
            if since <= one[0] < until:
                for index in range(self.n + 1):
                    row[index] = one[index]
                yield row


ROWS = [(60 * minute, 100 * minute - 500, 7 * minute % 90) for minute in range(1000)]


def record(**changes):
    made = {"v": 1, "window": 3, "since": 6000, "until": 12000, "n": 2, "bits": 15}
    made.update({"low": [0, 0], "width": [20000, 20000], "range": [20000, 100]})
    made.update(changes)
    return dumps(made).encode()


def level(value, low, width):
    return max(0, min(32767, (2 * (value - low) * 32767 + width) // (2 * width)))


def wanted(rows, since, until):
    inside = [row for row in rows if since <= row[0] < until]
    return [(level(row[1], 0, 20000), level(row[2], 0, 20000)) for row in inside]


class Host:
    """A node on a bus that senses, as its shell drives it."""

    def __init__(self, rows, n=2):
        self.bus = Bus()
        self.taken = Taken(rows, n)
        self.windows = Windows(self.taken)
        self.bus.add(1, None)
        self.bus.settle()

    def hear(self, payload):
        self.windows.take(payload)
        self.turn()

    def turn(self):
        node = self.bus.nodes[1]
        self.bus.perform(1, self.windows.due(node, self.bus.time(1)))
        self.bus.settle()

    @property
    def points(self):
        found = []
        for block, count in self.bus.points[1].blocks:
            found += tuples(list(block[: 2 * count]), 2)
        return found


def test_the_points_are_those_of_the_window():
    host = Host(ROWS)
    host.hear(record())
    assert host.points == wanted(ROWS, 6000, 12000) and len(host.points) == 100
    node = host.bus.nodes[1]
    grid = SurveyGrid(15, [0, 0], [20000, 20000], [20000, 100])
    assert node.points.dataset == host.windows.dataset == grid.dataset(readings_id(3, 6000, 12000))
    # Twice through: the head of the file says how many there are.
    assert host.taken.passes == 2


def test_more_than_a_piece_and_more_than_a_block():
    rows = [(at, at % 20000, at % 97) for at in range(2500)]
    host = Host(rows)
    host.hear(record(since=0, until=2500))
    assert host.points == wanted(rows, 0, 2500)
    assert len(host.bus.points[1].blocks) > 1


def test_what_is_outside_the_range_is_clipped_and_counted():
    host = Host([(1, -5, 3), (2, 20001, 4), (3, 5, 5)])
    host.hear(record(since=1, until=4))
    assert host.points[0][0] == 0 and host.points[1][0] == 32767
    status = loads(host.bus.retained["dcka/t/status/1"])
    assert status["clipped"] == [2, 0] and status["rows"] == 3


def test_a_window_without_readings_has_no_points():
    host = Host(ROWS)
    host.hear(record(since=100, until=101))
    assert host.points == [] and host.bus.nodes[1].points.count == 0


def test_an_older_window_and_one_that_is_made_say_nothing():
    host = Host(ROWS)
    host.hear(record())
    passes = host.taken.passes
    host.hear(record(window=2, since=0))
    host.hear(record())
    assert host.taken.passes == passes
    # After a restart the retained record comes again.
    again = Windows(host.taken)
    again.take(record())
    assert again.due(host.bus.nodes[1], 0) == [] and host.taken.passes == passes
    host.hear(record(window=4, until=9000))
    assert len(host.points) == 50


def test_a_run_that_goes_on_keeps_its_points():
    class Busy:
        done = False

    host = Host(ROWS)
    host.hear(record())
    node = host.bus.nodes[1]
    node.session = Busy()
    host.windows.take(record(window=4, until=9000))
    assert host.windows.due(node, 0) == []
    node.session = None
    host.turn()
    assert len(host.points) == 50


def test_readings_that_go_meanwhile_leave_the_old_points():
    taken = Taken(ROWS)
    readings = WindowReadings(taken, 1, 0, 600)
    readings.count_them()
    assert readings.count == 10
    taken.rows = ROWS[3:]
    assert "went" in str(raises(CoreError, list, readings.blocks))
    # What comes meanwhile is of the next window.
    readings.count_them()
    taken.rows = ROWS[3:10] + [(5, 0, 0)]
    assert sum([count for _, count in readings.blocks]) == 7


def test_segments_that_cannot_be_read_are_a_problem_of_the_node():
    class Worn(Taken):
        def readings(self, since, until):
            raise OSError(5)

    host = Host(ROWS)
    host.windows = Windows(Worn([]))
    host.hear(record())
    assert "can't be read" in host.bus.nodes[1].problem


def test_records_that_are_refused():
    windows = Windows(Taken(ROWS))
    for payload, words in (
        (b"{", "no JSON"),
        (b"[]", "no record"),
        (record(v=2), "no record"),
        (record(window=0), "window is 0"),
        (record(since=12000), "since is 12000"),
        (record(since=-1), "since is -1"),
        (record(n=3), "of 3 columns"),
        (record(bits=16), "bits is 16"),
        (record(low=[0]), "low: 2 numbers"),
        (record(low=[0, 1 << 31]), "low holds"),
        (record(width=[0, 1]), "width holds 0"),
        (record(range=[1, -1]), "range holds -1"),
    ):
        assert words in str(raises(CoreError, windows.take, payload)), words
        assert windows.dataset == b""
