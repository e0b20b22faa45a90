"""Networks for the core's tests: data, rows and run records, and a `Scene` that starts runs on a bus as a host does."""

from json import dumps, loads

from bus import Bus, make_points
from plain_kmeans import kmeans, tuples

from dcka_core.record import read_run
from dcka_core.starts import Stream, draw_own, draw_shared

DATASET = bytes(range(8))
# A chain, a star, and both: child to parent, 0 above the root.
LINE = {1: 0, 2: 1, 3: 2, 4: 3}
STAR = {1: 0, 2: 1, 3: 1, 4: 1}
FORK = {4: 0, 2: 4, 7: 4, 1: 2, 9: 2, 5: 7}
# Slots of links; each connects only some, all of them together everybody.
PAIR = [[(1, 2)]]
SQUARE = [[(1, 2), (3, 4)], [(2, 3), (1, 4)]]
# A slot without a link at one node, another with two kinds of divisors at one.
SWITCHED = [[(1, 2), (1, 3), (1, 4)], [(3, 4)]]


def cloud(seed, count, n=2, bits=15, spots=3):
    """`count` readings as a flat list: around a few places that all seeds share."""
    top = (1 << bits) - 1
    places = Stream(7, b"places")
    middles = [[places.below(top + 1) for _ in range(n)] for _ in range(spots)]
    noise = Stream(seed, b"noise")
    readings = []
    for number in range(count):
        for middle in middles[(number + seed) % spots]:
            value = middle + noise.below(top) - top // 2
            readings.append(max(0, min(top, value)))
    return readings


def preorder(parents):
    """The ids so that every subtree is a range."""
    order = []
    ahead = [node for node in parents if parents[node] == 0]
    while ahead:
        node = ahead.pop()
        order.append(node)
        ahead.extend(sorted([child for child in parents if parents[child] == node]))
    return order


def depth(parents):
    """Hops from the root to the farthest node."""

    def hops(node):
        return 1 + hops(parents[node]) if parents[node] else 0

    return max([hops(node) for node in parents], default=0)


def radio(links):
    """Who is within reach of whom, by id, from pairs of ids."""
    near = {}
    for a, b in links:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    return near


def shortest_tree(near, root):
    """Child to parent, each node as few hops from the root as it can be."""
    parents = {root: 0}
    ahead = [root]
    while ahead:
        node = ahead.pop(0)
        for other in sorted(near.get(node, ())):
            if other not in parents:
                parents[other] = node
                ahead.append(other)
    return parents


def span(parents, node):
    """How many nodes a subtree has."""
    return 1 + sum([span(parents, child) for child in parents if parents[child] == node])


def tree_rows(number, parents, near=None):
    """The rows of a tree, by id. near: who is within reach of whom; everybody where nothing is said."""
    return {
        node: {
            "v": 1,
            "run": number,
            "parent": parents[node],
            "children": sorted([child for child in parents if parents[child] == node]),
            "members": span(parents, node),
            "near": sorted([other for other in (near[node] if near else parents) if other != node]),
        }
        for node in parents
    }


def tree_slots(parents):
    """(slots of a period, {node: its slots}): layer by layer up, then down."""
    deepest = depth(parents)

    def hops(node):
        return 1 + hops(parents[node]) if parents[node] else 0

    slots = {}
    for node in parents:
        children = [child for child in parents if parents[child] == node]
        here = hops(node)
        slots[node] = {
            "up": deepest - here + 1 if here else 0,
            "hear": [deepest - here] if children else [],
            "get": deepest + here if here else 0,
            "down": deepest + here + 1 if children else 0,
        }
    return 1 + 2 * deepest, slots


def _phase(node, links):
    """A node's row of one phase with Metropolis weights."""
    beside = {}
    for a, b in links:
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)

    def divisor(a, b):
        return 1 + max(len(beside[a]), len(beside[b]))

    def groups(a):
        return sorted({divisor(a, b) for b in beside.get(a, ())})

    share = [[d, len([b for b in beside[node] if divisor(node, b) == d])] for d in groups(node)]
    hear = [[b, groups(b).index(divisor(node, b))] for b in sorted(beside.get(node, ()))]
    return {"share": share, "hear": hear}


def gossip_rows(number, ids, phases):
    """The rows of a switching topology, by id."""
    return {
        node: {
            "v": 1,
            "run": number,
            "phases": [_phase(node, links) for links in phases],
            "near": sorted([other for other in ids if other != node]),
        }
        for node in ids
    }


