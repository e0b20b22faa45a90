"""Switching graphs: a schedule is a list of phases, a phase a list of links of node ids, heard both ways."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from dcka.reference.arrays import BoolArray

Link: TypeAlias = tuple[int, int]


def checked_links(links: Iterable[Link], ids: Sequence[int]) -> list[Link]:
    """The links, lower id first, sorted.

    Raises ValueError for an id that is not in `ids` or there twice, a link from a node to itself,
    or a link given twice (in either direction).
    """
    known = set(ids)
    if len(known) != len(ids):
        raise ValueError(f"A node id is there twice in {list(ids)}.")
    seen: set[Link] = set()
    for a, b in links:
        if a == b:
            raise ValueError(f"The link {a}-{b} joins a node to itself; leave it out.")
        if not {a, b} <= known:
            raise ValueError(f"The link {a}-{b} names a node that is not one of {sorted(known)}.")
        link = (min(a, b), max(a, b))
        if link in seen:
            raise ValueError(f"The link {a}-{b} is there twice in one phase.")
        seen.add(link)
    return sorted(seen)


def union(phases: Iterable[Iterable[Link]]) -> list[Link]:
    """The links of all phases, each once, lower id first, sorted."""
    return sorted({(min(link), max(link)) for phase in phases for link in phase})


def neighbours(links: Iterable[Link], ids: Sequence[int]) -> dict[int, list[int]]:
    """The sorted neighbours of each node; raises ValueError as `checked_links` does."""
    table: dict[int, list[int]] = {node: [] for node in ids}
    for a, b in checked_links(links, ids):
        table[a].append(b)
        table[b].append(a)
    return {node: sorted(heard) for node, heard in table.items()}


def degrees(links: Iterable[Link], ids: Sequence[int]) -> dict[int, int]:
    """The number of neighbours of each node; raises ValueError as `checked_links` does."""
    return {node: len(heard) for node, heard in neighbours(links, ids).items()}


def parts(links: Iterable[Link], ids: Sequence[int]) -> list[list[int]]:
    """The connected parts, each sorted, in the order of their smallest ids."""
    heard = neighbours(links, ids)
    left = set(ids)
    found: list[list[int]] = []
    while left:
        part, edge = set[int](), {min(left)}
        while edge:
            part |= edge
            edge = {h for node in edge for h in heard[node]} - part
        left -= part
        found.append(sorted(part))
    return found


def check_jointly_connected(phases: Sequence[Iterable[Link]], ids: Sequence[int]) -> None:
    """The paper's second assumption for a periodic schedule: the union of the phases is connected.

    Raises ValueError, naming the parts, where it is not.
    """
    found = parts(union(phases), ids)
    if len(found) != 1:
        named = "; ".join(", ".join(map(str, part)) for part in found)
        raise ValueError(
            f"The phases together fall into {len(found)} parts ({named}); add links between them."
        )


def hears(links: Iterable[Link], ids: Sequence[int]) -> BoolArray:
    """(N, N): True at [i, h] where the i-th node hears the h-th; a node does not hear itself."""
    place = {node: i for i, node in enumerate(ids)}
    table = np.zeros((len(ids), len(ids)), dtype=np.bool_)
    for a, b in checked_links(links, ids):
        table[place[a], place[b]] = table[place[b], place[a]] = True
    return table


def flood_slots(phases: Sequence[Iterable[Link]], ids: Sequence[int]) -> int:
    """The fewest slots, from the first phase on, after which what any node knew has reached every other.

    Raises ValueError where the phases together are not connected.
    """
    check_jointly_connected(phases, ids)
    tables = [hears(phase, ids) for phase in phases]
    known = np.eye(len(ids), dtype=np.bool_)
    slots = 0
    while not known.all():
        known = known | (tables[slots % len(tables)] @ known)
        slots += 1
    return slots


def experiment1_phases() -> list[list[Link]]:
    """Nodes 1 … 5, the phases (b) and (c) of experiment 1: two parts each, connected together by 7 links."""
    return [[(1, 2), (1, 3), (4, 5)], [(2, 3), (3, 4), (2, 4), (5, 1)]]


def experiment2_phases() -> list[list[Link]]:
    """Nodes 1 … 20, three phases of experiment 2, 10 disconnected links each.

    The ring links (i, i + 1), 20-1 last, then the chords (i, i + 10); link e belongs to phase e mod 3.
    """
    ring = [(i, i % 20 + 1) for i in range(1, 21)]
    links = ring + [(i, i + 10) for i in range(1, 11)]
    return [links[phase::3] for phase in range(3)]
