"""Which board becomes which node: known ones keep their ids, new ones get the next free, in their ports' order."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dcka.boards.ports import PortInfo
from dcka.boards.registry import Board
from dcka.errors import UsageError
from dcka.topology.graph import named_ids


@dataclass(frozen=True)
class Candidate:
    """A board that is to become a node. `says`: the id in its own node.json, if that is of the same network."""

    port: PortInfo
    mac: str
    says: int | None = None


@dataclass(frozen=True)
class Assignment:
    """`why`: "known" by its MAC, "its own" word, "new", or "asked for"."""

    port: PortInfo
    mac: str
    node: int
    why: str


def assigned(
    candidates: Sequence[Candidate], ids: Sequence[int], boards: Sequence[Board], wanted: int | None = None
) -> list[Assignment]:
    """An id for each board, in the order of their ports. `boards`: the registry's. `wanted`: `--node`.

    Ids that the registry gives to boards that are not here are not free. Raises UsageError for more boards than
    ids, for `wanted` with more than one board, for an id that is not in the network, and for one MAC on two ports.
    """
    ordered = sorted(candidates, key=lambda candidate: place(candidate.port))
    paths: dict[str, str] = {}
    for candidate in ordered:
        if candidate.mac in paths:
            raise UsageError(
                f"{paths[candidate.mac]} and {candidate.port.path} are the same board ({candidate.mac}): name it once"
            )
        paths[candidate.mac] = candidate.port.path
    if wanted is not None:
        return _wanted(ordered, ids, wanted)
    known = {board.mac: board.node for board in boards if board.node in ids}
    taken = set(known.values())
    said = [candidate.says for candidate in ordered]
    found: dict[str, tuple[int, str]] = {}
    for candidate in ordered:
        node = known.get(candidate.mac)
        if node is not None:
            found[candidate.mac] = node, "known"
        elif candidate.says in ids and candidate.says not in taken and said.count(candidate.says) == 1:
            found[candidate.mac] = candidate.says, "its own"  # type: ignore[assignment]
    free = [node for node in ids if node not in taken | {node for node, _ in found.values()}]
    new = [candidate.mac for candidate in ordered if candidate.mac not in found]
    if len(new) > len(free):
        raise UsageError(_too_many(len(ordered), len(new), free, ids))
    found |= {mac: (node, "new") for mac, node in zip(new, free, strict=False)}
    return [Assignment(candidate.port, candidate.mac, *found[candidate.mac]) for candidate in ordered]


def place(port: PortInfo) -> tuple[bool, list[tuple[int, str]]]:
    """A key that orders ports as they stand in a hub: by location, numbers by their value; then by path."""
    text = port.location if port.location is not None else port.path
    parts = [(int(digits or -1), word) for word, digits in re.findall(r"([^0-9]*)([0-9]*)", text)]
    return port.location is None, parts


def _wanted(ordered: Sequence[Candidate], ids: Sequence[int], wanted: int) -> list[Assignment]:
    if wanted not in ids:
        raise UsageError(f"--node {wanted} is not in the network; its nodes are {named_ids(tuple(ids))}")
    if len(ordered) > 1:
        raise UsageError(
            f"--node {wanted} is one id, and there are {len(ordered)} boards: name one with --port"
        )
    return [Assignment(candidate.port, candidate.mac, wanted, "asked for") for candidate in ordered]


def _too_many(boards: int, new: int, free: Sequence[int], ids: Sequence[int]) -> str:
    left = (
        f"{len(free)} of its {len(ids)} ids {'is' if len(free) == 1 else 'are'} free"
        if free
        else "no id is free"
    )
    return (
        f"{boards} boards, {new} of them new, and in network.toml {left}: raise [network] nodes, or take a board's "
        f"place with --node ID --port PATH (ids that boards had are in .dcka/boards.json)"
    )
