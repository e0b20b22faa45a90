"""`tree` without faults: every step is K-means over all points, and every node ends on the same commit."""

from hashlib import sha256
from json import dumps

from bus import Bus
from plain_kmeans import flat, tuples
from scenes import FORK, LINE, STAR, Scene, cloud, preorder
from tree_laws import check_laws, content, kept, said

from dcka_core.actions import PUBLISH, SAVE
from dcka_core.messages import CONVERGED, FINAL, KEPT, is_change, read_commit
from dcka_core.record import read_run
from dcka_core.starts import Stream, draw_shared
from dcka_core.tree_messages import read_change, read_up

SHAPES = ({1: 0}, {1: 0, 2: 1}, LINE, STAR, FORK)


def data_for(parents, count=10, n=2):
    return {node: cloud(node, count + node, n) for node in parents}


def check(scene):
    """Run it: every node's commits are the steps by hand, and all end on the last one."""
    steps = scene.by_hand()
    scene.bus.trace = []
    scene.finish()
    everyone = (1 << len(scene.data)) - 1
    for node in scene.data:
        commits = [commit for who, commit in kept(scene) if who == node]
        assert [commit.step for commit in commits] == list(range(1, len(steps) + 1)), node
        for commit in commits:
            centres, counts, ssd = steps[commit.step - 1]
            where = (node, commit.step)
            assert (commit.centres, commit.counts, commit.ssd) == (flat(centres), counts, ssd), where
            assert bool(commit.flags & KEPT) == (0 in counts), where
            assert bool(commit.flags & FINAL) == (commit.step == len(steps)), where
            assert (commit.contributors, commit.missing) == (everyone, 0), where
        assert scene.status(node)["state"] == "done"
        assert scene.dropped(node) == {}, (node, scene.dropped(node))
        # Who has children says every commit, a leaf the last.
        words = [(commit.step, change) for who, commit, change in said(scene) if who == node]
        everything = list(range(1, len(steps) + 1))
        inner = node in scene.links.values()
        assert [step for step, _ in words] == (everything if inner else everything[-1:]), (node, words)
        changes = [step for step, change in words if change]
        assert [step for step in changes if step in (1, len(steps)) or step % 16 == 0] == [], (node, words)
    scene.final()
    assert check_laws(scene) == len(steps)
    return steps


def test_every_step_is_k_means_over_all_points():
    for parents in SHAPES:
        for init in ("shared", "local"):
            steps = check(Scene(data_for(parents), parents, init=init))
            assert len(steps) > 1, (parents, init)


def test_one_node_is_plain_k_means():
    for n in (1, 2, 3, 9):
        bits = {1: 15, 2: 15, 3: 14, 9: 13}[n]
        check(Scene({5: cloud(1, 25, n, bits)}, {5: 0}, n=n, bits=bits, k=4, init="local"))


def test_a_given_start():
    centres = flat([(0, 0), (32767, 32767), (100, 200)])
    check(Scene(data_for(LINE), LINE, init="given", centres=centres))


def test_a_start_that_is_the_end_converges_at_once():
    steps = check(
        Scene({1: [0, 0, 9, 9], 2: [0, 0, 9, 9]}, {1: 0, 2: 1}, init="given", centres=[0, 0, 9, 9], k=2)
    )
    assert len(steps) == 1


def test_step_0_of_local_never_converges():
    """Each node has centres of its own there, even where they come out as its own."""
    steps = check(Scene({1: [7, 7, 900, 900]}, {1: 0}, init="local", k=2))
    assert len(steps) == 2


def test_an_empty_cluster_keeps_its_centre_and_is_flagged():
    """Fewer distinct points than clusters (case C01): ends by itself, the counts add up."""
    spots = [(0, 0), (10, 0), (0, 10)]
    data = {node: flat(spots) for node in (1, 2, 3, 4)}
    start = flat([(0, 0), (0, 0), (0, 0), (0, 0), (10, 0)])
    scene = Scene(data, LINE, init="given", centres=start, k=5, max_steps=300)
    steps = check(scene)
    assert len(steps) <= 10
    assert sum(steps[-1][1]) == 12
    assert scene.held(1).flags == FINAL | CONVERGED | KEPT


