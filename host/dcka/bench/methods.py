"""One instance by every method: the same graph, readings, starts and outer steps; what each sends and ends with."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dcka.bench.charge import SLOT_MS, worst_node_mah
from dcka.bench.errors import BenchError
from dcka.bench.float_tree import float_tree
from dcka.bench.floats import Float, FloatData
from dcka.bench.gossip import Air, GossipOutcome, gossip
from dcka.bench.held import points_of
from dcka.bench.pinned import Instance
from dcka.bench.raw import raw_upload
from dcka.bench.shape import Branches
from dcka.bench.traffic import Traffic
from dcka.bench.tree_runs import MAX_STEPS, Settings, TreeOutcome, run_tree, setup_alone
from dcka.emulation.in_memory import Lost
from dcka.reference import TreeRun, tree_run
from dcka.topology import Graph
from dcka_core.points import Points

TOLERANCES = {"paper": 1e-3, "paper_1e-2": 1e-2, "paper_1e-4": 1e-4}
METHODS = (
    "paper",
    "paper_1e-2",
    "paper_1e-4",
    "paper_changed_only",
    "paper_fixed_weights",
    "gossip_full_graph",
    "tree_float32",
    "ours",
    "star",
    "raw_upload",
)


@dataclass(frozen=True, eq=False)
class Result:
    """One method on one instance. `setup`: until the nodes know what to do; `traffic`: from then on. `wrong_labels`:
    readings whose label is another than the exact computation's. `parts`: (broadcasts, bytes) by type of message;
    `reports`: what nodes say to the host meanwhile, in no total."""

    setup: Traffic
    traffic: Traffic
    slots: int
    mah: float
    exact: bool
    bit_identical: bool
    wrong_labels: int
    parts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    reports: tuple[int, int] = (0, 0)

    def figures(self) -> dict[str, float]:
        """What medians are taken of."""
        total = Traffic(tuple(self.setup.place))
        total.add(self.setup)
        total.add(self.traffic)
        return {
            "broadcasts": total.broadcasts,
            "deliveries": total.deliveries,
            "payload_bytes": total.payload_bytes,
            "wire_bytes": total.wire_bytes,
            "slots": self.slots,
            "worst_node_mah": self.mah,
            "setup_broadcasts": self.setup.broadcasts,
            "setup_payload_bytes": self.setup.payload_bytes,
            "setup_wire_bytes": self.setup.wire_bytes,
            "wrong_labels": self.wrong_labels,
        }


@dataclass(frozen=True, eq=False)
class Bench:
    """An instance with all that its methods share. `lost`: where the measured radio of a replay loses messages among
    the nodes; `hop_ms`, `patience_ms`: of the real nodes."""

    instance: Instance
    points: Mapping[int, Points]
    data: FloatData
    tree: Branches
    reference: TreeRun
    exact: Float
    settings: Settings

    @classmethod
    def of(cls, instance: Instance, lost: Lost | None = None) -> "Bench":
        """Raises BenchError where plain K-means does not converge within MAX_STEPS steps."""
        tables = [instance.dataset.points[node] for node in instance.ids]
        extents = instance.dataset.grid.extents
        reference = tree_run(tables, instance.ids, instance.k, "local", instance.seed, extents, MAX_STEPS)
        if not reference.converged:
            raise BenchError(f"{instance.name}: not converged after {MAX_STEPS} outer steps")
        data = FloatData.of(instance)
        tree = Branches.of(instance.tree_links)
        settings = Settings(instance.k, instance.seed, lost=lost)
        if instance.replayed:
            # A hop takes a slot; a patience is the way to the root and back, and one slot more.
            settings = replace(
                settings, hop_ms=int(SLOT_MS), patience_ms=int(SLOT_MS) * (2 * max(tree.depths) + 1)
            )
        exact = data.exact(len(reference.steps))
        return cls(instance, points_of(instance.dataset), data, tree, reference, exact, settings)

    @property
    def steps(self) -> int:
        """The outer steps that every method takes: as many as ours needs to converge."""
        return len(self.reference.steps)

    def setup(self, graph: Graph, kind: str) -> Traffic:
        return setup_alone(self.instance.dataset, self.points, graph, kind, self.settings)

    def distances(self, nodes: NDArray[np.int64] | None = None) -> list[int]:
        """By node, what `charge` calls distances; `nodes`: how many readings each works on, its own by default."""
        own = np.bincount(self.data.owner, minlength=self.data.nodes) if nodes is None else nodes
        return [int(count) * self.instance.k * self.data.points.shape[1] * self.steps for count in own]


def measure(bench: Bench) -> dict[str, Result]:
    """Every method on one instance, in the order of METHODS."""
    ours = _ours(bench)
    found = _papers(bench) | _full_graph(bench) | {"ours": ours, "star": _star(bench)}
    # These need the same tree, and so the same rows.
    found |= {"tree_float32": _float_tree(bench, ours.setup), "raw_upload": _raw(bench, ours.setup)}
    return {name: found[name] for name in METHODS}


def _papers(bench: Bench) -> dict[str, Result]:
    instance = bench.instance
    air = Air.of(instance.graph, instance.replayed)
    # Nobody is told of a recording's minutes beforehand: there the rows are those of the links over its whole length.
    setup = bench.setup(instance.tree_links if instance.replayed else instance.graph, "gossip")
    found = {}
    for name, tolerance in TOLERANCES.items():
        outcome = gossip(bench.data, air, bench.steps, tolerance, remembering=name == "paper")
        found[name] = _gossiped(bench, outcome, setup, outcome.traffic)
        if outcome.changed is not None:
            found["paper_changed_only"] = _gossiped(bench, outcome, setup, outcome.changed)
    fixed = Air.of(instance.graph, instance.replayed, fixed=True)
    outcome = gossip(bench.data, fixed, bench.steps, TOLERANCES["paper"])
    return found | {"paper_fixed_weights": _gossiped(bench, outcome, setup, outcome.traffic)}


def _full_graph(bench: Bench) -> dict[str, Result]:
    graph = bench.instance.tree_links
    outcome = gossip(bench.data, Air.of(graph), bench.steps, TOLERANCES["paper"])
    return {"gossip_full_graph": _gossiped(bench, outcome, bench.setup(graph, "gossip"), outcome.traffic)}


def _gossiped(bench: Bench, outcome: GossipOutcome, setup: Traffic, traffic: Traffic) -> Result:
    slots = sum(outcome.slots)
    mah = _mah(bench, setup, traffic, outcome.work, slots / len(outcome.work))
    return _float_result(bench, setup, traffic, slots, mah, outcome.centres)


def _float_tree(bench: Bench, setup: Traffic) -> Result:
    tree = bench.tree
    centres, traffic = float_tree(bench.data, tree, bench.steps)
    slots = bench.steps * len(tree.work)
    mah = _mah(bench, setup, traffic, tree.work, bench.steps)
    everywhere = bench.data.everywhere(centres)
    return _float_result(bench, setup, traffic, slots, mah, everywhere)


def _float_result(
    bench: Bench, setup: Traffic, traffic: Traffic, slots: int, mah: float, centres: Float
) -> Result:
    wrong = bench.data.mislabelled(centres, bench.exact)
    same = bool((centres.astype(np.float32) == bench.exact.astype(np.float32)).all())
    return Result(setup, traffic, slots, mah, wrong == 0, same, wrong)


def _ours(bench: Bench) -> Result:
    outcome = run_tree(bench.instance.dataset, bench.points, bench.instance.tree_links, bench.settings)
    if not bench.instance.replayed:
        return _of_nodes(bench, outcome, bench.tree, bench.tree.work, bench.steps)
    # Who may have to hear a repeat stays awake.
    awake = np.ones((1, bench.data.nodes), dtype=np.bool_)
    slots = -(-outcome.elapsed_ms // bench.settings.hop_ms)
    return _of_nodes(bench, outcome, bench.tree, awake, slots)


def _star(bench: Bench) -> Result:
    """Every node a child of ours' root: through a broker any two may talk, so the radio graph does not count."""
    root = bench.tree.ids[bench.tree.root]
    star = Graph.build(bench.tree.ids, [[(root, node) for node in bench.tree.ids if node != root]])
    settings = Settings(bench.settings.k, bench.settings.seed)
    outcome = run_tree(bench.instance.dataset, bench.points, star, settings, root)
    tree = Branches.of(star, root)
    return _of_nodes(bench, outcome, tree, tree.work, bench.steps)


