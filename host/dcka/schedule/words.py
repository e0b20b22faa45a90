"""A design in words: the text for a terminal, and the object of `--json`."""

from dcka.schedule.cost import NodeCost
from dcka.schedule.design import Design
from dcka.schedule.timetable import Access, Row
from dcka.schedule.tree_slots import children_of
from dcka.topology.slot_rows import MAX_PERIOD

MOST_ROWS = 40
"""Nodes whose timetable fits on a screen."""
BLOCK = 80
"""Slots of a line."""
WAITS = "-"

_ACCESS = {
    Access.TWO_HOP: "nodes that send in the same slot are more than two hops apart (one radio channel)",
    Access.ONE: "one node sends in a slot",
    Access.ANY: "all may send in the same slot (the access point keeps them apart)",
    Access.PAIRS: "in a slot a node sends at most one message and hears at most one (through a broker)",
}


def signs(design: Design) -> dict[int, str]:
    """For every id its row of the timetable, a sign a slot: S sends, h hears, B both, - waits awake, · asleep."""
    found = {}
    for node, rows in design.rows().items():
        asleep = design.costs[node].asleep
        found[node] = "".join(
            WAITS if row is Row.REST and not sleeps else row.value
            for row, sleeps in zip(rows, asleep, strict=True)
        )
    return found


def text(design: Design, name: str) -> str:
    """What a person reads: the schedule's figures, the worst node, and the timetable of up to 40 nodes."""
    links = len({link for phase in design.graph.phases for link in phase})
    worst = design.costs[design.worst]
    usage = design.usage
    nodes = counted(len(design.graph.ids), "node")
    lines = [
        f"pairs over the nodes of {name}: {nodes}"
        if design.kind == "pairs"
        else f"{design.kind} on {name}: {nodes}, {counted(links, 'link')}",
        *_of_kind(design),
        f"an outer step: {counted(design.slots, 'slot')}, {counted(design.broadcasts, 'broadcast')}, "
        f"{counted(design.deliveries, 'delivery', 'deliveries')}",
        f"access: {_ACCESS[design.timetable.access]}",
        f"proof: {design.proof}",
        f"in a run: {run_as(design)}",
        f"awake: {mean_share(design):.0%} of the slots on average, worst node {design.worst} "
        f"{design.share(worst.awake):.0%} (with work in {design.share(worst.busy):.0%})",
        f"modelled charge: {worst.mah:.1f} mAh a day at node {design.worst}, the worst; "
        f"{mean_mah(design):.1f} on average ({design.runs_a_day:.3g} runs a day of {usage.steps} steps, slots of "
        f"{usage.slot_ms:g} ms)",
    ]
    return "\n".join(lines + _table(design))


def record(design: Design, name: str, notes: tuple[str, ...]) -> dict[str, object]:
    """The object of `--json`."""
    usage = design.usage
    worst = design.worst
    return {
        "kind": design.kind,
        "prefer": design.prefer,
        "graph": {
            "name": name,
            "nodes": design.graph.ids,
            "links": sorted({link for phase in design.graph.phases for link in phase}),
            "phases": design.graph.phases,
        },
        "notes": notes,
        "proof": design.proof,
        "access": design.timetable.access.value,
        "run": {"kind": design.kind != "pairs", "slots": design.kept, "words": run_as(design)},
        "slots": design.slots,
        "beacons": design.beacons,
        "broadcasts": design.broadcasts,
        "deliveries": design.deliveries,
        "awake_share": mean_share(design),
        "modelled_mah_a_day": mean_mah(design),
        "worst_node": {"node": worst, **_node(design, design.costs[worst])},
        "nodes": {node: _node(design, cost) for node, cost in design.costs.items()},
        **_facts_of_kind(design),
        "timetable": signs(design),
        "timetable_repeats": design.repeats,
        "usage": {
            "slot_ms": usage.slot_ms,
            "steps": usage.steps,
            "runs_a_day": design.runs_a_day,
            "k": usage.k,
            "dims": usage.dims,
            "points": usage.points,
        },
    }