def test_a_cluster_empty_everywhere_in_step_0_of_local_takes_the_shared_centre():
    # Equal points: the first of equal centres takes them all.
    scene = Scene({1: [5, 5] * 4, 2: [5, 5] * 3}, {1: 0, 2: 1}, init="local", k=3, max_steps=1)
    steps = check(scene)
    shared = tuples(draw_shared(scene.extents, 3, 5), 2)
    assert steps[0][0] == [(5, 5), shared[1], shared[2]]


def test_nodes_without_points_and_with_fewer_than_k():
    """Case C10: 7 rows at 8 nodes, K = 3."""
    parents = {node: node - 1 for node in range(1, 9)}
    data = {node: [node * 100, node * 3] if node < 8 else [] for node in parents}
    for init in ("shared", "local"):
        steps = check(Scene(data, parents, init=init, max_steps=5))
        if init == "shared":
            assert [sum(counts) for _, counts, _ in steps] == [7] * len(steps)
    data = {1: cloud(1, 9), 2: [], 3: [1, 2], 4: cloud(4, 3)}
    steps = check(Scene(data, STAR, init="local"))
    # A node with one point draws nothing: its point isn't in step 0.
    assert [sum(counts) for _, counts, _ in steps] == [12] + [13] * (len(steps) - 1)


def test_nobody_has_a_point():
    steps = check(Scene({1: [], 2: []}, {1: 0, 2: 1}, init="local"))
    assert [counts for _, counts, _ in steps] == [[0, 0, 0]] * len(steps)


def test_max_steps_ends_a_run():
    whole = len(Scene(data_for(FORK), FORK).by_hand())
    assert whole > 3
    for most in (1, 2, 3):
        scene = Scene(data_for(FORK), FORK, max_steps=most)
        check(scene)
        assert scene.held(9).step == most and not scene.held(9).flags & CONVERGED
    scene = Scene(data_for(FORK), FORK, max_steps=whole)
    check(scene)
    assert scene.held(9).flags & CONVERGED


def test_the_order_of_deliveries_is_irrelevant():
    first = Scene(data_for(FORK), FORK, init="local").finish().final()
    for seed in range(6):
        scene = Scene(data_for(FORK), FORK, init="local")
        scene.bus.shuffle(seed)
        assert scene.finish().final() == first, seed
        assert scene.bus.elapsed == 0, seed


def test_the_order_of_nodes_is_irrelevant():
    """Who is called what, and who is whose child, changes who draws what and nothing else: here all start alike."""
    readings = [cloud(number, 9) for number in range(4)]
    outcomes = []
    stream = Stream(1, b"shapes")
    for parents in (LINE, STAR, {9: 0, 3: 9, 8: 3, 5: 9}, {4: 0, 3: 4, 2: 3, 1: 2}):
        for _ in range(2):
            shares = list(readings)
            data = {node: shares.pop(stream.below(len(shares))) for node in parents}
            outcomes.append(Scene(data, parents).finish().final()[:5])
    assert [one for one in outcomes if one != outcomes[0]] == []


def test_points_may_be_at_any_node():
    together = cloud(1, 40)
    outcomes = []
    for cuts in ((0, 20, 40, 60, 80), (0, 0, 0, 0, 80), (0, 2, 4, 6, 80), (0, 80, 80, 80, 80)):
        data = {node: together[cuts[node - 1] : cuts[node]] for node in LINE}
        outcomes.append(Scene(data, LINE).finish().final()[:5])
    assert [one for one in outcomes if one != outcomes[0]] == []


def test_a_commit_is_on_flash_before_it_is_published():
    """Whole or as what it changes: the words that follow a SAVE say what was saved."""
    scene = Scene(data_for(FORK), FORK)
    scene.bus.trace = []
    scene.finish()
    on_flash = kept(scene)
    words = said(scene)
    published = changes = 0
    last = {}
    for node, action in scene.bus.trace:
        if action[0] == SAVE and action[1] == "commit.bin":
            last[node] = on_flash.pop(0)
        elif action[0] == PUBLISH and "/commit/" in action[1]:
            who, commit, change = words.pop(0)
            assert who == node and content(commit) == content(last[node][1]), node
            assert change == is_change(action[2]) != action[3]
            published += 1
            changes += change
    assert published > changes > len(FORK)


