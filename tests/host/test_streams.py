"""A stream over a network of real cores in memory: windows, what is remembered, who takes part, and what is told."""

import json
from array import array

import numpy as np
import pytest
from bus_connection import BusConnection, HostBus
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.anomalies import anomalies
from dcka.config import State, from_mapping
from dcka.config.durations import in_words, seconds
from dcka.errors import DckaError, UsageError
from dcka.mqtt.connection import encoded
from dcka.mqtt.readiness import NotReady
from dcka.reference import ReadingsWindow, tree_run
from dcka.reference import remembered as remembered_exactly
from dcka.runs.outcome import decode_commit
from dcka.streams.clustering import Skipped, Stream
from dcka.streams.drift import drift
from dcka.streams.forgetting import remembered, weighed
from dcka.streams.members import part_of
from dcka.streams.memory import keep, recall, recall_window
from dcka.streams.pace import Pace
from dcka.streams.summary import summary_of, text
from dcka.streams.window import EPOCH_S, Window, range_of
from dcka_core.parts import part
from dcka_core.windows import Windows

NODES = (1, 2, 3, 4)
NOW = 10_000
DEVICES = [
    {"driver": "adc", "pin": 1, "columns": {"temperature": 1}},
    {"driver": "adc", "pin": 2, "columns": {"humidity": 0}},
]


def configuration(**sections):
    """Four nodes in a line, with two sensors each."""
    made = {
        "network": {"name": "lab", "nodes": list(NODES)},
        "topology": {"kind": "line"},
        "run": {"k": 2, "init": "local", "seed": 3, "patience_ms": 100},
        "sensors": {"devices": DEVICES},
        "stream": {"range": {"temperature": [0, 50], "humidity": [0, 100]}, "window": "1h"},
    }
    for name, section in sections.items():
        made[name] = {**made[name], **section}
    return from_mapping(made, "the test")


class Taken:
    """A node's readings, as `Segments` gives them."""

    n = 2

    def __init__(self, rows):
        self.rows = rows

    def readings(self, since, until):
        for row in self.rows:
            if since <= row[0] < until:
                yield array("i", row)


class SensingBus(HostBus):
    """Nodes that have sensed `taken[id]`."""

    def __init__(self, taken):
        super().__init__("lab")
        self.taken = taken

    def born(self, machine):
        machine.others["window"] = Windows(self.taken[machine._id], part)


def sensed(node, end=NOW, shift=0):
    """A reading a minute for two hours: two clouds in turn, in tenths of a degree and in per cent."""
    stream = np.random.default_rng(node)
    rows = []
    for minute in range(120):
        warm = (minute + node) % 2
        rows.append(
            (
                end - 7200 + 60 * minute,
                int(150 + 200 * warm + stream.integers(-9, 9) + shift),
                int(30 + 40 * warm + stream.integers(-3, 3)),
            )
        )
    return rows


class Lab:
    """A host and its nodes; `now`: the wall clock, in seconds since 2020."""

    def __init__(self, folder):
        self.taken = {node: Taken(sensed(node)) for node in NODES}
        self.bus = SensingBus(self.taken)
        self.connection = BusConnection(self.bus)
        self.state = State(folder / ".dcka")
        self.now = NOW
        self.told = []
        self.on_event = None
        for node in NODES:
            self.bus.add(node, None)
        self.bus.settle()

    def stream(self, config=None, **options):
        """A host that has just been started."""
        self.connection._filters.clear()
        self.connection.forget()
        return Stream(
            self.connection,
            config or configuration(),
            self.state,
            clock=lambda: self.now + EPOCH_S,
            on_event=self._take,
            **options,
        )

    def _take(self, kind, data):
        self.told.append((kind, data))
        if self.on_event:
            self.on_event(kind, data)

    def cluster(self, config=None, **options):
        return self.stream(config, **options).cluster()

    def kill(self, node):
        topic, payload = self.bus.nodes[node].will()
        self.bus.kill(node)
        self.bus.publish(topic, payload, True)

    def points(self, made):
        """By the reference: of each member its points of the window."""
        window = ReadingsWindow.of(made.window.record())
        found = []
        for node in made.outcome.members:
            rows = np.array(self.taken[node].rows, dtype=np.int64).reshape(-1, 3)
            found.append(window.points(rows).points)
        return found

    def expected(self, made, k=2):
        """The reference's run."""
        record = made.outcome.record
        given_centres = np.array(record["centres"]).reshape(k, 2) if "centres" in record else None
        return tree_run(
            self.points(made), made.outcome.members, k, record["init"], record["seed"],
            made.dataset["extents"], record["max_steps"], given_centres, prior=record.get("prior"),
        )  # fmt: skip


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