def run_as(design: Design) -> str:
    """What the firmware has of this schedule, as a sentence."""
    if design.kind == "pairs":
        return "nothing: dcka run and the firmware know tree and gossip; pairs is a design to compare with"
    if design.kind == "gossip":
        return "these messages, phase after phase; nodes of gossip keep no slots and stay awake"
    if not design.beacons:
        return "one node needs no slots"
    if design.kept:
        kept = f"dcka run --slot-ms {design.usage.slot_ms:g} keeps these slots"
        sleeps = any(cost.ledger.light_sleep_ms for cost in design.costs.values())
        return (
            f"{kept}, and sleeps between them"
            if sleeps
            else f"{kept}, too short for an ESP32 to sleep between"
        )
    if design.timetable.access is Access.ANY:
        return f"this tree without slots: a period has at most {MAX_PERIOD}, or clocks that are 2 % off lose each other"
    return "this tree, and other slots: those of --access any, where access point and broker keep nodes apart"


def counted(count: int, one: str, many: str = "") -> str:
    """`1 slot`, `1,200 slots`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def mean_share(design: Design) -> float:
    """The share of slots in which a node is awake, on average over the nodes."""
    return sum(design.share(cost.awake) for cost in design.costs.values()) / len(design.costs)


def mean_mah(design: Design) -> float:
    """The modelled charge of a day in mAh, on average over the nodes."""
    return sum(cost.mah for cost in design.costs.values()) / len(design.costs)


def _node(design: Design, cost: NodeCost) -> dict[str, object]:
    ledger = cost.ledger
    return {
        "awake_share": design.share(cost.awake),
        "busy_share": design.share(cost.busy),
        "modelled_mah_a_day": cost.mah,
        "ledger": {
            "slots_awake": ledger.slots_awake,
            "associations": ledger.associations,
            "broadcasts": ledger.broadcasts,
            "deliveries": ledger.deliveries,
            "payload_sent": ledger.payload_sent,
            "payload_heard": ledger.payload_heard,
            "wire_sent": ledger.wire_sent,
            "wire_heard": ledger.wire_heard,
            "computing_ms": ledger.computing_ms,
            "light_sleep_ms": ledger.light_sleep_ms,
        },
    }


def _facts_of_kind(design: Design) -> dict[str, object]:
    if design.parents is not None:
        children = children_of(design.parents)
        return {
            "root": design.root,
            "depth": design.depth,
            "most_children": design.most_children,
            "parents": design.parents,
            "children": children,
        }
    if design.mixing is not None:
        found = design.mixing
        return {
            "window": found.window,
            "eigenvalue": found.eigenvalue,
            "tolerance": found.tolerance,
            "mixing_slots": found.mixing_slots,
        }
    return {"algorithm": None if design.algorithm is None else design.algorithm.value}


def _of_kind(design: Design) -> list[str]:
    if design.parents is not None:
        return [
            f"root {design.root}, depth {design.depth}, at most {design.most_children} children; "
            f"preferred: {design.prefer}"
        ]
    if design.mixing is not None:
        found = design.mixing
        return [
            f"second eigenvalue {found.eigenvalue:.4f} over {counted(len(design.timetable.slots), 'phase')}: the "
            f"spread is down to {found.tolerance:g} in {counted(found.mixing_slots, 'slot')}; window {found.window}"
        ]
    return [f"algorithm: {design.algorithm.value if design.algorithm else ''}; any two nodes may talk"]


def _table(design: Design) -> list[str]:
    slots = design.table_slots
    if not slots:
        return []
    if len(design.graph.ids) > MOST_ROWS:
        return [f"(timetable of {len(design.graph.ids)} nodes not shown: --json or --picture FILE has it)"]
    rows = signs(design)
    width = max(len(str(node)) for node in rows)
    period = f", one period of {design.repeats} in a step" if design.repeats > 1 else ""
    lines = ["", f"S sends  h hears  B both  {WAITS} waits awake  · asleep{period}"]
    for start in range(0, slots, BLOCK):
        stop = min(slots, start + BLOCK)
        ruler = "".join(f"{tick:<10}" for tick in range(start, stop, 10))
        lines.append(" " * (width + 2) + ruler.rstrip())
        lines += [f"{node:>{width}}  {row[start:stop]}" for node, row in rows.items()]
    return lines
