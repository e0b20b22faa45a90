"""A neighbour that does not keep to the rules is quarantined, nobody else is; what the run comes to is never wrong."""

from liars import Liar, suspects
from scenes import Scene, cloud, radio, shortest_tree
from tree_laws import check_laws

from dcka_core.messages import FINAL

# A ring with a chord: whoever is left out, the others hear each other.
RING = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 1), (1, 4)]
REASONS = {
    "one point more": "points",
    "beyond the range": "points",
    "too many squares": "points",
    "too few squares": "points",
    "for others": "set",
    "not for itself": "set",
    "two faces": "conflict",
    "malformed": "malformed",
    "an epoch of nobody": "root",
}


def lying_scene(lie, liar, **settings):
    near = radio(RING)
    settings["k"] = 2
    settings["max_steps"] = settings.get("max_steps", 3)
    scene = Scene(
        {node: cloud(node, 4 + node) for node in near},
        shortest_tree(near, 1),
        Liar(lie),
        near=near,
        **settings,
    )
    if lie == "two faces":
        # All of its points are one, so in one cluster.
        scene.bus.kill(liar)
        scene.data[liar] = [77, 99] * 9
        scene.bus.points[liar] = scene.points(liar)
        scene.bus.boot(liar)
    scene.bus.liar = liar
    scene.bus.trace = []
    return scene


def honest_end(scene, liar):
    sessions = [scene.session(node) for node in scene.bus.nodes if node != liar]
    return not [session for session in sessions if session is None or not session.done]


def run_with(lie, liar, **settings):
    scene = lying_scene(lie, liar, **settings)
    scene.start()
    assert scene.bus.run(lambda: honest_end(scene, liar), 60000), (lie, liar, scene.told())
    scene.bus.settle()
    return scene


def test_every_lie_of_a_leaf_is_found_and_the_rest_ends_without_it():
    for lie in REASONS:
        scene = run_with(lie, 3, max_steps=9 if lie in ("two faces", "an epoch of nobody") else 3)
        assert scene.bus.told or lie == "an epoch of nobody", lie
        assert check_laws(scene), lie
        assert suspects(scene) == [3], (lie, suspects(scene))
        held = [scene.held(node) for node in scene.bus.nodes if node != 3]
        assert not [one for one in held if not one.flags & FINAL], lie
        found = [scene.session(node).struck.get("3") for node in scene.bus.nodes if node != 3]
        assert REASONS[lie] in found, (lie, found)
        if lie not in ("two faces", "an epoch of nobody"):
            # What it said before it was found counts, where it can be right; of these nothing can.
            assert scene.session(1).ids(held[0].missing) == [3], (lie, held[0].missing)


def test_the_status_and_the_result_say_who_and_why():
    scene = lying_scene("one point more", 3)
    scene.bus.log = []
    scene.start()
    assert scene.bus.run(lambda: honest_end(scene, 3), 60000)
    scene.bus.settle()
    by = [node for node in scene.bus.nodes if "3" in scene.session(node).struck]
    assert by
    for node in by:
        assert scene.status(node)["quarantined"] == {"3": "points"}
        assert scene.reports("result", node)[-1]["quarantined"] == {"3": "points"}
        assert scene.dropped(node)["points"] >= 4
    for node in scene.bus.nodes:
        if node not in by:
            assert "quarantined" not in scene.status(node)


def test_nothing_more_is_heard_of_it_in_this_run_and_in_the_next_one_all_is_forgotten():
    scene = lying_scene("one point more", 3)
    bus = scene.bus
    scene.start()
    assert bus.run(lambda: honest_end(scene, 3), 60000)
    bus.settle()
    by = next(node for node in bus.nodes if "3" in scene.session(node).struck)
    assert not [topic for topic in bus.topics[by] if topic.endswith("/3")], bus.topics[by]
    bus.liar = 0
    other = Scene(
        {node: cloud(node, 4 + node) for node in scene.data}, scene.links, near=scene.near, k=2, max_steps=3
    )
    bus.trace = None
    scene.finish(2)
    assert scene.final() == other.finish(2).final()
    assert suspects(scene) == []
    assert "quarantined" not in scene.status(by)


def test_a_root_that_lies_about_its_commits_is_left_by_its_neighbours():
    for lie in ("counts that do not add up", "beyond the last step", "malformed"):
        scene = run_with(lie, 1)
        check_laws(scene)
        assert suspects(scene) == [1], lie
        found = [node for node in scene.bus.nodes if "1" in scene.session(node).struck]
        assert found, lie
        assert scene.held(2).epoch[0] > 0, lie
        assert scene.held(2).epoch[1] != 1, lie