def check_bits(lab, made, k=2):
    """Every node holds the reference's centres, counts and SSD."""
    wanted = lab.expected(made, k)
    assert made.outcome.whole
    for node in made.outcome.members:
        commit = decode_commit(made.outcome, node)
        assert commit.centres == wanted.centres.ravel().tolist()
        assert commit.counts == wanted.counts.tolist() and commit.ssd == wanted.ssd


def test_a_stream_slides_and_starts_from_its_last_centres(lab):
    first = lab.cluster()
    check_bits(lab, first)
    assert first.drift is None and first.whole and first.outcome.record["init"] == "local"
    assert (first.window.since, first.window.until) == (NOW - 2 - 3600, NOW - 2)
    lab.now += 600
    second = lab.cluster()
    check_bits(lab, second)
    commit = decode_commit(first.outcome, 1)
    assert second.outcome.record["centres"] == commit.centres and "prior" not in second.outcome.record
    assert second.window.number == first.window.number + 1 and second.drift.drifted == ()
    record = summary_of(second)
    assert record["points"] == sum(record["counts"]) == 4 * 50 and record["warm"]
    assert "200 readings, converged" in text(record)
    kept, before = recall_window(lab.state, second.outcome.dataset)
    assert kept["window"] == second.window.record() and before["run"] == first.outcome.run


def test_what_is_half_as_old_counts_twice_as_much(lab):
    config = configuration(stream={"half_life": "10m"})
    first = lab.cluster(config)
    lab.now += 900
    for node in NODES:
        lab.taken[node].rows += sensed(node + 9, lab.now)[-15:]
    second = lab.cluster(config)
    check_bits(lab, second)
    assert second.window.since == first.window.until
    weights = decode_commit(first.outcome, 1).counts
    assert second.outcome.record["prior"] == list(remembered_exactly(weights, 900, 600))
    assert lab.stream(config).memory.weights == weighed(
        second.outcome.record["prior"], decode_commit(second.outcome, 1).counts
    )


def test_loss_changes_no_bit(lab):
    config = configuration(stream={"half_life": "10m"})
    lab.cluster(config)
    lab.bus.faults(4, 25, 20, 20)
    lab.now += 900
    for node in NODES:
        lab.taken[node].rows += sensed(node + 9, lab.now)[-15:]
    check_bits(lab, lab.cluster(config))


def test_a_centre_that_has_moved_is_told_of(lab):
    lab.cluster()
    lab.now += 7200
    for node in NODES:
        lab.taken[node].rows += sensed(node, lab.now, shift=120)
    made = lab.cluster()
    assert made.drift.drifted == (0, 1)
    record = made.drift.record()
    assert record["drifted"] and record["farthest"] == pytest.approx(0.12, abs=0.02)
    moved = [one["to"][0] - one["from"][0] for one in record["centres"]]
    assert moved == [pytest.approx(12, abs=1)] * 2
    assert "drift: centre 0 has moved by" in text(summary_of(made))


def test_who_is_away_is_left_out_and_joins_the_next(lab):
    lab.kill(4)
    made = lab.cluster(ready_s=1.0)
    assert made.part.away == (4,) and made.outcome.members != [] and 4 not in made.outcome.members
    assert (
        not made.whole
        and summary_of(made)["partial"]
        and "node 4 did not hold the window" in text(summary_of(made))
    )
    check_bits(lab, made)
    lab.bus.boot(4)
    lab.bus.settle()
    lab.now += 60
    again = lab.cluster(ready_s=1.0)
    assert again.whole and len(again.outcome.members) == 4
    check_bits(lab, again)


def asleep(lab, node, for_s=3600):
    """The node has said that it sleeps deeply for so long, and hears nothing."""
    status = {**json.loads(lab.bus.retained[f"dcka/lab/status/{node}"]), "state": "asleep"}
    lab.bus.kill(node)
    lab.bus.publish(f"dcka/lab/status/{node}", encoded({**status, "until_ms": 1000 * for_s}), True)


