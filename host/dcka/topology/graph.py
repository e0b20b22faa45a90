"""Which nodes can hear each other, phase by phase.

A graph is the radio side of a schedule: in slot `s` the links of phase `s mod P` are awake. Links are
undirected; a single phase may well be disconnected, the union of all must not be.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dcka.errors import UsageError

Link = tuple[int, int]
Neighbours = dict[int, tuple[int, ...]]

MAX_ID = 65535
_SHOWN_PARTS = 6
_SHOWN_IDS = 12


class TopologyError(UsageError):
    """A topology that no schedule can be made of: names the nodes, the link and the phase.

    `setting`: the setting of a named topology that is at fault, where it is one.
    """

    def __init__(self, message: str, setting: str | None = None) -> None:
        super().__init__(message)
        self.setting = setting


@dataclass(frozen=True)
class Graph:
    """`ids` in ascending order; `phases` with each link once as (low id, high id), in order.

    Make it with `build`, which checks; the bare constructor trusts its arguments.
    """

    ids: tuple[int, ...]
    phases: tuple[tuple[Link, ...], ...]

    @classmethod
    def build(cls, ids: Iterable[int], phases: Iterable[Iterable[Sequence[int]]]) -> "Graph":
        """A checked graph of `ids` and, for each phase, links (a, b) in either direction.

        Raises TopologyError for no node, an id outside 1 … 65535 or there twice, no phase, and a link
        to an unknown node, of a node to itself, or twice in its phase. Connectedness is another
        question: `require_jointly_connected`.
        """
        members = checked_ids(ids)
        known = frozenset(members)
        checked = tuple(_checked_phase(number, links, known) for number, links in enumerate(phases))
        if not checked:
            raise TopologyError("the topology has no phase; give at least one list of links")
        return cls(members, checked)

    def neighbours(self, phase: int) -> Neighbours:
        """For every id, whom it hears in `phase` (from 0), ascending."""
        return _adjacency(self.ids, self.phases[phase])

    def degrees(self, phase: int) -> dict[int, int]:
        """For every id, the number of its neighbours in `phase`."""
        return {node: len(heard) for node, heard in self.neighbours(phase).items()}

    def union(self) -> Neighbours:
        """For every id, whom it hears in any phase, ascending."""
        return _adjacency(self.ids, {link for phase in self.phases for link in phase})

    def parts(self) -> list[tuple[int, ...]]:
        """The connected parts of the union, each ascending, in the order of their smallest ids."""
        return connected_parts(self.union())

    def require_jointly_connected(self, remedy: str = "add a link between them") -> None:
        """Raises TopologyError, with the parts by name, where the union of the phases is not connected.

        `remedy` ends the sentence.
        """
        parts = self.parts()
        if len(parts) > 1:
            raise TopologyError(
                f"the topology is not jointly connected: {_named(parts)} never hear each other; {remedy}"
            )


def checked_ids(ids: Iterable[int]) -> tuple[int, ...]:
    """The ids in ascending order. Raises TopologyError for none, one there twice or out of 1 … 65535."""
    members = sorted(ids)
    if not members:
        raise TopologyError("there are no nodes; a network has at least one")
    for before, node in zip([0, *members], members, strict=False):
        if not 1 <= node <= MAX_ID:
            raise TopologyError(f"node id {node} is out of range; ids go from 1 to {MAX_ID}")
        if node == before:
            raise TopologyError(f"node {node} is there twice; give every node an id of its own")
    return tuple(members)


def connected_parts(neighbours: Mapping[int, Iterable[int]]) -> list[tuple[int, ...]]:
    """The connected parts of an adjacency, each ascending, in the order of their smallest ids."""
    parts = []
    unseen = set(neighbours)
    for start in sorted(neighbours):
        if start not in unseen:
            continue
        part, reached = {start}, [start]
        while reached:
            fresh = set(neighbours[reached.pop()]) - part
            part |= fresh
            reached.extend(fresh)
        unseen -= part
        parts.append(tuple(sorted(part)))
    return parts


def _checked_phase(number: int, links: Iterable[Sequence[int]], known: frozenset[int]) -> tuple[Link, ...]:
    seen: dict[Link, None] = {}
    for a, b in links:
        where = f"phase {number}, link {a}-{b}"
        for node in (a, b):
            if node not in known:
                raise TopologyError(
                    f"{where}: there is no node {node}; the nodes are {named_ids(sorted(known))}"
                )
        if a == b:
            raise TopologyError(f"{where}: a node cannot be linked to itself; remove the link")
        link = (min(a, b), max(a, b))
        if link in seen:
            raise TopologyError(f"{where}: the link is in this phase twice; remove one of the two")
        seen[link] = None
    return tuple(seen)


def _adjacency(ids: Iterable[int], links: Iterable[Link]) -> Neighbours:
    heard: dict[int, list[int]] = {node: [] for node in ids}
    for a, b in links:
        heard[a].append(b)
        heard[b].append(a)
    return {node: tuple(sorted(others)) for node, others in heard.items()}


def named_ids(ids: Sequence[int]) -> str:
    """Ids for a message: `{1, 2, 3}`, runs of four and more as `1-20`, a long list cut with its length."""
    runs: list[list[int]] = []
    for node in ids:
        if runs and node == runs[-1][1] + 1:
            runs[-1][1] = node
        else:
            runs.append([node, node])
    words = []
    for first, last in runs:
        if last - first >= 3:
            words.append(f"{first}-{last}")
        else:
            words.extend(str(node) for node in range(first, last + 1))
    if len(words) > _SHOWN_IDS:
        words = [*words[:_SHOWN_IDS], f"… ({len(ids)} nodes)"]
    return "{" + ", ".join(words) + "}"


def _named(parts: Sequence[Sequence[int]]) -> str:
    shown = [named_ids(part) for part in parts[:_SHOWN_PARTS]]
    if len(parts) > _SHOWN_PARTS:
        return ", ".join(shown) + f" and {len(parts) - _SHOWN_PARTS} parts more"
    return ", ".join(shown[:-1]) + " and " + shown[-1]
