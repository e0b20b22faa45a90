"""What the two runtimes of emulated nodes have in common: ids, a node's configuration, and how one can fail."""

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dcka.broker.url import BrokerUrl
from dcka.emulation.errors import EmulationError
from dcka.errors import UsageError
from dcka.topology.graph import named_ids

CONFIG_FILE = "node.json"
MAX_NODE = 65535
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


@dataclass(frozen=True)
class NodeFailure:
    """A node that ended unasked: a sentence for people, and its traceback or its last lines.

    `exit_code` is its process's; 1 for a node that had none of its own.
    """

    node: int
    exit_code: int
    sentence: str
    output: tuple[str, ...]


@dataclass(frozen=True)
class Additions:
    """What not every network's nodes have. `parts`: of the firmware. `settings`: of node.json. `files`: by node and by
    name, what lies in its folder when it first starts.
    """

    parts: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[int, Mapping[str, bytes]] = field(default_factory=dict)


def checked_ids(nodes: Iterable[int]) -> tuple[int, ...]:
    """The ids in order. Raises `UsageError` for one that comes twice or is outside 1 … 65535."""
    ids = tuple(nodes)
    for position, node in enumerate(ids):
        if not 1 <= node <= MAX_NODE:
            raise UsageError(f"a node's id is a number from 1 to {MAX_NODE}, not {node}")
        if node in ids[:position]:
            raise UsageError(f"node {node} is there twice: every node needs an id of its own")
    return tuple(sorted(ids))


def ids_among(text: str, known: tuple[int, ...]) -> tuple[int, ...]:
    """The ids that `--nodes` names. Raises UsageError for what is no list of ids, and for a node that is not there."""
    found: list[int] = []
    for part in text.split(","):
        matched = _RANGE.fullmatch(part.strip())
        first, last = (int(matched[1]), int(matched[2] or matched[1])) if matched else (1, 0)
        if first > last:
            raise UsageError(f"--nodes {text}: {part.strip()!r} is no id and no range; write it as in 1-5,7")
        found.extend(range(first, last + 1))
    unknown = [node for node in found if node not in known]
    if unknown:
        raise UsageError(
            f"--nodes {text}: node {unknown[0]} is not in the network; the nodes are {named_ids(known)}"
        )
    return checked_ids(found)


def require_node(node: int, ids: tuple[int, ...]) -> None:
    """Raises `EmulationError` where there is no such node."""
    if node not in ids:
        raise EmulationError(f"there is no emulated node {node}; there are {', '.join(map(str, ids))}")


def settings(network: str, broker: BrokerUrl, max_message: int, keepalive: int) -> dict[str, object]:
    """What `node.json` says, but for the node's id and a password of its own; `keepalive` in seconds.

    Raises `UsageError` as `for_node` does.
    """
    return {
        "v": 1,
        "network": network,
        "broker": broker.for_node(),
        "max_message": max_message,
        "keepalive": keepalive,
    }


def with_sleep(record: Mapping[str, Any], sleep: Mapping[str, Any]) -> dict[str, Any]:
    """A node's configuration with deep sleep, whose part stands around all others."""
    return {**record, "parts": [*record.get("parts", ()), "sleeping"], "sleep": dict(sleep)}


MAX_DRIFT = 0.02
"""2 %. The guards of a run in slots allow for no more (`dcka_core.slots`)."""


def drifting(nodes: Iterable[int], share: float, seed: int = 1) -> dict[int, int]:
    """By id, by how many millionths a node's clock is fast: drawn from −share … share, the same for the same seed, and
    one of the first two nodes at each end. Empty where the share is 0.

    Raises `UsageError` for more than the guards allow for.
    """
    if not 0 <= share <= MAX_DRIFT:
        raise UsageError(
            f"--drift {share:g}: it must be 0 to {MAX_DRIFT:g}, a share of the time; nodes allow for 2 %"
        )
    if not share:
        return {}
    most = round(share * 1_000_000)
    drawn = random.Random(seed)
    ids = sorted(nodes)
    return {
        node: (most, -most)[place] if place < 2 else drawn.randint(-most, most)
        for place, node in enumerate(ids)
    }


def room_for(ids: tuple[int, ...]) -> int:
    """The `max_message` of emulated nodes: a board's 1024 bytes, more only where a run's record would not fit.

    It names all members, and has some 300 bytes besides.
    """
    return max(1024, 512 + sum(len(str(node)) + 1 for node in ids))
