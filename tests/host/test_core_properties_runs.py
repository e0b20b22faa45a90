"""Laws of whole runs of `gossip`, on networks, data and faults drawn by hypothesis: tests/core's loops, wider."""

from typing import Any, NamedTuple

from exchange import ROWS, Exchange
from gossip_inputs import LEVELS, Inputs, errors
from hypothesis import given, settings
from hypothesis import strategies as st
from liars import suspects
from scenes import Scene

from dcka_core.messages import FINAL, UNDECIDED

laws = settings(derandomize=True, deadline=None, max_examples=100)
K, N = 3, 2

coordinates = st.one_of(st.integers(0, 3), st.sampled_from([0, 32767]), st.integers(0, 32767))
readings = st.integers(0, 8).flatmap(
    lambda count: st.lists(coordinates, min_size=N * count, max_size=N * count)
)
percents = st.sampled_from([0, 0, 10, 25, 40])


class Faults(NamedTuple):
    seed: int
    loss: int
    double: int
    delay: int
    everything: bool


faults = st.builds(Faults, st.integers(0, 999), percents, percents, percents, st.booleans())


class Trouble(NamedTuple):
    """After so many events: which node (by its place), whether its power or its link fails, and for how long."""

    events: int
    place: int
    power: bool
    away_ms: int


troubles = st.builds(
    Trouble, st.integers(0, 120), st.integers(1, 9), st.booleans(), st.sampled_from([0, 50, 100, 330])
)


@st.composite
def topologies(draw: Any) -> tuple[list[list[tuple[int, int]]], int]:
    """Phases of up to four nodes 1, 2, …, which only together connect them, and a window that suffices."""
    size = draw(st.integers(2, 4))
    phases: list[set[tuple[int, int]]] = [set() for _ in range(draw(st.integers(1, 2)))]
    for node in range(2, size + 1):
        draw(st.sampled_from(phases)).add((draw(st.integers(1, node - 1)), node))
    pairs = [(a, b) for a in range(1, size) for b in range(a + 1, size + 1)]
    for phase in phases:
        phase.update(pair for pair in pairs if draw(st.integers(0, 3)) == 0)
    # Each round of phases brings what a node knows one link further at least.
    return [sorted(phase) for phase in phases], len(phases) * (size - 1)


def disturbed(scene: Scene, events: list[Trouble], spared: int | None) -> None:
    """Run to the end, with these troubles on the way; `spared` never loses its power."""
    bus = scene.bus
    scene.start()
    for trouble in events:
        for _ in range(trouble.events):
            bus.step()
        node = sorted(scene.data)[trouble.place % len(scene.data)]
        if trouble.power and node != spared:
            bus.kill(node)
            bus.run_for(trouble.away_ms)
            bus.boot(node)
        elif not trouble.power:
            bus.unplug(node)
            bus.run_for(trouble.away_ms)
            bus.plug_in(node)
    assert bus.run(bus.all_done, 30_000), scene.told()
    bus.settle()
    assert suspects(scene) == []


@laws
@given(topologies(), st.integers(0, 999), percents, percents, st.integers(1, 120))
def test_mass_is_conserved(topology: Any, seed: int, loss: int, double: int, moments: int) -> None:
    exchange = Exchange(topology[0], seed)
    for moment in range(moments):
        exchange.event(loss, double)
        exchange.check(moment)
    exchange.level()
    exchange.check("level")
    assert exchange.on_its_way() == [0] * ROWS


def gossip_scene(topology: Any, data: Any, **settings: Any) -> Scene:
    phases, window = topology
    ids = sorted({node for phase in phases for link in phase for node in link})
    points = {node: data.draw(readings) for node in ids}
    given_settings = {"window": window, "k": 2, "max_steps": 3, "max_slots": 10 * window, **settings}
    return Scene(points, phases, **given_settings)


@laws
@given(topologies(), st.data(), st.sampled_from([1, 50, 1000]), st.sampled_from(["local", "shared"]), faults)
def test_gossip_ends_and_what_it_decides_is_within_the_tolerance(
    topology: Any, data: Any, steps: int, init: str, fault: Faults
) -> None:
    tolerance = steps * LEVELS
    scene = gossip_scene(topology, data, tolerance=tolerance, init=init)
    scene.bus.log = []
    scene.bus.faults(*fault)
    with Inputs() as put:
        disturbed(scene, [], None)
    for node in scene.data:
        assert scene.held(node).flags & FINAL
        for report in scene.reports("step", node):
            if not report["flags"] & UNDECIDED:
                found = errors(put[report["step"]], report["centres"], 2, N)
                # Half a grid step for the rounding of a centre, a level for the floors.
                assert max([error or 0 for error in found]) <= tolerance + LEVELS // 2 + 1, (node, report)


@laws
@given(topologies(), st.data(), faults, st.lists(troubles, min_size=1, max_size=3))
def test_gossip_ends_everywhere_whatever_happens(
    topology: Any, data: Any, fault: Faults, events: list[Trouble]
) -> None:
    scene = gossip_scene(topology, data, tolerance=50 * LEVELS)
    scene.bus.faults(*fault)
    disturbed(scene, events, None)
    for node in scene.data:
        held = scene.held(node)
        assert held.flags & FINAL and 1 <= held.step <= 3
        assert max(held.centres) < 1 << 15


@laws
@given(topologies(), st.data(), st.integers(0, 999))
def test_gossip_without_loss_is_the_same_in_any_order(topology: Any, data: Any, seed: int) -> None:
    scene = gossip_scene(topology, data, tolerance=LEVELS)
    other = Scene(scene.data, scene.links, **scene.settings)
    other.bus.shuffle(seed)
    ends = []
    for one in (scene, other):
        one.finish()
        assert one.bus.elapsed == 0
        held = [one.held(node) for node in sorted(one.data)]
        ends.append([(end.step, end.flags, end.centres, end.counts, end.ssd) for end in held])
    assert ends[0] == ends[1]


# ---- garbage ----


topics = st.sampled_from(
    ["run", "rows/1", "status/1", "put/1", "x/0/2", "x/1/2", "commit/2", "x/0/9", "commit/9", "x/a/b"]
)
texts = st.one_of(
    st.binary(max_size=40),
    st.builds(lambda head, body: bytes([head, 1, 2]) + body, st.integers(0x10, 0x16), st.binary(max_size=60)),
    st.sampled_from(
        [b"{", b"[]", b"null", b'{"v":1,"run":9}', b'{"v":1,"run":9,"kind":"tree"}', b"[" * 2000]
    ),
)


@laws
@given(st.booleans(), st.lists(st.tuples(topics, texts), min_size=1, max_size=20), st.integers(0, 40))
def test_garbage_in_mid_run_crashes_nobody(tree: bool, garbage: list[tuple[str, bytes]], events: int) -> None:
    links: Any = {1: 0, 2: 1} if tree else [[(1, 2)], [(1, 2)]]
    scene = Scene({1: [1, 2, 30, 4], 2: [5, 60, 7, 8]}, links, k=2, max_steps=3, max_slots=8)
    bus = scene.bus
    scene.start()
    while scene.session(1) is None:
        bus.step()
    for _ in range(events):
        bus.step()
    node = bus.nodes[1]
    for topic, payload in garbage:
        session = node.session
        bus.perform(1, node.receive("dcka/t/" + topic, payload, bus.now))
        assert node.session is session or session.done
        bus.step()
    assert bus.run(lambda: scene.session(2).done, 20_000), scene.told()
