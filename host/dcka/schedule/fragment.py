"""A design as a network file: what `dcka run` has to read so that it uses this schedule."""

from collections.abc import Mapping, Sequence

from dcka.config import parse
from dcka.config.template import toml_value
from dcka.schedule.design import Design
from dcka.schedule.errors import ScheduleError
from dcka.schedule.tree_slots import depths_of
from dcka.topology.graph import Graph
from dcka.topology.tree_rows import spanning_tree

_LINE = 100


def network_file(
    design: Design, tables: Mapping[str, Mapping[str, object]] | None = None, slot_ms: float | None = None
) -> str:
    """The text of a network file with the design's nodes, schedule and topology, and all else as in `tables` (the
    sections of a network file, as TOML has them; {} by default, which leaves the defaults).

    What it says is read back and compared with the design. `tree`: links that would lead `dcka run` to another tree
    are left out; with `slot_ms` a run keeps the design's slots, where one can. Raises ScheduleError for `pairs`, which
    no run has, UsageError for `tables` and slots that do not fit.
    """
    if design.kind == "pairs":
        raise ScheduleError(
            "pairs is a design to compare with: dcka run knows tree and gossip; write one of those"
        )
    sections: dict[str, dict[str, object]] = {name: dict(table) for name, table in (tables or {}).items()}
    ids = design.graph.ids
    counted = ids == tuple(range(1, len(ids) + 1))
    sections.setdefault("network", {})["nodes"] = len(ids) if counted else list(ids)
    run = sections.setdefault("run", {})
    run["schedule"] = design.kind
    if slot_ms and design.kept:
        run["slot_ms"] = round(slot_ms)
    topology: dict[str, object] = {"phases": _phases(design)}
    if design.root is not None:
        topology["root"] = design.root
    if design.mixing is not None:
        run["tolerance"] = design.mixing.tolerance
        _make_room(run, design)
    sections["topology"] = topology
    text = _HEAD[design.kind] + "".join(_section(name, table) for name, table in sections.items())
    _require_same(design, text)
    return text


_HEAD = {
    "tree": "# Written by dcka schedule: a tree. The links are those of the radio with which dcka run comes to it.\n",
    "gossip": "# Written by dcka schedule: gossip on the phases below, in turn.\n",
}


def _make_room(run: dict[str, object], design: Design) -> None:
    """Twice the predicted slots, where the file has fewer; a fixed number is not for another topology."""
    run.pop("slots", None)
    most = run.get("max_slots", 200)
    if isinstance(most, int) and most < 2 * design.slots:
        run["max_slots"] = 2 * design.slots


def _phases(design: Design) -> list[list[list[int]]]:
    """The graph's phases; for a tree that `spanning_tree` would not find, without the links that mislead it: only the
    tree's own stay, and those between two nodes of one depth that both have children, or both have none."""
    every = [[list(link) for link in phase] for phase in design.graph.phases]
    parents = design.parents
    if parents is None or _tree_of(design.graph, design.root) == dict(parents):
        return every
    depths = depths_of(parents)
    speakers = set(parents.values())

    def stays(a: int, b: int) -> bool:
        alike = depths[a] == depths[b] and (a in speakers) == (b in speakers)
        return alike or parents[a] == b or parents[b] == a

    kept = [[[a, b] for a, b in phase if stays(a, b)] for phase in every]
    return [phase for phase in kept if phase]


def _tree_of(graph: Graph, root: int | None) -> dict[int, int]:
    return {node: row.parent for node, row in spanning_tree(graph, root).rows.items()}


def _require_same(design: Design, text: str) -> None:
    config = parse(text, "the written schedule")
    same = config.ids == design.graph.ids and config.run.schedule == design.kind
    if design.parents is not None:
        same = same and _tree_of(config.graph, config.topology.root) == dict(design.parents)
    else:
        same = same and config.graph.phases == design.graph.phases
    if not same:
        raise ScheduleError(
            "the written schedule does not read back as the one designed; nothing was written"
        )


def _section(name: str, table: Mapping[str, object]) -> str:
    lines = ["", f"[{name}]"]
    for key, value in table.items():
        if key == "phases" and isinstance(value, list):
            lines += [f"{key} = [", *(_wrapped(phase) for phase in value), "]"]
        else:
            lines.append(f"{key} = {toml_value(value)}")
    return "\n".join(lines) + "\n"


def _wrapped(links: Sequence[object]) -> str:
    """A phase over as many lines as it takes."""
    lines = ["  ["]
    for link in links:
        word = f"{toml_value(link)}, "
        if len(lines[-1]) + len(word) > _LINE:
            lines.append("   ")
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines).rstrip(",") + "],"
