"""A simulation: nodes, graph, both kinds of consensus, time and memory."""

import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dcka.errors import UsageError
from dcka.simulate.consensus import exact, gossip
from dcka.simulate.graph import Graph, chords, geometric
from dcka.simulate.nodes import nine_gaussians

KINDS = ("tree", "gossip")
TOPOLOGIES = ("chords", "random")
MAX_NODES = 65_535  # ids are 16 bits wide
MAX_POINTS = 50_000_000

Say = Callable[[str], None]
Record = dict[str, Any]


class SimulationError(UsageError):
    """A simulation that cannot be: which setting, and what it may be."""


@dataclass(frozen=True)
class Settings:
    """`per_gaussian`: points of each of the nine at a node. `tolerance`: of gossip, a part of the data's range.
    `max_slots`: of gossip, in an outer step."""

    nodes: int
    k: int = 9
    per_gaussian: int = 5
    topology: str = "chords"
    kinds: tuple[str, ...] = KINDS
    tolerance: float = 1e-4
    max_slots: int = 100_000
    max_steps: int = 100
    seed: int = 1

    def check(self) -> None:
        """Raises SimulationError."""
        limits: dict[str, tuple[float, float]] = {
            "nodes": (1, MAX_NODES),
            "per_gaussian": (1, MAX_POINTS // (9 * max(1, self.nodes))),
            "k": (1, 9 * max(1, self.per_gaussian)),
            "tolerance": (1e-12, 1),
            "max_slots": (1, 10**9),
            "max_steps": (1, 10**6),
            "seed": (0, 2**63 - 1),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not low <= value <= high:
                why = f"; a node holds {9 * self.per_gaussian} points" if name == "k" and value > 0 else ""
                raise SimulationError(f"--{name.replace('_', '-')} {value:g}: take {low:g} to {high:g}{why}")
        if self.topology not in TOPOLOGIES:
            raise SimulationError(f"--topology {self.topology}: it is {' or '.join(TOPOLOGIES)}")
        for kind in self.kinds:
            if kind not in KINDS:
                raise SimulationError(f"--schedule {kind}: it is {' or '.join(KINDS)}")


def simulate(settings: Settings, say: Say) -> Record:
    """Run what the settings ask for. `state_bytes`: of the arrays that hold the nodes' points and sums; `peak_mb`:
    the most memory that this process has had so far, by the system's count. Raises SimulationError for settings that
    cannot be."""
    settings.check()
    begun = time.monotonic()
    nodes = nine_gaussians(settings.nodes, settings.per_gaussian, settings.seed)
    graph = _graph(settings)
    record: Record = {
        "nodes": settings.nodes,
        "points": int(nodes.points.shape[0] * nodes.points.shape[1]),
        "k": settings.k,
        "topology": settings.topology,
        "phases": len(graph.phases),
        "links": sum(map(len, graph.phases)),
        "seed": settings.seed,
    }
    span = nodes.grid.step * (2**nodes.grid.bits - 1)
    for kind in settings.kinds:
        say(f"{kind}: {settings.nodes:,} nodes, {record['points']:,} points, {record['links']:,} links")
        at = time.monotonic()
        if kind == "tree":
            record[kind] = exact(nodes, graph, settings.k, settings.seed, settings.max_steps)
        else:
            record[kind] = gossip(
                nodes,
                graph,
                settings.k,
                settings.seed,
                settings.tolerance * span,
                settings.max_slots,
                settings.max_steps,
            )
        record[kind]["seconds"] = round(time.monotonic() - at, 2)
    sums = settings.nodes * settings.k * (nodes.points.shape[2] + 1) * 8
    record["state_bytes"] = nodes.points.nbytes + nodes.whole.nbytes + 2 * sums
    record["peak_mb"] = round(_peak_bytes() / 1e6, 1)
    record["seconds"] = round(time.monotonic() - begun, 2)
    return record


def _graph(settings: Settings) -> Graph:
    if settings.topology == "chords":
        return chords(settings.nodes)
    return geometric(settings.nodes, settings.seed)


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # kilobytes on Linux


def text(record: Mapping[str, Any]) -> str:
    """The record for a terminal."""
    lines = [
        f"{record['nodes']:,} nodes, {record['points']:,} points, K = {record['k']}; {record['topology']}: "
        f"{record['links']:,} links in {record['phases']} phases"
    ]
    if "tree" in record:
        own = record["tree"]
        same = "bit for bit K-means on all points" if own["bit_identical"] else "NOT K-means on all points"
        lines.append(
            f"tree: {own['outer_steps']} outer steps, {own['broadcasts']:,} broadcasts, SSD {own['ssd']:.6g}, "
            f"{same}; {own['seconds']:.1f} s"
        )
    if "gossip" in record:
        own = record["gossip"]
        agreed = "" if own["agreed"] else "; NOT within the tolerance in every step"
        lines.append(
            f"gossip: {own['outer_steps']} outer steps, {own['slots']:,} slots, {own['broadcasts']:,} broadcasts, "
            f"SSD {own['ssd']:.6g}, nodes differ by {own['disagreement']:.1e}{agreed}; {own['seconds']:.1f} s"
        )
    lines.append(
        f"peak memory {record['peak_mb']:,.0f} MB, {record['state_bytes'] / 1e6:,.1f} MB of it the nodes' state"
    )
    return "\n".join(lines)