def _of_nodes(
    bench: Bench, outcome: TreeOutcome, tree: Branches, work: NDArray[np.bool_], repeats: int
) -> Result:
    count, reference = outcome.count, bench.reference
    same = bool((outcome.centres == reference.centres.ravel()).all()) and set(outcome.ssd) == {reference.ssd}
    same = same and set(outcome.steps) == {bench.steps} and not outcome.missing
    centres = outcome.centres.reshape(bench.data.nodes, *reference.centres.shape).astype(np.float64)
    wrong = bench.data.mislabelled(centres, reference.centres.astype(np.float64))
    return Result(
        count.setup,
        count.consensus,
        repeats * len(work),
        _mah(bench, count.setup, count.consensus, work, repeats),
        wrong == 0 and outcome.converged,
        same,
        wrong,
        {kind: (entry[0], entry[1]) for kind, entry in sorted(count.by_type.items())},
        (count.reports.broadcasts, count.reports.payload_bytes),
    )


def _raw(bench: Bench, setup: Traffic) -> Result:
    instance, tree = bench.instance, bench.tree
    outcome = raw_upload(instance, tree, bench.reference)
    same = all(
        np.array_equal(outcome.received[index], instance.dataset.points[node])
        for index, node in enumerate(tree.ids)
    )
    load = np.zeros(len(tree.ids), dtype=np.int64)
    load[tree.root] = len(bench.data.points)
    total = Traffic(tree.ids)
    total.add(setup)
    total.add(outcome.traffic)
    mah = worst_node_mah(total, outcome.work, 1, bench.distances(load))
    return Result(setup, outcome.traffic, len(outcome.work), mah, same, same, 0)


def _mah(bench: Bench, setup: Traffic, traffic: Traffic, work: NDArray[np.bool_], repeats: float) -> float:
    total = Traffic(tuple(setup.place))
    total.add(setup)
    total.add(traffic)
    return worst_node_mah(total, work, repeats, bench.distances())
