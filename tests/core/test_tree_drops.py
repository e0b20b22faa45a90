"""`tree`: each message that is not what it has to be is dropped with its reason, and the run's outcome stays."""

from scenes import Scene, cloud

from dcka_core.lloyd import assign
from dcka_core.messages import CONVERGED, FINAL, Commit
from dcka_core.record import read_run
from dcka_core.tree_messages import Up, read_up

PARENTS = {1: 0, 2: 1, 3: 1, 4: 2}
X2 = "dcka/t/x/0/2"


def new_scene():
    return Scene({node: cloud(node, 10) for node in PARENTS}, PARENTS)


EXPECTED = new_scene().finish().final()


class Root:
    """Node 1 in step 0, after its child 3 was heard; what 2 sends is lost on its way until `finish`, and kept here."""

    def __init__(self):
        self.scene = new_scene()
        bus = self.scene.bus
        bus.lose = self.lose
        self.payload = None
        self.scene.start()
        bus.settle()
        self.run = read_run(self.scene.record())
        assert self.scene.held(1) is None and self.payload is not None

    def lose(self, topic, node, payload):
        if topic == X2 and node == 1:
            self.payload = payload
        return topic == X2

    def up(self, **changes):
        """The message of node 2, changed."""
        up = read_up(self.payload, self.run)
        for name in changes:
            setattr(up, name, changes[name])
        return bytes(up.encode(self.run))

    def receive(self, payload, topic=X2):
        bus = self.scene.bus
        before = dict(self.scene.dropped(1))
        bus.perform(1, bus.nodes[1].receive(topic, payload, bus.now))
        after = self.scene.dropped(1)
        return [reason for reason in after if after[reason] != before.get(reason, 0)]

    def finish(self):
        """The run ends as if nothing had been."""
        self.scene.bus.lose = None
        assert self.scene.bus.run(self.scene.bus.all_done)
        assert self.scene.final() == EXPECTED


class Heard:
    """The last message on a topic."""

    def __init__(self, topic):
        self.topic = topic
        self.last = None

    def __call__(self, topic, payload):
        if topic == self.topic:
            self.last = payload


def moved(up_sums):
    """Sums of the same points, of which one has gone from the first cluster that has some to another one."""
    sums = list(up_sums)
    rows = [row for row in range(0, len(sums), 3) if sums[row] > 1]
    here = rows[0]
    there = (here + 3) % len(sums)
    for j in range(3):
        share = sums[here + j] // sums[here] if j else 1
        sums[here + j] -= share
        sums[there + j] += share
    return sums


def check(cases):
    """Each (changes, reason) is dropped for that reason, none is used; once alone, nobody is quarantined for it."""
    for changes, reason in cases:
        root = Root()
        assert root.receive(root.up(**changes)) == [reason], (changes, root.scene.dropped(1))
        assert root.scene.held(1) is None, changes
        root.finish()


def test_what_is_right_is_taken():
    root = Root()
    assert root.receive(root.payload) == []
    assert root.scene.held(1).step == 1
    root.finish()


def test_another_parent():
    check([({"parent": 3}, "parent"), ({"parent": 0}, "parent"), ({"parent": 2}, "parent")])


def test_another_epoch():
    check([({"epoch": epoch}, "epoch") for epoch in ((1, 1, 0), (0, 2, 0), (0, 1, 1))])


def test_another_start():
    check([({"start": bytes(4)}, "hash"), ({"start": b"\xff" * 4}, "hash")])


def test_another_step():
    check([({"step": 1}, "stale"), ({"step": 1000}, "stale")])


def test_contributors_that_are_nobody_or_not_of_the_subtree():
    # Indices by preorder: 1, 3, 2, 4. The root has itself and 3.
    sets = (0, 0b0001, 0b0010, 0b1000, 0b1110, 0b1111)
    check([({"contributors": members}, "set") for members in sets])


def test_contributors_that_another_has_brought_already():
    """In a new tree that may come of a message that was late: nobody's fault."""
    root = Root()
    scene = root.scene
    session = scene.session(1)
    session._trouble().mint(scene.bus.now)
    assert root.receive(root.up(epoch=session.epoch)) == []
    other = read_up(root.payload, root.run)
    other.sender, other.contributors, other.epoch = 4, 0b1000, session.epoch
    other.sums, ssd = assign(scene.points(4), session.start_centres(), 3)
    other.squares = ssd + session.moment(other.sums)
    assert root.receive(bytes(other.encode(root.run)), "dcka/t/x/0/4") == ["overlap"]
    assert session.quarantine is None


def test_a_forged_sender():
    root = Root()
    assert root.receive(root.up(sender=3)) == ["sender"]
    assert root.receive(root.payload, "dcka/t/x/0/3") == ["sender"]
    root.finish()


def test_a_stranger():
    root = Root()
    for stranger in (4, 9, 65535):
        assert root.receive(root.up(sender=stranger), "dcka/t/x/0/%d" % stranger) == ["stranger"], stranger
    root.finish()


def test_another_run():
    root = Root()
    for number in (0, 2, 1 << 40):
        other = read_run(root.scene.record(run=max(1, number)))
        other.number = number
        payload = bytes(read_up(root.payload, root.run).encode(other))
        assert root.receive(payload) == ["run"], number
    root.finish()


