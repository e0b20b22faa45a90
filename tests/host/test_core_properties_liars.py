"""Laws of runs in which one node lies, on networks, data and faults drawn by hypothesis: no result is ever wrong, and
nobody is blamed but who lies.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from liars import LIES, Liar, suspects
from scenes import Scene, shortest_tree
from test_core_properties_tree import Faults, connected, coordinates, faults, networks
from tree_laws import check_laws

laws = settings(derandomize=True, deadline=None, max_examples=12)


@st.composite
def lying_scenes(draw: Any) -> Scene:
    """A network, its data, and a node that lies in one way; small enough that thousands of lies are soon told."""
    ids, near = draw(networks(6))
    data = {}
    for node in ids:
        count = draw(st.integers(0, 6))
        data[node] = draw(st.lists(coordinates, min_size=2 * count, max_size=2 * count))
    lie = draw(st.sampled_from(sorted(LIES)))
    scene = Scene(
        data,
        shortest_tree(near, ids[0]),
        Liar(lie),
        near=near,
        init=draw(st.sampled_from(["local", "shared"])),
        max_steps=draw(st.integers(1, 5)),
        k=draw(st.integers(1, 3)),
        **draw(st.sampled_from([{}, {"rows": []}])),
    )
    scene.bus.liar = draw(st.sampled_from(ids))
    scene.bus.trace = []
    return scene


@laws
@given(lying_scenes(), faults)
def test_whoever_lies_no_result_is_wrong_and_nobody_else_is_blamed(scene: Scene, fault: Faults) -> None:
    bus, liar = scene.bus, scene.bus.liar
    rest = set(scene.data) - {liar}
    bus.faults(*fault)
    scene.start()

    def ended() -> bool:
        return all(scene.session(node) and scene.session(node).done for node in rest)

    alone = 2 * len(rest) <= len(scene.data) or not connected(scene.near, rest)
    finished = bus.run(ended, 1500 if alone else 30_000)
    # What every honest node holds is the sum over exactly those whom it names.
    check_laws(scene)
    assert [who for who in suspects(scene) if who != liar] == []
    assert alone or finished, scene.told()


@laws
@given(lying_scenes(), st.integers(0, 999))
def test_in_a_good_network_whoever_is_found_is_named(scene: Scene, seed: int) -> None:
    """A lie about sums never counts: with all there are, nobody's readings are in a result under false names."""
    bus, liar = scene.bus, scene.bus.liar
    bus.shuffle(seed)
    scene.start()
    bus.run(
        lambda: all(scene.session(one) and scene.session(one).done for one in scene.data if one != liar), 2000
    )
    check_laws(scene)
    for node in scene.data:
        session = scene.session(node)
        if node != liar and session is not None and session.struck:
            assert list(session.struck) == [str(liar)]
            assert scene.status(node)["quarantined"] == session.struck
            assert scene.dropped(node)