def test_who_was_cut_off_in_the_last_run_is_let_go_for_the_next_window(lab):
    lab.cluster()

    def cut(kind, data):
        if kind == "step" and data["step"] == 0 and 4 in lab.bus.nodes:
            lab.kill(4)

    lab.now += 60
    lab.on_event = cut
    torn = lab.cluster(configuration(run={"init": "local", "k": 3}))
    assert torn.outcome.finished and 4 in torn.outcome.missing
    # It is back, without a way to the others and back, and waits for them in the run that the broker keeps.
    lab.bus.lose = lambda topic, node, payload: payload[:1] != b"{" and (node == 4 or topic.endswith("/4"))
    for node in NODES:
        lab.bus.retained.pop(f"dcka/lab/commit/{node}", None)

    waits = []

    def mend(kind, data):
        if kind == "window":
            lab.bus.settle()
            waits.append(lab.bus.nodes[4].session is not None)
            lab.bus.lose = None

    lab.on_event = mend
    lab.bus.boot(4)
    lab.bus.settle()
    assert lab.bus.nodes[4].session is not None and not lab.bus.nodes[4].session.done
    lab.now += 60
    made = lab.cluster(configuration(run={"k": 3}), ready_s=1.0)
    assert waits == [False] and made.whole and made.part.config.ids == NODES
    check_bits(lab, made, k=3)


def test_who_sleeps_deeply_is_not_waited_for(lab):
    lab.cluster()
    asleep(lab, 4)
    lab.now += 60
    before = lab.connection.now()
    made = lab.cluster(ready_s=1.0)
    assert made.part.away == (4,) and sorted(made.outcome.members) == [1, 2, 3] and made.outcome.finished
    assert lab.connection.now() - before < 60
    lab.bus.boot(4)
    lab.bus.settle()
    lab.now += 60
    assert lab.cluster(ready_s=1.0).whole


def test_who_falls_asleep_with_its_points_made_holds_nobody_up(lab):
    lab.cluster()
    lab.on_event = lambda kind, data: asleep(lab, 4) if kind == "held" else None
    lab.now += 60
    before = lab.connection.now()
    made = lab.cluster(ready_s=1.0)
    assert not made.outcome.finished and made.outcome.waiting == [4]
    assert made.outcome.reason == "node 4 sleeps for another 60 min, and is not waited for"
    assert lab.connection.now() - before < 60


def test_who_has_no_way_to_the_others_is_told(lab):
    lab.kill(2)
    made = lab.cluster(ready_s=1.0)
    assert (made.part.config.ids, made.part.away, made.part.cut_off) == ((3, 4), (2,), (1,))
    check_bits(lab, made)


def test_parts_of_a_network():
    config = configuration(topology={"root": 2})
    assert part_of(config, ()) is None
    assert part_of(config, (1, 3)).config.ids == (1,)
    whole = part_of(config, NODES)
    assert whole.config.ids == NODES and whole.config.topology.root == 2
    assert part_of(config, (3, 4)).config.topology.root is None


def test_a_window_without_readings(lab):
    lab.taken[2].rows = []
    made = lab.cluster()
    assert made.empty == (2,) and "node 2 had no reading in it" in text(summary_of(made))
    check_bits(lab, made)
    remembered_before = lab.stream().memory
    for node in NODES:
        lab.taken[node].rows = []
    lab.now += 60
    with pytest.raises(Skipped, match="has no reading in the whole network"):
        lab.cluster()
    after = lab.stream().memory
    assert after.window == remembered_before.window + 1 and after.centres == remembered_before.centres
    assert after.until == remembered_before.until


def test_what_is_clipped_is_counted(lab):
    lab.taken[1].rows[-1] = (NOW - 60, 1001, 50)
    lab.taken[3].rows[-1] = (NOW - 60, -1, 50)
    record = summary_of(lab.cluster())
    assert record["clipped"] == [2, 0] and "temperature 2" in text(record)


def test_a_number_is_never_used_twice_whatever_ends_a_clustering(lab):
    lab.connection.on_way = lambda suffix, payload: None if suffix == "window" else payload
    with pytest.raises(NotReady, match="nobody has made points of window 1"):
        lab.cluster(ready_s=1.0)
    lab.connection.on_way = lambda suffix, payload: payload
    assert lab.cluster().window.number == 2
    # A host that knows nothing goes on from what the broker keeps, and one that does from its own.
    (lab.state.folder / "stream.json").unlink()
    lab.now += 60
    assert lab.cluster().window.number == 3
    lab.bus.retained.clear()
    lab.now += 60
    assert lab.cluster(ready_s=1.0).window.number == 4


def test_other_k_or_range_begin_anew(lab):
    lab.cluster()
    for changes, words in (
        ({"run": {"k": 3}}, "K is another"),
        ({"stream": {"range": {"temperature": [0, 50], "humidity": [0, 120]}}}, "the range is another"),
    ):
        lab.now += 60
        made = lab.cluster(configuration(**changes))
        assert ("anew", {"reason": words}) in lab.told
        assert made.drift is None and made.outcome.record["init"] == "local"


