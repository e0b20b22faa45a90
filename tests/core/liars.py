"""A node that does not keep to the rules: what it says on its way out is replaced by lies, each of one kind."""

from bus import Bus

from dcka_core.epochs import write_place
from dcka_core.messages import CONVERGED, FINAL, read_commit
from dcka_core.tree_messages import Up


class Liar(Bus):
    """A bus on which one node lies. lie: one of LIES. told: how many messages were replaced."""

    def __init__(self, lie, liar=0, begin=0):
        super().__init__("t", begin)
        self.lie = lie
        self.liar = liar
        self.told = 0
        self.record = None

    def publish(self, topic, payload, retain=False):
        if topic == "dcka/t/run":
            self.record = payload
        for one in self.said(topic, payload):
            super().publish(topic, one, retain)

    def said(self, topic, payload):
        kind, sender = topic.split("/")[2], topic.split("/")[-1]
        machine = self.nodes.get(self.liar)
        if sender != str(self.liar) or not machine or not machine.session:
            return [payload]
        lies = LIES[self.lie](kind, machine.session, payload)
        self.told += lies != [payload]
        return lies


def up_of(session):
    """What the liar was about to say, to be changed and said in full."""
    message = Up()
    for name in ("sender", "boot", "step", "epoch", "start", "parent", "contributors", "squares"):
        setattr(message, name, getattr(session._told, name))
    message.sums = list(session._told.sums)
    return message


def of_sums(change):
    """A lie about its sums. change: of an `Up`, with the session."""

    def lie(kind, session, payload):
        if kind != "x":
            return [payload]
        message = up_of(session)
        change(message, session)
        return [bytes(message.encode(session.run))]

    return lie


def of_commits(change):
    """A lie about what it holds."""

    def lie(kind, session, payload):
        if kind != "commit":
            return [payload]
        commit = read_commit(session.held.encode(session.run), session.run)
        change(commit, session.run)
        return [bytes(commit.encode(session.run))]

    return lie


def one_point_more(message, session):
    message.sums[0] += 1


def beyond_the_range(message, session):
    top = (1 << session.run.bits) - 1
    message.sums[0] = max(message.sums[0], 1)
    message.sums[1] = message.sums[0] * (top + 1)


def too_many_squares(message, session):
    message.squares = sum(message.sums) << 2 * session.run.bits


def too_few_squares(message, session):
    """Less than any points with these sums have; in step 0 of `local`, where that is possible, too many."""
    message.squares = 0 if message.step or session.run.init != "local" else 1 << 60


def for_others(message, session):
    message.contributors |= 1 << session.run.members.index(session.run.root)


def not_for_itself(message, session):
    message.contributors &= ~(1 << session.run.members.index(message.sender))


def of_nobodys_epoch(commit, run):
    commit.epoch = (commit.epoch[0] + 1, 0, 1)


def without_a_root(commit, run):
    commit.contributors &= ~(1 << run.members.index(commit.epoch[1]))


def counts_that_do_not_add_up(commit, run):
    commit.counts[0] += 1


def beyond_the_last_step(commit, run):
    commit.step = run.max_steps + 1
    commit.flags |= FINAL


def an_end_without_a_reason(commit, run):
    commit.step = max(1, min(commit.step, run.max_steps - 1))
    commit.flags = (commit.flags | FINAL) & ~CONVERGED


def farther_than_any_two_points(commit, run):
    commit.ssd = 1 << 62


def malformed(kind, session, payload):
    return [bytes(payload) + b"\x00"] if kind in ("x", "commit", "epoch") else [payload]


def two_faces(kind, session, payload):
    """Two sums of the same points, both possible."""
    if kind != "x":
        return [payload]
    one, other = up_of(session), up_of(session)
    n = session.run.n
    rows = [row for row in range(0, len(one.sums), n + 1) if one.sums[row]]
    if len(rows) != 1 or len(one.sums) == n + 1 or one.contributors != session.own:
        return [payload]
    there = (rows[0] + n + 1) % len(one.sums)
    for j in range(n + 1):
        other.sums[there + j], other.sums[rows[0] + j] = one.sums[rows[0] + j], 0
    return [bytes(one.encode(session.run)), bytes(other.encode(session.run))]


def an_epoch_of_nobody(kind, session, payload):
    if kind != "x":
        return [payload]
    held = session.held.step if session.held else 0
    place = write_place(session.run, session.node, session.boot, held, (1, 0, 1), 0)
    for _ in range(2):
        session.send("epoch/%d" % session.node, place)
    return [payload]


LIES = {
    "one point more": of_sums(one_point_more),
    "beyond the range": of_sums(beyond_the_range),
    "too many squares": of_sums(too_many_squares),
    "too few squares": of_sums(too_few_squares),
    "for others": of_sums(for_others),
    "not for itself": of_sums(not_for_itself),
    "two faces": two_faces,
    "of nobody's epoch": of_commits(of_nobodys_epoch),
    "without a root": of_commits(without_a_root),
    "counts that do not add up": of_commits(counts_that_do_not_add_up),
    "beyond the last step": of_commits(beyond_the_last_step),
    "an end without a reason": of_commits(an_end_without_a_reason),
    "farther than any two points": of_commits(farther_than_any_two_points),
    "malformed": malformed,
    "an epoch of nobody": an_epoch_of_nobody,
}


def suspects(scene):
    """Everybody that an honest node holds anything against."""
    found = []
    for node in scene.bus.nodes:
        session = scene.session(node)
        if session and session.quarantine:
            found.extend(session.quarantine._faults)
            found.extend([int(who) for who in session.struck])
    return sorted(set(found))
