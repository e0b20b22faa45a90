"""A radio graph from a person's file: a list of links, or a table of who hears whom how well."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dcka.inject.number_text import parse
from dcka.inject.text_table import read_text_table
from dcka.schedule.errors import ScheduleError
from dcka.topology.graph import MAX_ID, Graph, Link, checked_ids, named_ids

Heard = Mapping[tuple[int, int], Sequence[float]]
"""(who hears, whom) → the signal strengths in dBm, in any order."""

_STRENGTH_NAMES = frozenset({"rssi", "dbm", "rssi_dbm", "strength"})
_SHOWN = 6


@dataclass(frozen=True)
class Radio:
    """`ids`, ascending; `links`, each once, in the order of the file or of the ids; `name`: where they are from;
    `notes`: sentences about what was left out."""

    ids: tuple[int, ...]
    links: tuple[Link, ...]
    name: str
    notes: tuple[str, ...] = ()

    def graph(self, split: int = 1) -> Graph:
        """The graph whose phase p has every link e with e mod `split` = p.

        Raises TopologyError, with the parts by name, where it is not jointly connected; ScheduleError for more
        phases than links.
        """
        if split > max(1, len(self.links)):
            raise ScheduleError(f"--split {split} is more than the {len(self.links)} links of {self.name}")
        graph = Graph.build(self.ids, [self.links[phase::split] for phase in range(split)])
        graph.require_jointly_connected(f"{self.name} has to link them")
        return graph


def read_edges(path: Path, ids: Iterable[int] | None = None) -> Radio:
    """The links of a CSV file, `a,b` a row, with or without a header; a link works in both directions.

    `ids`: the nodes there are; None takes those that the file names. Raises DataError for a file that is no
    table, ScheduleError with file and line for what is no node id, an unknown node, a node linked to itself, and a
    link that is there twice, in either direction.
    """
    table = read_text_table(path, None, ".", None)
    if len(table.columns.names) != 2:
        raise ScheduleError(
            f"{path.name}: {len(table.columns.names)} columns, and a list of links has two, a and b"
            + (
                "; with a signal strength beside them, pass it as --rssi"
                if len(table.columns.names) == 3
                else ""
            )
        )
    known = None if ids is None else frozenset(checked_ids(ids))
    seen: dict[Link, int] = {}
    for line, a, b in zip(table.lines, *table.columns.cells, strict=True):
        where = f"{path.name}, line {line}"
        one, other = _pair(where, a, b, known)
        link = (min(one, other), max(one, other))
        if link in seen:
            raise ScheduleError(
                f"{where}: the link {one}-{other} is on line {seen[link]} already; remove one"
            )
        seen[link] = line
    members = sorted(known) if known is not None else sorted({node for link in seen for node in link})
    return Radio(tuple(members), tuple(seen), path.name)


def read_strengths(path: Path, min_rssi: float | None = None, ids: Iterable[int] | None = None) -> Radio:
    """The links of a CSV file `a,b,rssi`: a hears b at rssi dBm; a pair may be there many times.

    See `heard_both_ways` for what is a link, `read_edges` for `ids` and what is raised.
    """
    table = read_text_table(path, None, ".", None)
    if len(table.columns.names) != 3:
        raise ScheduleError(
            f"{path.name}: {len(table.columns.names)} columns, and it takes three: a, b and rssi"
        )
    last = table.columns.names[2].strip().casefold()
    if table.header and last not in _STRENGTH_NAMES:
        first = next(
            (name for name in table.columns.names if name.strip().casefold() in _STRENGTH_NAMES), None
        )
        if first is not None:
            raise ScheduleError(f"{path.name}: {first} has to be the third column, after who hears and whom")
    known = None if ids is None else frozenset(checked_ids(ids))
    heard: dict[tuple[int, int], list[float]] = {}
    for line, a, b, text in zip(table.lines, *table.columns.cells, strict=True):
        where = f"{path.name}, line {line}"
        pair = _pair(where, a, b, known)
        strength = parse(text, ".")
        if strength is None or not -200 <= strength <= 50:
            raise ScheduleError(f"{where}: rssi {text.strip()!r} is no signal strength in dBm, such as -71")
        heard.setdefault(pair, []).append(strength)
    members = known if known is not None else {node for pair in heard for node in pair}
    return heard_both_ways(heard, members, min_rssi, path.name)


def heard_both_ways(heard: Heard, ids: Iterable[int], min_rssi: float | None, name: str) -> Radio:
    """A link is a pair that hear each other, both at a median of `min_rssi` or more (None: at any strength).

    What is dropped is said in the notes: pairs too weak, and pairs of which only one hears the other.
    """
    enough = {
        pair
        for pair, strengths in heard.items()
        if min_rssi is None or statistics.median(strengths) >= min_rssi
    }
    links = sorted((a, b) for a, b in enough if a < b and (b, a) in enough)
    notes = []
    weak = {(min(pair), max(pair)) for pair in heard} - {(min(pair), max(pair)) for pair in enough}
    if weak:
        notes.append(f"{_counted(weak, 'pair')} below {min_rssi:g} dBm dropped: {_shown(weak)}")
    one_way = {(a, b) for a, b in enough if (b, a) not in enough}
    if one_way:
        words = ", ".join(f"{a} hears {b}" for a, b in sorted(one_way)[:_SHOWN])
        more = f" and {len(one_way) - _SHOWN} more" if len(one_way) > _SHOWN else ""
        notes.append(
            f"{_counted(one_way, 'pair')} dropped, heard well enough in one direction only: {words}{more}"
        )
    return Radio(tuple(sorted(ids)), tuple(links), name, tuple(notes))


def _pair(where: str, a: str, b: str, known: frozenset[int] | None) -> tuple[int, int]:
    one, other = _node(where, a, known), _node(where, b, known)
    if one == other:
        raise ScheduleError(f"{where}: node {one} is linked to itself; remove the line")
    return one, other


def _node(where: str, text: str, known: frozenset[int] | None) -> int:
    word = text.strip()
    if not (word.isascii() and word.isdigit()) or not 1 <= int(word) <= MAX_ID:
        raise ScheduleError(f"{where}: {word!r} is no node id; ids are whole numbers from 1 to {MAX_ID}")
    node = int(word)
    if known is not None and node not in known:
        raise ScheduleError(f"{where}: there is no node {node}; the nodes are {named_ids(sorted(known))}")
    return node


def _counted(pairs: Iterable[Link], what: str) -> str:
    count = len(list(pairs))
    return f"{count} {what}{'' if count == 1 else 's'}"


def _shown(links: Iterable[Link]) -> str:
    every = sorted(links)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(f"{a}-{b}" for a, b in every[:_SHOWN]) + more
