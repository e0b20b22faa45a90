"""`gossip` without loss: what it comes to, when it stops, and that only the messages' contents matter."""

from gossip_inputs import LEVELS, Inputs, errors
from plain_kmeans import flat, kmeans, tuples
from scenes import SQUARE, SWITCHED, Scene, cloud

from dcka_core.messages import CONVERGED, FINAL, GOSSIP, KEPT, UNDECIDED
from dcka_core.starts import draw_local, draw_shared

PAIR = [[(1, 2)]]
FULL = [[(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]]
# A line of which each slot has only some links: it takes 4 slots to tell all.
LINE = [[(1, 2), (3, 4)], [(2, 3)]]


def new_scene(phases, **settings):
    ids = sorted({node for phase in phases for link in phase for node in link})
    return Scene({node: cloud(node, 6 + node) for node in ids}, phases, **settings)


def ended(scene):
    """What each node came to."""
    return [
        (node, held.step, held.flags, held.centres, held.counts, held.ssd, scene.bus.nodes[node].ledger[0])
        for node, held in [(node, scene.held(node)) for node in sorted(scene.data)]
    ]


def test_every_step_is_within_the_tolerance_of_what_was_put_in():
    for phases, window in ((PAIR, 1), (SQUARE, 2), (SWITCHED, 4), (LINE, 4)):
        for tolerance in (20 * LEVELS, 300 * LEVELS):
            scene = new_scene(phases, window=window, tolerance=tolerance, max_slots=400, max_steps=2, k=2)
            scene.bus.log = []
            with Inputs() as put:
                scene.finish()
            for node in scene.data:
                for report in scene.reports("step", node):
                    assert not report["flags"] & UNDECIDED
                    assert len(put[report["step"]]) == len(scene.data)
                    for error in errors(put[report["step"]], report["centres"], 2, 2):
                        # Half a step more for the rounding of the centre, a level for the two floors.
                        assert error is None or error <= tolerance + LEVELS // 2 + 1, (
                            phases,
                            tolerance,
                            node,
                            report,
                        )


def test_a_complete_graph_is_the_centralised_algorithm():
    """Of a power of two nodes, shares are exact, and one slot is the mean: bit for bit."""
    for phases in (PAIR, FULL):
        for init in ("shared", "local"):
            scene = new_scene(phases, window=1, slots=1, tolerance=0, init=init)
            scene.finish()
            points = [tuples(scene.data[node], 2) for node in scene.data]
            shared = tuples(draw_shared(scene.extents, 3, 5), 2)
            draws = [draw_local(scene.points(node), 3, 5, node) for node in scene.data]
            local = init == "local"
            starts = [tuples(draw, 2) for draw in draws] if local else [shared] * len(points)
            steps = kmeans(points, starts, shared if local else None, 30)
            for node in scene.data:
                held = scene.held(node)
                assert held.centres == flat(steps[-1][0]) and held.counts == steps[-1][1], (
                    phases,
                    init,
                    node,
                )
                assert held.flags & CONVERGED
            assert sum([scene.held(node).ssd for node in scene.data]) == steps[-1][2]


def test_one_node_is_plain_k_means():
    scene = Scene({7: cloud(1, 25)}, [[]], k=4, window=1, tolerance=0)
    scene.finish()
    shared = tuples(draw_shared(scene.extents, 4, 5), 2)
    steps = kmeans([tuples(scene.data[7], 2)], [shared], None, 30)
    assert scene.held(7).centres == flat(steps[-1][0])
    assert scene.held(7).counts == steps[-1][1]
    assert scene.held(7).ssd == steps[-1][2]


def test_the_order_of_deliveries_is_irrelevant():
    for phases, window in ((SQUARE, 2), (SWITCHED, 4)):
        settings = {"window": window, "max_steps": 2, "k": 2, "tolerance": 2000 * LEVELS}
        first = ended(new_scene(phases, **settings).finish())
        for seed in range(3):
            scene = new_scene(phases, **settings)
            scene.bus.shuffle(seed)
            scene.finish()
            assert ended(scene) == first, (phases, seed)
            assert scene.bus.elapsed == 0


def test_all_nodes_end_the_same_step_in_the_same_slot():
    scene = new_scene(SQUARE, init="local").finish()
    assert len({(step, flags, slots) for _, step, flags, _, _, _, slots in ended(scene)}) == 1
    assert scene.held(1).flags & FINAL and scene.held(1).flags & CONVERGED


