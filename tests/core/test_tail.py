"""A tail: the distance that an agreed part of all readings exceeds, whatever is lost; what is told of those beyond."""

from array import array

from liars import LIES, Liar, of_sums
from plain_kmeans import distance, tuples
from scenes import FORK, LINE, STAR, Scene, cloud
from support import raises

from dcka_core import tail_plain
from dcka_core.bounds import message_bound
from dcka_core.errors import CoreError, DataError
from dcka_core.messages import FINAL
from dcka_core.record import read_run
from dcka_core.starts import Stream

CENTRES = [100, 200, 9000, 9000, 20000, 30000]


def far(points, centres):
    """The squared distance of each point to its nearest centre."""
    return [min([distance(point, centre) for centre in centres]) for point in points]


def of_rank(distances, tail_ppm):
    """The protocol's definition: the value of rank M − 1 − t, and 0 where there is none."""
    total = len(distances)
    return sorted(distances)[total - 1 - tail_ppm * total // 1000000] if total else 0


def scene_of(parents, seed=1, bus=None, each=9, **settings):
    data = {node: cloud(node + seed, each + node % 5) for node in parents}
    plain = {"kind": "tail", "k": 3, "centres": CENTRES, "bins": 16, "tail_ppm": 100000, "reveal": 0}
    plain.update(settings)
    return Scene(data, parents, bus, **plain)


def distances_of(scene, without=()):
    centres = tuples(scene.settings["centres"], scene.n)
    return {
        node: far(tuples(scene.data[node], scene.n), centres) for node in scene.data if node not in without
    }


def check_ended(scene, without=()):
    """All hold the distance of the rank among those who were in; each tells how many of its own are beyond."""
    by_node = distances_of(scene, without)
    every = [one for node in by_node for one in by_node[node]]
    wanted = of_rank(every, scene.settings["tail_ppm"])
    _, flags, state, counts, ssd, _, missing = scene.final()
    assert flags == FINAL and ssd == 0 and counts[0] == len(every)
    assert (state[0] << 16) + state[1] == wanted
    assert scene.session(min(scene.data)).ids(missing) == sorted(without)
    for node in scene.bus.nodes:
        result = scene.reports("result", node)[-1]
        if node in by_node:
            assert result["beyond"] == len([one for one in by_node[node] if one > wanted]), node
        assert result["threshold"] == wanted
    return wanted


def kernels():
    found = [tail_plain.distances]
    try:
        from dcka_core.tail_viper import distances
    except (ImportError, ValueError, SyntaxError):
        return found
    return found + [distances]


def test_every_kernel_has_euclid_s_distances():
    cases = [([0, 0, 32767, 32767], [32767, 32767], 2), ([32767], [0], 1)]
    for seed in range(6):
        n = 1 + seed
        stream = Stream(seed, b"tail")
        top = 1 << (15 if n <= 2 else 13)
        cases.append(
            ([stream.below(top) for _ in range(40 * n)], [stream.below(top) for _ in range(5 * n)], n)
        )
    for values, centres, n in cases:
        wanted = far(tuples(values, n), tuples(centres, n))
        for kernel in kernels():
            out = array("i", bytes(4 * len(wanted)))
            kernel(array("H", values), len(wanted), n, array("H", centres), len(centres) // n, out)
            assert list(out) == wanted, (n, kernel)


def test_the_run_finds_the_rank():
    for parents in (FORK, LINE, STAR, {7: 0}):
        for bins in (16, 4, 2):
            scene = scene_of(parents, bins=bins, tail_ppm=(0, 1, 250000, 499999)[bins % 4])
            scene.bus.log = []
            check_ended(scene.finish())


def test_blocks_and_pieces_add_up():
    scene = scene_of({1: 0, 2: 1}, each=4200)
    assert len(scene.bus.points[1].blocks) > 1
    scene.bus.log = []
    check_ended(scene.finish())


def test_equal_distances_are_not_beyond():
    scene = Scene(
        {1: [0, 10, 10, 10], 2: [10, 10]}, {1: 0, 2: 1}, n=1, kind="tail", k=1, centres=[0], bins=4,
        tail_ppm=400000, reveal=9,
    )  # fmt: skip
    scene.bus.log = []
    assert check_ended(scene.finish()) == 100
    assert scene.reports("result", 1)[-1]["beyond"] == 0 and not scene.reports("event", 1)


def test_loss_doubles_and_delays_change_nothing():
    whole = 0
    for seed in range(6):
        scene = scene_of(FORK, seed)
        scene.bus.log = []
        loss, double, delay = ((40, 0, 0), (0, 50, 60), (30, 30, 30))[seed % 3]
        scene.bus.faults(seed, loss, double, delay, seed >= 3)
        scene.finish()
        if not scene.final()[-1]:
            whole += 1
            check_ended(scene)
    assert whole >= 4


def test_a_node_that_stays_away_and_a_root_that_dies():
    scene = scene_of(FORK)
    scene.bus.log = []
    scene.bus.kill(5)
    scene.finish()
    check_ended(scene, [5])
    scene = scene_of(FORK)
    scene.bus.log = []
    scene.start()
    for _ in range(40):
        scene.bus.step()
    scene.bus.kill(4)
    scene.bus.run_for(300)
    scene.bus.boot(4)
    assert scene.bus.run(scene.bus.all_done, 20000), scene.told()
    scene.bus.settle()
    assert scene.final()[1] == FINAL


def test_who_comes_back_tells_the_same():
    scene = scene_of(STAR, reveal=2)
    scene.bus.log = []
    scene.finish()
    before = scene.reports("event", 3)
    scene.bus.kill(3)
    scene.bus.boot(3)
    assert scene.bus.run(scene.bus.all_done)
    scene.bus.settle()
    check_ended(scene)
    assert scene.reports("event", 3) == before * 2


def test_nothing_of_a_reading_is_said_unless_the_record_asks_for_it():
    scene = scene_of(FORK, tail_ppm=300000)
    scene.bus.log = []
    scene.finish()
    wanted = check_ended(scene)
    every = [one for own in distances_of(scene).values() for one in own]
    assert max(every) > wanted
    assert [topic for topic, _ in scene.bus.log if "/event/" in topic] == []


def test_events_are_the_farthest_first_and_as_many_as_are_asked_for():
    scene = scene_of(FORK, tail_ppm=400000, reveal=3)
    scene.bus.log = []
    wanted = check_ended(scene.finish())
    for node, own in distances_of(scene).items():
        points = tuples(scene.data[node], 2)
        order = sorted(
            [index for index in range(len(own)) if own[index] > wanted],
            key=lambda index: (-own[index], index),
        )
        events = scene.reports("event", node)
        assert [event["index"] for event in events] == order[:3]
        for event in events:
            index = event["index"]
            assert (event["run"], event["node"], event["v"]) == (1, node, 1)
            assert event["distance"] == own[index] and tuple(event["point"]) == points[index]


def test_nodes_without_points():
    scene = Scene(
        {1: [], 2: [1, 2, 30]}, {1: 0, 2: 1}, n=1, kind="tail", k=1, centres=[0], bins=16, tail_ppm=340000,
        reveal=1,
    )  # fmt: skip
    scene.bus.log = []
    assert check_ended(scene.finish()) == 4
    nobody = Scene(
        {1: [], 2: []}, {1: 0, 2: 1}, n=1, kind="tail", k=1, centres=[0], bins=16, tail_ppm=1, reveal=1
    )
    nobody.bus.log = []
    assert check_ended(nobody.finish()) == 0


def more(message, session):
    """One point too many in all counts."""
    message.sums = [value + 1 if value else 0 for value in message.sums]


def falling(message, session):
    """More below a low bound than below a high one."""
    message.sums[1], message.sums[-3] = message.sums[0], 0


def squared(message, session):
    message.squares = 5


def beyond_rows(message, session):
    """A count where none stands."""
    message.sums[-1] = 1


def test_sums_that_cannot_be_are_refused_and_their_sender_is_left_out():
    for change in (more, falling, squared, beyond_rows):
        LIES["of this test"] = of_sums(change)
        bus = Liar("of this test", 9)
        scene = scene_of(FORK, bus=bus, bins=16)
        scene.bus.log = []
        scene.start()
        assert bus.run(ended(bus, 9)), change
        assert bus.told
        dropped = scene.dropped(2)
        assert dropped.get("points") or dropped.get("value"), (change, dropped)
        held = scene.held(2)
        assert scene.session(2).ids(held.missing) == [9], change
        del LIES["of this test"]


def ended(bus, without):
    """What says whether all but one node have done the run."""

    def finished():
        sessions = [bus.nodes[node].session for node in bus.nodes if node != without]
        return not [session for session in sessions if session is None or not session.done]

    return finished


def test_commits_that_cannot_be_are_refused():
    scene = scene_of(FORK)
    scene.bus.log = []
    scene.finish()
    session = scene.session(2)
    good = session.held
    assert session.is_lawful(good)

    def changed(**values):
        commit = type(good)()
        for name in ("step", "epoch", "contributors", "missing", "flags", "centres", "counts", "ssd"):
            value = values.get(name, getattr(good, name))
            setattr(commit, name, list(value) if isinstance(value, list) else value)
        return commit

    state = good.centres
    assert session.is_lawful(changed())
    for values in (
        {"centres": state[:2] + [state[2] - 1] + state[3:]},
        {"centres": state[:3] + [1] + state[4:]},
        {"centres": [65535, 65535] + state[2:]},
        {"counts": [good.counts[0] + 1] + good.counts[1:]},
        {"counts": [one + 1 for one in good.counts]},
        {"ssd": 1},
        {"flags": FINAL | 8},
        {"step": 3, "flags": 0, "centres": state[:2] + [3] + state[3:]},
    ):
        assert not session.is_lawful(changed(**values)), values


def test_records_that_are_refused():
    scene = scene_of(STAR)
    for changes, words in (
        ({"centres": [1, 2, 3]}, "centres: 6 numbers are needed"),
        ({"bins": 3}, "bins is 3"),
        ({"tail_ppm": 500000}, "tail_ppm is 500000"),
        ({"reveal": 65}, "reveal is 65"),
        ({"reveal": True}, "reveal is True"),
        ({"root": 99}, "root is 99: no member"),
    ):
        error = raises(CoreError, read_run, scene.record(1, **changes))
        assert words in str(error), (changes, str(error))


def test_messages_are_within_their_bound():
    scene = scene_of(FORK, reveal=9)
    sent = []

    def seen(topic, payload):
        if topic.split("/")[2] in ("x", "commit"):
            sent.append(len(payload))

    scene.bus.watch = seen
    scene.finish()
    assert sent and max(sent) <= message_bound(read_run(scene.record()))


def test_data_that_cannot_be_read_end_the_node_s_part_and_not_the_node():
    class Worn(list):
        def __iter__(self):
            raise DataError("worn out")

    scene = scene_of(STAR)
    scene.bus.log = []
    scene.bus.nodes[3].points.blocks = Worn()
    scene.start()
    assert scene.bus.run(ended(scene.bus, 3))
    assert scene.session(3) is None and "worn out" in scene.status(3)["problem"]
