"""`dcka schedule`: a duty-cycling schedule for a radio graph, proven, costed and shown."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dcka.cli.options import Decorated, configuration, examples, json_option, network_option
from dcka.cli.output import Output
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.schedule import Design, Usage
    from dcka.topology import Graph

_FILE = click.Path(path_type=Path, dir_okay=False)
_ULB_ANYWHERE = Path()
_GRAPH_OPTIONS = (
    click.option("--edges", type=_FILE, metavar="FILE", help="A list of links, a,b a row (CSV)."),
    click.option(
        "--rssi", type=_FILE, metavar="FILE", help="Who hears whom: a,b,dBm a row, a hears b (CSV)."
    ),
    click.option("--min-rssi", type=float, metavar="DBM", help="Weaker links are dropped."),
    click.option(
        "--topology", metavar="NAME", help="ring, line, grid, star, complete, random, experiment1 or 2."
    ),
    click.option(
        "--ulb",
        type=click.Path(path_type=Path, file_okay=False),
        is_flag=False,
        flag_value=_ULB_ANYWHERE,
        metavar="[FOLDER]",
        help="The measured radio of 20 motes in a library, where you have the file.",
    ),
    click.option(
        "--nodes", metavar="N|IDS", help="How many nodes, or their ids such as 1-5,9.  [default: 20]"
    ),
    click.option("--radius", type=float, metavar="R", help="random: the reach in a square of side 1."),
    click.option("--seed", type=int, metavar="SEED", help="random: places the nodes.  [default: 1]"),
    click.option("--columns", type=int, metavar="C", help="grid: nodes in a row."),
    click.option("--split", type=int, metavar="P", help="Share the links out among so many phases."),
)
_DESIGN_OPTIONS = (
    click.option(
        "--kind", metavar="KIND", help="tree, gossip or pairs.  [default: tree, or the network file's]"
    ),
    click.option(
        "--prefer",
        metavar="WHAT",
        help="latency (tree: fewest hops, then fewest broadcasts) or energy (the worst node's charge).  "
        "[default: latency]",
    ),
    click.option(
        "--access",
        metavar="WHO",
        help="tree: who may send in one slot: two-hop (nodes further apart), one, or any.  [default: two-hop]",
    ),
    click.option(
        "--root", type=int, metavar="ID", help="tree: the node that decides.  [default: a central one]"
    ),
    click.option("--max-depth", type=int, metavar="HOPS", help="--prefer energy: the tree is no deeper."),
    click.option(
        "--algorithm",
        metavar="NAME",
        help="pairs: circulant, fold or reduce.  [default: by what is preferred]",
    ),
    click.option(
        "--tolerance", type=float, metavar="T", help="gossip: the spread to come to.  [default: 1e-4]"
    ),
)
_USAGE_OPTIONS = (
    click.option(
        "--slot-ms",
        type=float,
        metavar="MS",
        help="The length of a slot; --write keeps it.  [default: the network file's, or 1000]",
    ),
    click.option("--steps", type=int, default=12, metavar="T", help="Outer steps of a run.  [default: 12]"),
    click.option("--runs-a-day", type=float, metavar="R", help="[default: 24, or as many as fit]"),
    click.option("--k", type=int, metavar="K", help="Clusters.  [default: the network file's, or 9]"),
    click.option("--dims", type=int, default=2, metavar="N", help="Dimensions of a reading.  [default: 2]"),
    click.option(
        "--points", type=int, default=900, metavar="M", help="Readings that a node holds.  [default: 900]"
    ),
)

_SLOT_MS = 1000.0
_SOURCES_OF = {
    "min_rssi": ("rssi", "ulb"),
    "radius": ("topology",),
    "seed": ("topology",),
    "columns": ("topology",),
    "nodes": ("topology", "edges", "rssi"),
    "split": ("topology", "edges", "rssi", "ulb"),
}
_KINDS_OF = {
    "prefer": ("tree", "pairs"),
    "access": ("tree",),
    "root": ("tree",),
    "max_depth": ("tree",),
    "algorithm": ("pairs",),
    "tolerance": ("gossip",),
}


class _Source(NamedTuple):
    """`tables`: the sections of the network file that the graph is from, {} where it is from elsewhere."""

    graph: "Graph"
    name: str
    notes: tuple[str, ...]
    kind: str
    k: int
    tolerance: float
    root: int | None
    slot_ms: float
    tables: dict[str, Any]


def _options(command: Decorated) -> Decorated:
    for option in reversed(_GRAPH_OPTIONS + _DESIGN_OPTIONS + _USAGE_OPTIONS):
        command = option(command)
    return command


@click.command(
    "schedule",
    epilog=examples(
        "dcka schedule                                          the network file's topology",
        "dcka schedule --topology random --nodes 20 --radius 0.4 --picture radio.png",
        "dcka schedule --rssi heard.csv --min-rssi -85 --prefer energy --slot-ms 4000",
        "dcka schedule --edges links.csv --write tree.toml      for: dcka run --network tree.toml",
        "dcka schedule --access any --slot-ms 5000 --write tree.toml     the same, with slots",
        "dcka schedule --kind pairs --topology complete --nodes 20 --json",
    ),
)
@_options
@click.option(
    "--picture", type=_FILE, metavar="FILE", help="Draw graph and timetable into this PNG or SVG file."
)
@click.option("--write", type=_FILE, metavar="FILE", help="Write a network file with this schedule.")
@click.option("--force", is_flag=True, help="--write: overwrite a file that is there.")
@network_option
@json_option
def command(
    picture: Path | None, write: Path | None, force: bool, network: Path | None, output: Output, **given: Any
) -> None:
    """Design a duty-cycling schedule for a radio graph, prove it, and show what it costs.

    tree: sums go up a spanning tree and the result comes down. gossip: shares on the phases of the graph, in turn.
    pairs: any two nodes talk, through a broker: to compare with, no run has it. The charges are modelled
    (docs/energy.md), not measured.
    """
    from dcka.config import write_whole
    from dcka.schedule.fragment import network_file
    from dcka.schedule.words import record, run_as, text

    if write is not None and write.exists() and not force:
        raise UsageError(f"{write} is there already; overwrite it with --force, or name another file")
    source = _source(network, given)
    for note in source.notes:
        output.say(f"note: {note}")
    usage = _usage(given, source)
    found = _design(source, given, usage)
    made = record(found, source.name, source.notes)
    if write is not None:
        kept = None if given["slot_ms"] is None else usage.slot_ms
        if kept and not found.kept:
            output.say(f"note: {write} is without slot_ms; in a run: {run_as(found)}")
        write_whole(write, network_file(found, source.tables, kept).encode())
        made["written"] = write.absolute()
    if picture is not None:
        from dcka.schedule.picture import draw_design

        made["picture"] = draw_design(found, picture, source.name).absolute()
    output.result(made, text(found, source.name))
    if write is not None:
        output.say(f"wrote {write}: use it with dcka run --network {write}")


def _usage(given: dict[str, Any], source: _Source) -> "Usage":
    """Raises UsageError for a number that cannot be."""
    from dcka.schedule import Usage

    for name in ("slot_ms", "steps", "runs_a_day", "k", "dims", "points"):
        low = 0 if name == "points" else 1 if name in ("steps", "k", "dims") else 1e-3
        if given[name] is not None and not low <= given[name] <= 1e9:
            raise UsageError(
                f"--{name.replace('_', '-')} {given[name]:g}: it must be a number from {low:g} to 1e9"
            )
    k = source.k if given["k"] is None else given["k"]
    slot_ms = source.slot_ms if given["slot_ms"] is None else given["slot_ms"]
    return Usage(slot_ms, given["steps"], given["runs_a_day"], k, given["dims"], given["points"])


def _design(source: _Source, given: dict[str, Any], usage: "Usage") -> "Design":
    """Raises UsageError for words and options that do not fit, and as the designers do."""
    from dcka.schedule import Access, Algorithm, design_gossip, design_pairs, design_tree
    from dcka.schedule.design import KINDS, PREFERENCES

    kind = _one_of("--kind", given["kind"] or source.kind, KINDS)
    prefer = _one_of("--prefer", given["prefer"] or "latency", PREFERENCES)
    access = Access(_one_of("--access", given["access"] or "two-hop", ("two-hop", "one", "any")))
    _refuse_foreign(given, kind, _KINDS_OF, "--kind ")
    if given["max_depth"] is not None and prefer != "energy":
        raise UsageError("--max-depth goes with --prefer energy: else the tree is as shallow as can be")
    if kind == "tree":
        root = source.root if given["root"] is None else given["root"]
        return design_tree(
            source.graph, prefer, access=access, root=root, max_depth=given["max_depth"], usage=usage
        )
    if kind == "gossip":
        tolerance = source.tolerance if given["tolerance"] is None else given["tolerance"]
        return design_gossip(source.graph, tolerance, usage=usage)
    algorithm = given["algorithm"] and Algorithm(
        _one_of("--algorithm", given["algorithm"], tuple(one.value for one in Algorithm))
    )
    return design_pairs(source.graph, prefer, algorithm=algorithm, usage=usage)


def _one_of(option: str, word: str, words: tuple[str, ...]) -> str:
    if word not in words:
        raise UsageError(f"{option} {word}: it is {', '.join(words[:-1])} or {words[-1]}")
    return word


def _source(network: Path | None, given: dict[str, Any]) -> _Source:
    """The graph that the call names. Raises UsageError and TopologyError."""
    from dcka.schedule.radio import read_edges, read_strengths
    from dcka.schedule.ulb import radio as ulb_radio

    named = [option for option in ("edges", "rssi", "topology", "ulb") if given[option] is not None]
    if len(named) > 1:
        raise UsageError(f"--{named[0]} and --{named[1]} both name a graph; keep one of them")
    if network is not None and named:
        raise UsageError(f"--network and --{named[0]} both name a graph; keep one of them")
    _refuse_foreign(given, named[0] if named else "network", _SOURCES_OF, "--")
    if not named:
        return _of_network_file(network)
    ids = _ids(given["nodes"])
    split = 1 if given["split"] is None else given["split"]
    if split < 1:
        raise UsageError(f"--split {split}: at least one phase")
    if given["topology"] is not None:
        return _generated(range(1, 21) if ids is None else ids, given)
    if given["edges"] is not None:
        found = read_edges(given["edges"], ids)
    elif given["rssi"] is not None:
        found = read_strengths(given["rssi"], given["min_rssi"], ids)
    else:
        folder = None if given["ulb"] == _ULB_ANYWHERE else given["ulb"]
        found = ulb_radio(folder, given["min_rssi"])
    return _Source(found.graph(split), found.name, found.notes, "tree", 9, 1e-4, None, _SLOT_MS, {})


def _refuse_foreign(given: dict[str, Any], word: str, takes: dict[str, tuple[str, ...]], prefix: str) -> None:
    """Options that belong to another source of the graph, or another kind, are refused rather than ignored."""
    for option, words in takes.items():
        if given[option] is not None and word not in words:
            with_them = " or ".join(f"{prefix}{one}" for one in words)
            raise UsageError(f"--{option.replace('_', '-')} goes with {with_them}")


def _generated(ids: "range | list[int]", given: dict[str, Any]) -> _Source:
    from dcka.topology import Shape, named

    kind = given["topology"]
    settings = {name: given[name] for name in ("split", "seed", "radius", "columns")}
    return _Source(named(ids, Shape(kind, **settings)), kind, (), "tree", 9, 1e-4, None, _SLOT_MS, {})


def _of_network_file(network: Path | None) -> _Source:
    from dcka.config import FILE_NAME
    from dcka.config.source import read_toml

    file = network or Path(FILE_NAME)
    if network is None and not file.is_file():
        raise UsageError(
            f"there is no {FILE_NAME} in this folder; name a graph with --topology, --edges, --rssi or --ulb, "
            f"or a network file with --network FILE"
        )
    config = configuration(network)
    tables, _ = read_toml(file)
    name = f"{config.network.name}'s topology"
    run = config.run
    root = config.topology.root
    return _Source(
        config.graph,
        name,
        (),
        run.schedule,
        run.k,
        run.tolerance,
        root,
        run.slot_ms or _SLOT_MS,
        dict(tables),
    )


def _ids(words: str | None) -> "range | list[int] | None":
    """`20` is the nodes 1 … 20; `1-5,9` are ids; cut after the first one that is too high, which is refused where
    the graph is made. Raises UsageError."""
    from dcka.topology.graph import MAX_ID

    if words is None:
        return None
    refused = UsageError(f"--nodes {words}: give how many nodes there are, or their ids such as 1-5,9")
    ids: list[int] = []
    try:
        if words.isascii() and words.isdigit():
            return range(1, min(int(words), MAX_ID + 1) + 1)
        for word in words.split(","):
            first, dash, last = word.partition("-")
            ids.extend(range(int(first), min(int(last if dash else first), MAX_ID + 1) + 1))
    except ValueError:
        raise refused from None
    return ids