def test_a_fixed_number_of_slots():
    for slots in (4, 8):
        scene = new_scene(LINE, window=4, slots=slots, max_steps=3, tolerance=0)
        scene.bus.log = []
        scene.finish()
        for node in scene.data:
            reports = scene.reports("step", node)
            assert [report["slots"] for report in reports] == [slots] * 3
            assert [report["flags"] & UNDECIDED for report in reports] == [0] * 3
            assert scene.bus.nodes[node].ledger[0] == 3 * slots


def test_max_slots_ends_a_step_undecided():
    scene = new_scene(LINE, window=4, tolerance=0, max_slots=6, max_steps=2)
    scene.bus.log = []
    scene.finish()
    for node in scene.data:
        assert [report["slots"] for report in scene.reports("step", node)] == [6, 6]
        assert scene.held(node).flags & (FINAL | CONVERGED | GOSSIP | UNDECIDED) == FINAL | GOSSIP | UNDECIDED
        assert not scene.session(node).result()["converged"]


def test_a_step_is_not_decided_in_its_first_window():
    """Nobody is ready there: what was on its way when the step began may not have come."""
    scene = new_scene(SQUARE, window=2, tolerance=1 << 24, max_steps=2)
    scene.bus.log = []
    scene.finish()
    assert [report["slots"] for report in scene.reports("step", 1)] == [4, 4]


def test_the_run_goes_on_while_anybody_moves():
    """A node that has come to rest goes on for the others: the end is decided by all."""
    scene = new_scene(LINE, window=4, tolerance=50 * LEVELS)
    scene.bus.log = []
    scene.finish()
    reports = [scene.reports("step", node) for node in scene.data]
    assert len({len(told) for told in reports}) == 1
    for step in range(len(reports[0]) - 1):
        nobody = not [told for told in reports if told[step]["moved"]]
        # What has moved in a step is known in the next, which then is the last.
        assert nobody == (step == len(reports[0]) - 2), step


def test_a_cluster_that_is_empty_everywhere_keeps_its_centre():
    start = [0, 0, 10, 0, 30000, 30000]
    scene = Scene({1: [0, 0, 10, 0], 2: [1, 1, 11, 1]}, PAIR, window=1, init="given", centres=start)
    scene.finish()
    for node in (1, 2):
        held = scene.held(node)
        assert held.centres[4:] == [30000, 30000] and held.counts == [2, 2, 0]
        assert held.flags == FINAL | CONVERGED | GOSSIP | KEPT


def test_a_cluster_empty_everywhere_in_step_0_of_local_takes_the_shared_centre():
    scene = Scene({1: [5, 5] * 4, 2: [5, 5] * 3}, PAIR, window=1, init="local", max_steps=1)
    scene.finish()
    shared = draw_shared(scene.extents, 3, 5)
    for node in (1, 2):
        assert scene.held(node).centres == [5, 5] + shared[2:]
        assert scene.held(node).flags & KEPT


def test_nodes_without_points_and_with_fewer_than_k():
    data = {1: cloud(1, 9), 2: [], 3: [1, 2], 4: cloud(4, 5)}
    for init in ("shared", "local"):
        scene = Scene(data, SQUARE, init=init, tolerance=LEVELS, max_steps=3, max_slots=200)
        scene.bus.log = []
        with Inputs() as put:
            scene.finish()
        counted = [sum([sums[row] for sums in put[step] for row in (0, 3, 6)]) for step in sorted(put)]
        # A node with one point draws nothing: its point isn't in step 0 of local.
        assert counted == [15 if init == "shared" else 14] + [15] * (len(counted) - 1), (init, counted)
        for node in data:
            for report in scene.reports("step", node):
                for error in errors(put[report["step"]], report["centres"], 3, 2):
                    assert error is None or error <= LEVELS + LEVELS // 2 + 1, (init, node, report)


def test_nobody_has_a_point():
    scene = Scene({1: [], 2: []}, PAIR, window=1, tolerance=0).finish()
    for node in (1, 2):
        assert scene.held(node).centres == draw_shared(scene.extents, 3, 5)
        assert scene.held(node).flags == FINAL | CONVERGED | GOSSIP | KEPT
