"""A schedule, designed, proven and costed: what `dcka schedule` shows."""

from collections.abc import Mapping
from dataclasses import dataclass

from dcka.energy import ESP32, Model
from dcka.schedule.cost import NodeCost, Usage, costs, period_costs, period_slots, runs_a_day
from dcka.schedule.errors import ScheduleError
from dcka.schedule.gossip import Mixing, gossip_timetable, mixing, prove_strongly_connected
from dcka.schedule.pairs import Algorithm, pairs_timetable
from dcka.schedule.proof import prove
from dcka.schedule.timetable import Access, Row, Timetable
from dcka.schedule.tree_design import Score, shallow, thrifty
from dcka.schedule.tree_slots import Parents, children_of, depths_of, tree_timetable
from dcka.topology.graph import Graph
from dcka.topology.slot_rows import MAX_PERIOD

KINDS = ("tree", "gossip", "pairs")
PREFERENCES = ("latency", "energy")

_EXECUTED = "executed with sets: every node ends with every node's sums exactly once"


@dataclass(frozen=True)
class Design:
    """`timetable`: of one outer step in `tree` and `pairs`, of one period in `gossip`, where a step has `repeats`
    of them. In `tree` a slot for the beacon comes before it. `costs`: by id. `proof`: what has been proven, as a
    sentence. `parents` of `tree`, `mixing` of `gossip`, `algorithm` of `pairs`; None for the others."""

    kind: str
    prefer: str
    graph: Graph
    timetable: Timetable
    repeats: int
    usage: Usage
    costs: Mapping[int, NodeCost]
    proof: str
    parents: Mapping[int, int] | None = None
    mixing: Mixing | None = None
    algorithm: Algorithm | None = None

    @property
    def slots(self) -> int:
        """Slots of an outer step."""
        return period_slots(self.timetable) if self.parents else len(self.timetable.slots) * self.repeats

    @property
    def table_slots(self) -> int:
        """Slots of one timetable, the beacon's included."""
        return self.slots // self.repeats

    @property
    def beacons(self) -> int:
        """Of an outer step: one in `tree`, from the root to all the others."""
        return int(self.parents is not None and self.slots > 0)

    @property
    def broadcasts(self) -> int:
        """Messages sent in an outer step."""
        return self.timetable.broadcasts * self.repeats + self.beacons

    @property
    def deliveries(self) -> int:
        """Messages heard in an outer step."""
        return self.timetable.deliveries * self.repeats + self.beacons * (len(self.graph.ids) - 1)

    @property
    def kept(self) -> bool:
        """Whether the nodes of a run with `slot_ms` keep these slots: a tree's, where all may send at once."""
        return self.beacons > 0 and self.timetable.access is Access.ANY and self.slots <= MAX_PERIOD

    @property
    def worst(self) -> int:
        """The node of the greatest modelled charge, then of the smallest id."""
        return min(self.costs, key=lambda node: (-self.costs[node].mah, node))

    @property
    def root(self) -> int | None:
        """The root of `tree`."""
        return next((node for node, parent in (self.parents or {}).items() if not parent), None)

    @property
    def depth(self) -> int | None:
        """Hops from the root to the farthest node."""
        return None if self.parents is None else max(depths_of(self.parents).values())

    @property
    def most_children(self) -> int | None:
        """Of any node of the tree."""
        return None if self.parents is None else max(map(len, children_of(self.parents).values()))

    @property
    def runs_a_day(self) -> float:
        """The runs of a day that the charges are for."""
        return runs_a_day(self.slots, self.usage, first=self.beacons)

    def share(self, slots: float) -> float:
        """`slots` of one timetable, and its beacon's, as a share of it; 0 where it has none."""
        return slots / self.table_slots if self.slots else 0.0

    def rows(self) -> dict[int, tuple[Row, ...]]:
        """For every id, what it does in each slot of a timetable, the beacon's included."""
        rows = self.timetable.rows()
        if not self.beacons:
            return rows
        return {node: (Row.SENDS if node == self.root else Row.HEARS, *own) for node, own in rows.items()}


def design_tree(
    graph: Graph,
    prefer: str = "latency",
    *,
    access: Access = Access.TWO_HOP,
    root: int | None = None,
    max_depth: int | None = None,
    usage: Usage | None = None,
    model: Model = ESP32,
) -> Design:
    """Sums up a spanning tree, the result down.

    "latency": as `spanning_tree`, of which a step has few broadcasts. "energy": the smallest modelled charge of
    the worst node that is found within `max_depth` hops (by default twice the smallest depth), then the least over
    all nodes. Raises TopologyError for a graph in parts and an unknown root, ScheduleError for a depth that cannot
    be, EnergyError where a day is too short.
    """
    used = usage or Usage()
    parents = shallow(graph, root)
    least = max(depths_of(parents).values())
    if max_depth is not None and max_depth < least:
        raise ScheduleError(f"a tree of {max_depth} hops does not reach everyone; it takes {least} at least")

    def cost_of(tree: Parents) -> dict[int, NodeCost]:
        decider = next(node for node, parent in tree.items() if not parent)
        return period_costs(tree_timetable(near, tree, access), decider, used, model)

    def score(tree: Parents) -> Score:
        charges = {node: cost.mah for node, cost in cost_of(tree).items()}
        hardest = max(charges, key=lambda node: charges[node])
        return (round(charges[hardest], 9), round(sum(charges.values()), 9)), hardest

    near = graph.union()
    if prefer == "energy":
        parents = thrifty(graph, score, 2 * least if max_depth is None else max_depth, root)
    timetable = tree_timetable(near, parents, access)
    prove(timetable)
    proof = _EXECUTED
    return Design("tree", prefer, graph, timetable, 1, used, cost_of(parents), proof, parents)


def design_gossip(
    graph: Graph, tolerance: float = 1e-4, *, usage: Usage | None = None, model: Model = ESP32
) -> Design:
    """Shares of mass on the graph's phases, in turn, until the spread is within `tolerance` of itself, as the
    second eigenvalue has it.

    Raises TopologyError for a graph in parts, ScheduleError as `mixing` does, EnergyError where a day is too short.
    """
    used = usage or Usage()
    timetable = gossip_timetable(graph)
    prove_strongly_connected(timetable)
    found = mixing(graph, tolerance)
    repeats = found.slots // len(timetable.slots)
    proof = "over one period every node reaches every other: the union is strongly connected"
    cost = costs(timetable, used, repeats, model)
    return Design("gossip", "latency", graph, timetable, repeats, used, cost, proof, mixing=found)


def design_pairs(
    graph: Graph,
    prefer: str = "latency",
    *,
    algorithm: Algorithm | None = None,
    usage: Usage | None = None,
    model: Model = ESP32,
) -> Design:
    """An all-reduce over the graph's nodes, any two of which may talk: its links do not matter.

    Without `algorithm` it is the circulant for "latency", and for "energy" the one whose worst node has the smallest
    modelled charge. Raises EnergyError where a day is too short.
    """
    used = usage or Usage()
    choices = list(Algorithm) if prefer == "energy" else [Algorithm.CIRCULANT]
    made = []
    for one in [algorithm] if algorithm is not None else choices:
        timetable = pairs_timetable(graph.ids, one)
        prove(timetable)
        proof = (
            f"executed with sets: each of the {len(graph.ids)} nodes ends with every node's sums exactly once"
        )
        cost = costs(timetable, used, 1, model)
        made.append(Design("pairs", prefer, graph, timetable, 1, used, cost, proof, algorithm=one))
    return min(made, key=lambda one: (one.costs[one.worst].mah, one.slots))