class Scene:
    """Nodes with data on a bus. data: flat readings by id. links: parents for `tree`, phases for `gossip`.

    near: who is within reach of whom, by id; everybody where nothing is said. settings: keys of the run record that
    differ from the plain ones.
    """

    def __init__(self, data, links, bus=None, n=2, bits=15, extents=None, near=None, **settings):
        self.data = data
        self.links = links
        self.near = near
        self.kind = "tree" if isinstance(links, dict) else "gossip"
        self.n = n
        self.bits = bits
        self.extents = extents or [(1 << bits) - 1] * n
        self.settings = settings
        self.bus = bus or Bus()
        for node in data:
            self.bus.add(node, self.points(node))
        self.bus.settle()

    def points(self, node):
        return make_points(self.n, self.bits, DATASET, self.extents, self.data[node])

    def record(self, number=1, **changes):
        """The run record."""
        members = preorder(self.links) if self.kind == "tree" else sorted(self.data)
        record = {
            "v": 1,
            "run": number,
            "kind": self.kind,
            "members": members,
            "root": members[0] if members else 0,
            "depth": depth(self.links) if self.kind == "tree" else 0,
            "dataset": DATASET.hex(),
            "points": sum([len(self.data[node]) for node in self.data]) // self.n,
            "rows": [len(self.data[node]) // self.n for node in members],
            "n": self.n,
            "bits": self.bits,
            "k": 3,
            "init": "shared",
            "seed": 5,
            "max_steps": 30,
            "patience_ms": 100,
            "slots": 0,
            "max_slots": 60,
            "window": 2,
            "tolerance": 256 * 200,
        }
        if "slot_ms" in self.settings:
            record["period"] = tree_slots(self.links)[0]
        record.update(self.settings)
        record.update(changes)
        return record

    def rows(self, number=1):
        if self.kind == "tree":
            return tree_rows(number, self.links, self.near)
        return gossip_rows(number, sorted(self.data), self.links)

    def prepare(self, number=1):
        """Publish the rows, and let everybody take them."""
        rows = self.rows(number)
        if "slot_ms" in self.settings:
            slots = tree_slots(self.links)[1]
            for node in rows:
                rows[node]["slots"] = slots[node]
        for node in rows:
            self.bus.publish("dcka/t/rows/%d" % node, dumps(rows[node]), True)
        self.bus.settle()

    def start(self, number=1, **changes):
        """Rows, then the run record; nothing of the run is delivered yet."""
        self.prepare(number)
        self.bus.publish("dcka/t/run", dumps(self.record(number, **changes)), True)

    def finish(self, number=1, limit=20000, **changes):
        """Start a run, and go on until everybody has done it and all is said."""
        self.start(number, **changes)
        assert self.bus.run(self.bus.all_done, limit), self.told()
        self.bus.settle()
        return self

    # ---- what is to be seen ----

    def starts(self):
        """([centres of step 0, by member], what a cluster takes that is empty everywhere there), from the points."""
        record = self.record()
        k, seed, members = record["k"], record["seed"], record["members"]
        shared = tuples(draw_shared(self.extents, k, seed), self.n)
        if record["init"] in ("local", "sorted", "snake"):
            run = read_run(record)
            draws = [draw_own(run, self.points(node), node) for node in members]
            return [draw and tuples(draw, self.n) for draw in draws], shared
        if record["init"] == "given":
            shared = tuples(record["centres"], self.n)
        return [shared] * len(members), None

    def by_hand(self):
        """Every step of a run of `tree`, as (centres, counts, ssd), from the points alone."""
        record = self.record()
        starts, fallback = self.starts()
        points = [tuples(self.data[node], self.n) for node in record["members"]]
        return kmeans(points, starts, fallback, record["max_steps"])

    def session(self, node):
        return self.bus.nodes[node].session

    def held(self, node):
        """The commit that a node holds, if any."""
        return self.session(node) and self.session(node).held

    def final(self):
        """The commit of all nodes, which has to be one."""
        outcomes = [outcome(self.held(node)) for node in self.bus.nodes]
        assert [one for one in outcomes if one != outcomes[0]] == [], outcomes
        return outcomes[0]

    def status(self, node):
        """A node's last word on itself."""
        return loads(self.bus.retained["dcka/t/status/%d" % node])

    def dropped(self, node):
        return self.bus.nodes[node].dropped

    def told(self):
        """Where everybody is, for the message of a test that fails."""
        return [
            (node, self.session(node) and self.session(node).deadline, self.status(node))
            for node in self.bus.nodes
        ]

    def reports(self, kind, node):
        """What was said on step/<i>, result/<i> or status/<i>, if the bus keeps a log."""
        topic = "dcka/t/%s/%d" % (kind, node)
        return [loads(payload) for said, payload in self.bus.log if said == topic]


def outcome(commit):
    """What all nodes of `tree` have to agree on."""
    return (
        commit.step,
        commit.flags,
        commit.centres,
        commit.counts,
        commit.ssd,
        commit.contributors,
        commit.missing,
    )