def test_malformed_sums():
    root = Root()
    whole = root.payload
    for size in range(len(whole)):
        if size % 3 == 0:
            # A fourth would bring its sender into quarantine.
            root = Root()
        assert root.receive(whole[:size]) == ["length"], size
    root.finish()
    root = Root()
    assert root.receive(whole + b"\x00") == ["length"]
    assert root.receive(b"\x21" + whole[1:]) == ["version"]
    assert root.receive(b"\x12" + whole[1:]) == ["version"]
    assert root.receive(root.up(sums=[41] + [0] * 8)) == ["value"]
    root.finish()


def test_sums_that_come_again_are_duplicates():
    """Case C20: the same sums under another boot, later, and after their step."""
    root = Root()
    scene = root.scene
    scene.bus.watch = heard = Heard("dcka/t/x/0/3")
    scene.bus.run_for(100)
    scene.bus.settle()
    assert scene.dropped(1) == {"duplicate": 1}, scene.dropped(1)
    again = read_up(heard.last, root.run)
    again.boot = 9
    assert root.receive(bytes(again.encode(root.run)), "dcka/t/x/0/3") == ["duplicate"]
    assert root.receive(root.payload) == []
    assert root.receive(root.payload) == ["stale"]
    root.finish()


def test_other_sums_of_the_same_contributors_are_a_conflict():
    """Case C20: counted, shown in the status, and not used."""
    root = Root()
    scene = root.scene
    scene.bus.watch = heard = Heard("dcka/t/x/0/3")
    scene.bus.run_for(100)
    up = read_up(heard.last, root.run)
    for changes in ({"sums": moved(up.sums)}, {"squares": up.squares + 1}):
        other = read_up(heard.last, root.run)
        for name in changes:
            setattr(other, name, changes[name])
        assert root.receive(bytes(other.encode(root.run)), "dcka/t/x/0/3") == ["conflict"], changes
    scene.bus.run_for(110)
    assert scene.bus.nodes[1].dropped["conflict"] == 2
    assert scene.status(1)["dropped"]["conflict"] == 2
    root.finish()


def test_a_childs_later_sums_replace_its_earlier():
    """A child that has heard more of its own sends more: the latest counts, once."""
    root = Root()
    scene = root.scene
    part = Up()
    whole = read_up(root.payload, root.run)
    for name in ("sender", "boot", "step", "epoch", "start", "parent"):
        setattr(part, name, getattr(whole, name))
    # Index 2 is node 2 itself; its child 4 has index 3.
    part.contributors = 0b0100
    part.sums, ssd = assign(scene.points(2), scene.session(2).start_centres(), 3)
    part.squares = ssd + scene.session(2).moment(part.sums)
    assert root.receive(bytes(part.encode(root.run))) == []
    assert scene.held(1) is None
    assert root.receive(root.payload) == []
    assert scene.held(1).step == 1
    root.finish()


# ---- commits ----


def commit_topic(node):
    return "dcka/t/commit/%d" % node


def a_commit(scene, node=1, number=1, **changes):
    run = read_run(scene.record(number))
    commit = Commit()
    commit.sender, commit.boot, commit.step, commit.flags = node, 1, 1, FINAL | CONVERGED
    commit.epoch, commit.contributors, commit.missing = (0, 1, 0), 0b1111, 0
    commit.centres, commit.counts, commit.ssd = [1] * (run.k * run.n), [40, 0, 0], 7
    for name in changes:
        setattr(commit, name, changes[name])
    return bytes(commit.encode(run))


def test_commits_of_strangers_and_forged_ones_are_dropped():
    root = Root()
    scene = root.scene
    node = scene.bus.nodes[1]
    cases = [
        (commit_topic(2), a_commit(scene, 3), "sender"),
        (commit_topic(9), a_commit(scene, 9), "stranger"),
        (commit_topic(2), a_commit(scene, 2)[:-1], "length"),
        (commit_topic(2), a_commit(scene, 2, centres=[1 << 15] * 6), "value"),
        (commit_topic(2), a_commit(scene, 2, flags=4), "value"),
    ]
    for topic, payload, reason in cases:
        assert root.receive(payload, topic) == [reason], (topic, reason, scene.dropped(1))
    # Of a run whose record hasn't come: kept aside, harmless.
    node.receive(commit_topic(2), a_commit(scene, 2, number=9), scene.bus.now)
    assert scene.held(1) is None
    root.finish()


def test_commits_of_an_older_run_are_dropped():
    scene = new_scene()
    scene.bus.log = []
    scene.finish(1)
    old = [payload for topic, payload in scene.bus.log if topic == commit_topic(1)][-1]
    scene.start(2)
    while scene.session(2) is None or scene.session(2).run.number < 2:
        scene.bus.step()
    before = scene.dropped(2).get("run", 0)
    scene.bus.nodes[2].receive(commit_topic(1), old, scene.bus.now)
    assert scene.dropped(2)["run"] == before + 1
    assert scene.bus.run(scene.bus.all_done)
    assert scene.final() == EXPECTED


def test_an_own_commit_that_comes_back_changes_nothing():
    scene = new_scene().finish()
    node = scene.bus.nodes[2]
    assert node.receive(commit_topic(2), a_commit(scene, 2, step=29), scene.bus.now) == []
    assert scene.final() == EXPECTED


def test_an_emptied_commit_changes_nothing():
    """The host clears what old runs have left with an empty retained message."""
    scene = new_scene().finish()
    assert scene.bus.nodes[2].receive(commit_topic(1), b"", scene.bus.now) == []
    assert scene.dropped(2) == {}
