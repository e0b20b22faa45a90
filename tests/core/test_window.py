"""A window: a node makes its points of those of its own readings that the host asks for."""

from array import array
from json import dumps, loads

from bus import Bus
from plain_kmeans import tuples
from scenes import Scene
from support import raises

from dcka_core.errors import CoreError
from dcka_core.parts import part
from dcka_core.survey_grid import SurveyGrid
from dcka_core.window import Window, WindowReadings, readings_id
from dcka_core.windows import Windows


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


class Sensing(Bus):
    """A bus whose nodes sense."""

    def __init__(self, taken):
        super().__init__()
        self.taken = taken

    def born(self, machine):
        machine.others["window"] = Windows(self.taken, part)


class Host:
    """A node on a bus that senses, and what a host says to it."""

    def __init__(self, rows, n=2):
        self.taken = rows if isinstance(rows, Taken) else Taken(rows, n)
        self.bus = Sensing(self.taken)
        self.bus.add(1, None)
        self.bus.settle()

    def hear(self, payload):
        self.bus.publish("dcka/t/window", payload, True)
        self.bus.settle()

    @property
    def status(self):
        return loads(self.bus.retained["dcka/t/status/1"])

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
    assert node.points.dataset == grid.dataset(readings_id(3, 6000, 12000))
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
    assert host.status["clipped"] == [2, 0] and host.status["rows"] == 3


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
    host.hear(record(window=4, until=9000))
    assert len(host.points) == 50


def test_a_node_that_was_away_finds_the_window_and_after_a_restart_knows_that_it_has_its_points():
    host = Host(ROWS)
    host.bus.unplug(1)
    host.hear(record())
    assert host.bus.points[1] is None
    host.bus.plug_in(1)
    host.bus.settle()
    assert len(host.points) == 100
    passes = host.taken.passes
    host.bus.kill(1)
    host.bus.boot(1)
    host.bus.settle()
    assert host.taken.passes == passes and host.status["rows"] == 100 and host.status["clipped"] == [0, 0]


def test_a_run_that_goes_on_keeps_its_points():
    data = {1: ROWS, 2: ROWS[50:]}
    bus = Sensing(None)
    for node in data:
        bus.taken = Taken(data[node])
        bus.add(node, None)
    bus.settle()
    bus.publish("dcka/t/window", record(), True)
    bus.settle()
    assert [bus.nodes[node].points.count for node in (1, 2)] == [100, 100]
    dataset = bus.nodes[1].points.dataset
    scene = Scene({}, {1: 0, 2: 1}, bus, dataset=dataset.hex())
    scene.data = {node: [0] * 200 for node in data}
    scene.start()
    while not bus.nodes[1].session:
        bus.step()
    bus.publish("dcka/t/window", record(window=4, until=9000), True)
    while bus.queue[0][0] != "dcka/t/window":
        bus.step()
    bus.step()
    bus.step()
    assert bus.nodes[1].points.dataset == bus.nodes[2].points.dataset == dataset
    assert bus.run(bus.all_done)
    bus.settle()
    assert scene.held(1).counts and sum(scene.held(1).counts) == 200
    assert [bus.nodes[node].points.count for node in (1, 2)] == [50, 50]


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

    host = Host(Worn([]))
    host.hear(record())
    assert "the window can't be made: " in host.status["problem"]


def test_a_window_of_other_columns_is_told_of():
    host = Host(ROWS)
    host.hear(record(n=3, low=[0] * 3, width=[1] * 3, range=[1] * 3))
    assert host.status["problem"] == "the window can't be made: it is of 3 columns, and this node senses 2"
    host.hear(record(window=4))
    assert len(host.points) == 100 and "problem" not in host.status


def test_a_node_without_sensors_does_not_listen():
    bus = Bus()
    bus.add(1, None)
    bus.settle()
    bus.publish("dcka/t/window", record(), True)
    bus.settle()
    assert bus.nodes[1].dropped == {}


def test_records_that_are_refused():
    for payload, words in (
        (b"{", "no JSON"),
        (b"[]", "no record"),
        (record(v=2), "no record"),
        (record(window=0), "window is 0"),
        (record(since=12000), "since is 12000"),
        (record(since=-1), "since is -1"),
        (record(n=3), "of 3 columns, and"),
        (record(bits=16), "bits is 16"),
        (record(low=[0]), "low: 2 numbers"),
        (record(low=[0, 1 << 31]), "low holds"),
        (record(width=[0, 1]), "width holds 0"),
        (record(range=[1, -1]), "range holds -1"),
    ):
        assert words in str(raises(CoreError, Window, payload, Taken(ROWS))), words
