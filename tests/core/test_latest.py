"""Where the latest reading lies: told after a run that asks for it, and only then."""

from bus import make_points
from scenes import DATASET, LINE, PAIR, Scene, cloud
from support import raises

from dcka_core.errors import CoreError
from dcka_core.latest import where
from dcka_core.messages import Commit
from dcka_core.record import read_run


def commit(*centres):
    held = Commit()
    held.centres = list(centres)
    return held


def points(*readings):
    return make_points(2, 15, DATASET, [32767, 32767], list(readings))


def test_it_is_the_last_point_and_the_nearest_centre():
    assert where(points(0, 0, 3, 4), commit(100, 100, 0, 0), 1) == [1, 5.0]
    assert where(points(3, 4, 100, 103), commit(100, 100, 0, 0), 0.5) == [0, 1.5]


def test_the_lowest_index_wins_a_tie():
    assert where(points(5, 0), commit(0, 0, 10, 0), 1) == [0, 5.0]


def test_of_no_point_and_of_no_commit_there_is_nothing_to_tell():
    assert where(points(), commit(1, 1), 1) == []
    assert where(points(1, 1), None, 1) == []


def ran(data, links, **settings):
    scene = Scene(data, links, **settings)
    scene.finish()
    return scene


def test_after_a_run_that_asks_each_node_tells_its_own():
    for links, nodes in ((LINE, list(LINE)), (PAIR, [1, 2])):
        data = {node: cloud(node, 9) for node in nodes}
        scene = ran(data, links, latest=0.5)
        for node in nodes:
            cluster, distance = scene.status(node)["latest"]
            centre = scene.held(node).centres[2 * cluster : 2 * cluster + 2]
            last = data[node][-2:]
            exact = 0.5 * ((last[0] - centre[0]) ** 2 + (last[1] - centre[1]) ** 2) ** 0.5
            assert abs(distance - exact) <= 1e-3 * exact + 1e-3, (node, distance, exact)


def test_where_it_is_not_asked_for_nothing_is_told():
    scene = ran({node: cloud(node, 9) for node in LINE}, LINE)
    assert [node for node in LINE if "latest" in scene.status(node)] == []


def test_what_is_no_length_is_refused():
    scene = Scene({1: cloud(1, 9)}, {1: 0})
    assert read_run(scene.record()).latest == 0
    assert read_run(scene.record(latest=0.25)).latest == 0.25
    for value in (-1, "1", None, True, [], float("nan"), float("inf")):
        raises(CoreError, read_run, scene.record(latest=value))
