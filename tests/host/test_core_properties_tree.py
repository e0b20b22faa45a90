"""Laws of runs of `tree` and of seedings, on networks, data and faults drawn by hypothesis: wider than tests/core."""

from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from liars import suspects
from plain_kmeans import flat
from scenes import Scene, radio, shortest_tree
from seeding_scenes import SeedingScene, check_draws
from tree_laws import check_laws, kept

from dcka_core.ticks import PERIOD

laws = settings(derandomize=True, deadline=None, max_examples=100)

percents = st.sampled_from([0, 0, 10, 25, 40])
coordinates = st.one_of(st.integers(0, 3), st.sampled_from([0, 32767]), st.integers(0, 32767))


class Faults(NamedTuple):
    """In percent of the deliveries; everything: of commits too."""

    seed: int
    loss: int
    double: int
    delay: int
    everything: bool


class Trouble(NamedTuple):
    """After so many events, and then so long: the power or the link of a node (by its place; 0 is the root) fails, or
    is back where it had failed."""

    events: int
    wait_ms: int
    place: int
    power: bool


faults = st.builds(Faults, st.integers(0, 999), percents, percents, percents, st.booleans())
troubles = st.lists(
    st.builds(
        Trouble,
        st.integers(0, 120),
        st.sampled_from([0, 0, 50, 300, 3000]),
        st.one_of(st.just(0), st.integers(0, 11)),
        st.booleans(),
    ),
    max_size=8,
)


@st.composite
def networks(draw: Any, most: int = 12) -> tuple[list[int], dict[int, list[int]]]:
    """The ids, the root first, and a connected graph of who hears whom."""
    ids = draw(st.lists(st.integers(1, 65535), min_size=1, max_size=most, unique=True))
    links = {(ids[draw(st.integers(0, place - 1))], ids[place]) for place in range(1, len(ids))}
    for place, one in enumerate(ids):
        links |= {(other, one) for other in ids[:place] if draw(st.integers(0, 5)) == 0}
    near = radio(sorted(links))
    return ids, {node: near.get(node, []) for node in ids}


@st.composite
def scenes(draw: Any, most: int = 12) -> Scene:
    """A network with its data, traced."""
    ids, near = draw(networks(most))
    data = {}
    for node in ids:
        count = draw(st.integers(0, 6))
        data[node] = draw(st.lists(coordinates, min_size=2 * count, max_size=2 * count))
    scene = Scene(
        data,
        shortest_tree(near, ids[0]),
        near=near,
        init=draw(st.sampled_from(["local", "sorted", "snake", "shared"])),
        max_steps=draw(st.integers(1, 8)),
        k=draw(st.integers(1, 3)),
    )
    scene.bus.trace = []
    return scene


def connected(near: dict[int, list[int]], some: set[int]) -> bool:
    """Whether these nodes reach each other through themselves."""
    seen = {min(some)}
    ahead = list(seen)
    while ahead:
        found = {other for other in near[ahead.pop()] if other in some} - seen
        seen |= found
        ahead += found
    return seen == some


def disturb(scene: Scene, events: list[Trouble]) -> None:
    """Start, and let these troubles come."""
    bus = scene.bus
    scene.start()
    for trouble in events:
        for _ in range(trouble.events):
            bus.step()
        node = list(scene.data)[trouble.place % len(scene.data)]
        if node not in bus.nodes:
            bus.boot(node)
        elif node in bus.offline:
            bus.plug_in(node)
        elif trouble.power:
            bus.kill(node)
        else:
            bus.unplug(node)
        bus.run_for(trouble.wait_ms)


def mend(scene: Scene, away: set[int]) -> None:
    """Whatever has failed is back, but for the nodes `away`; on to the end."""
    bus = scene.bus
    for node in list(bus.offline):
        bus.plug_in(node)
    for node in scene.data:
        if node not in bus.nodes and node not in away:
            bus.boot(node)
        elif node in bus.nodes and node in away:
            bus.kill(node)
    assert bus.run(bus.all_done, 100_000), scene.told()
    bus.settle()
    assert suspects(scene) == []


@laws
@given(scenes(), faults, troubles)
def test_whatever_happens_everybody_ends_on_one_commit_that_is_what_it_says(
    scene: Scene, fault: Faults, events: list[Trouble]
) -> None:
    scene.bus.faults(*fault)
    disturb(scene, events)
    mend(scene, set())
    check_laws(scene)
    step, _, *sums, contributors, missing = scene.final()
    if not missing:
        centres, counts, ssd = scene.by_hand()[-1]
        assert sums == [flat(centres), counts, ssd]
        assert (step, contributors) == (len(scene.by_hand()), 2 ** len(scene.data) - 1)


@laws
@given(scenes(), faults, troubles, st.sets(st.integers(0, 11), min_size=1, max_size=5))
def test_more_than_half_of_the_nodes_finish_without_the_others(
    scene: Scene, fault: Faults, events: list[Trouble], places: set[int]
) -> None:
    ids = list(scene.data)
    away: set[int] = set()
    for place in places:
        node = ids[place % len(ids)]
        rest = set(ids) - away - {node}
        if 2 * len(rest) > len(ids) and connected(scene.near, rest):
            away.add(node)
    scene.bus.faults(*fault)
    disturb(scene, events)
    mend(scene, away)
    check_laws(scene)
    scene.final()
    # Whoever was not in the last step is named.
    last = scene.held(next(iter(scene.bus.nodes)))
    everyone = 2 ** len(ids) - 1
    assert last.missing & ~last.contributors & everyone == ~last.contributors & everyone


@laws
@given(scenes(), st.integers(0, 999), st.integers(0, PERIOD - 1))
def test_without_loss_it_is_the_central_result_in_any_order_and_at_any_time(
    scene: Scene, seed: int, begin: int
) -> None:
    bus = scene.bus
    bus.now = begin
    for node in scene.data:
        bus.kill(node)
        bus.boot(node)
    bus.shuffle(seed)
    centres, counts, ssd = scene.by_hand()[-1]
    step, _, *sums, contributors, missing = scene.finish().final()
    assert sums == [flat(centres), counts, ssd]
    assert (step, contributors, missing) == (len(scene.by_hand()), 2 ** len(scene.data) - 1, 0)
    assert bus.elapsed == 0
    assert check_laws(scene) == step
    assert {commit.epoch[0] for _, commit in kept(scene)} == {0}


@st.composite
def seedings(draw: Any, most: int = 8) -> SeedingScene:
    """A network that draws points, some of which many nodes have, traced."""
    ids, near = draw(networks(most))
    data = {}
    for node in ids:
        count = draw(st.integers(0, 6))
        data[node] = draw(st.lists(coordinates, min_size=2 * count, max_size=2 * count))
    tree = shortest_tree(near, ids[0])
    scene = SeedingScene(data, tree, near=near, k=draw(st.integers(1, 6)), seed=draw(st.integers(0, 9)))
    scene.bus.trace = []
    return scene


@settings(laws, max_examples=60)
@given(seedings(), faults, troubles)
def test_whatever_happens_in_a_seeding_each_commit_is_what_its_contributors_draw(
    scene: SeedingScene, fault: Faults, events: list[Trouble]
) -> None:
    scene.bus.faults(*fault)
    disturb(scene, events)
    mend(scene, set())
    check_draws(scene)
    *_, missing = scene.final()
    if not missing:
        assert scene.drawn(next(iter(scene.data))) == scene.expected()