def test_anomalies_of_a_window(lab):
    lab.taken[2].rows[-1] = (NOW - 60, 499, 99)
    stream = lab.stream()
    made = stream.cluster()
    outcome = stream.anomalies(made, 5000, 1, lambda kind, data: lab.told.append((kind, data)))
    found = anomalies(outcome, made.dataset)
    assert found.events == {
        2: [{"index": 59, "centre": pytest.approx(0, abs=1), "distance": pytest.approx(35, abs=4),
             "reading": pytest.approx([49.9, 99], abs=0.01)}]
    }  # fmt: skip
    assert found.total == 1 and found.lost == 0
    said = [data["reveals"] for kind, data in lab.told if kind == "tail"]
    assert "up to 4 readings are revealed" in said[0]


def test_what_the_file_has_to_say():
    for changes, words in (
        ({"sensors": {"devices": []}}, "[sensors] has no devices"),
        ({"stream": {"range": {"temperature": [0, 50]}}}, "no range for humidity"),
        (
            {"stream": {"range": {"temperature": [0, 50], "humidity": [0, 1], "x": [0, 1]}}},
            "x, which [sensors]",
        ),
        ({"stream": {"range": {"temperature": [0, 0.01], "humidity": [0, 1]}}}, "the same to 1 decimals"),
        ({"stream": {"range": {"temperature": [0, 2147483647], "humidity": [0, 1]}}}, "does not fit 32 bits"),
        ({"data": {"scale": "std"}}, 'take "one" or "minmax"'),
    ):
        made = {name: section for name, section in changes.items() if name != "data"}
        config = configuration(**made)
        if "data" in changes:
            config = config.replaced("data", None, **changes["data"])
        with pytest.raises(UsageError) as error:
            range_of(config)
        assert words in str(error.value), words


def test_gossip_has_no_half_life(lab):
    config = configuration(run={"schedule": "gossip"}, stream={"half_life": "6h"})
    with pytest.raises(UsageError, match="half_life goes with the exact consensus"):
        lab.stream(config)
    made = lab.cluster(configuration(run={"schedule": "gossip"}))
    assert made.outcome.kind == "gossip" and made.whole


def test_the_window_is_the_reference_s(lab):
    made = range_of(configuration(sensors={"devices": DEVICES}))
    window = Window(7, 100, 5000, made)
    assert ReadingsWindow.of(window.record()).dataset.hex() == window.dataset
    # 50.0 degrees and 100 per cent: a width of 100 of either, in tenths and in ones.
    assert made.whole.low == (0, 0) and made.whole.width == (1000, 100)
    assert made.grid.steps[0] == made.grid.steps[1] == made.grid.unit
    wide = range_of(configuration(stream={"range": {"temperature": [0, 100.3], "humidity": [0, 1]}}))
    assert wide.whole.width == (1010, 101)


def test_a_damaged_memory_is_named(lab):
    lab.cluster()
    file = lab.state.folder / "stream.json"
    memory = recall(lab.state)
    keep(lab.state, memory)
    assert recall(lab.state) == memory
    for broken in ('{"v": 2}', '{"v": 1, "weights": [1]}', '{"v": 1, "x": 1}', "[1]"):
        file.write_text(broken)
        with pytest.raises(DckaError, match="no memory of a stream"):
            recall(lab.state)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=3), st.integers(0, 90), st.integers(1, 40))
def test_what_is_remembered_is_the_reference_s(weights, passed, half_life):
    assert remembered(weights, passed, half_life) == list(remembered_exactly(weights, passed, half_life))


def test_pace():
    pace = Pace(3600, until_s=20_000)
    assert pace.first(7300, 0) == 7300 and pace.first(7300, 7201) == 10800
    assert pace.first(7300, 7199) == 7300
    assert pace.following(7200) == 10800 and pace.following(10799) == 10800
    assert pace.again(7300) == 7330 and pace.again(10795) == 10800
    assert pace.is_over(20_000) and not pace.is_over(19_999) and not Pace(5).is_over(1 << 40)


def test_durations():
    for words, value in (("90s", 90), ("30m", 1800), ("24h", 86400), ("7d", 604800)):
        assert seconds(words) == value
    assert [in_words(value) for value in (90, 1800, 86400, 3600)] == ["90s", "30m", "1d", "1h"]


def test_drift_is_by_the_widest_range():
    grid = range_of(configuration()).grid
    top = 2**grid.bits - 1
    moved = drift([0, 0, 10, 10], [top, 0, 10, 10], grid, 0.05)
    assert moved.moved == (1.0, 0.0) and moved.drifted == (0,) and moved.farthest == 1.0