def test_the_run_is_on_flash_before_anything_of_it_is_sent():
    scene = Scene(data_for(LINE), LINE)
    scene.bus.trace = []
    scene.finish()
    for node in LINE:
        own = [action for who, action in scene.bus.trace if who == node]
        stored = [place for place in range(len(own)) if own[place][:2] == (SAVE, "run.json")]
        spoken = [place for place in range(len(own)) if own[place][0] == PUBLISH and "/x/" in own[place][1]]
        assert len(stored) == 1 and (node == 1 or stored[0] < spoken[0]), node


def test_sums_name_the_start_they_were_made_with():
    for init in ("local", "shared"):
        scene = Scene(data_for(LINE), LINE, init=init)
        scene.bus.log = []
        scene.finish()
        run = read_run(scene.record())
        steps = scene.by_hand()
        ups = []
        last = {}
        held = None
        for topic, payload in scene.bus.log:
            if "/x/0/" in topic:
                up = read_up(payload, run, last, held)
                last[up.sender] = up
                ups.append(up)
            elif topic == "dcka/t/commit/1":
                held = read_change(payload, run, held) if is_change(payload) else read_commit(payload, run)
        assert len(ups) == 3 * len(steps)
        assert [up.step for up in ups if up.start] == [0] * 3 + ([1] * 3 if init == "local" else [])
        for up in ups:
            if not up.start:
                # Differences go by the commit of their epoch and step: there is one.
                continue
            start = flat(steps[up.step - 1][0]) if up.step else draw_shared(scene.extents, 3, 5)
            text = b"".join([value.to_bytes(2, "little") for value in start])
            if up.step == 0 and init == "local":
                text = b"local" + (5).to_bytes(8, "little")
            assert up.start == sha256(text).digest()[:4], (init, up.sender, up.step)
            assert (up.epoch, up.parent) == ((0, 1, 0), up.sender - 1)


def test_the_broadcasts_of_a_step_without_loss():
    """Sums from all but the root, and each commit from whoever has children; the last one from everybody."""
    scene = Scene(data_for(FORK), FORK)
    scene.bus.log = []
    scene.finish()
    steps = scene.held(4).step
    for node in FORK:
        commits = steps if node in FORK.values() else 1
        sums = 0 if node == 4 else steps
        assert scene.reports("result", node)[0]["sent"] == sums + commits, node
    assert preorder(FORK) == [4, 7, 5, 2, 9, 1]


def test_sums_that_come_before_the_run_record_wait_for_it():
    """The root hears of the run last: it has all it needs then, and nobody has to say it again."""
    scene = Scene(data_for(STAR), STAR)
    scene.bus.lose = lambda topic, node, payload: node == 1 and topic == "dcka/t/run"
    scene.start()
    scene.bus.settle()
    assert scene.session(1) is None and scene.session(2).held is None
    scene.bus.lose = None
    assert scene.bus.elapsed == 0
    scene.bus.publish("dcka/t/run", dumps(scene.record()), True)
    assert scene.bus.run(scene.bus.all_done)
    assert scene.bus.elapsed == 0
    assert scene.final() == Scene(data_for(STAR), STAR).finish().final()


def test_the_next_run_is_not_troubled_by_the_last():
    """Case C21: a run that is over, its retained messages still there, then another with another K."""
    bus = Bus()
    scene = Scene(data_for(LINE), LINE, bus)
    scene.finish(1)
    scene.finish(2, k=4, seed=8)
    expected = Scene(data_for(LINE), LINE, k=4, seed=8).finish().final()
    assert scene.final() == expected
    bus.kill(3)
    bus.boot(3)
    bus.settle()
    assert scene.session(3).run.number == 2 and scene.session(3).done
    assert scene.final() == expected
