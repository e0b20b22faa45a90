"""`dcka broker check` as a whole: whom to take, and whose place must not be taken."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dcka.broker import BrokerUrl
from dcka.broker.access import Rights
from dcka.errors import DckaError
from dcka.mqtt import Connection
from dcka.mqtt.presence import present
from dcka.mqtt.readiness import named
from dcka.security.check import Row, TopicProof
from dcka.security.entrance import entrance_rows

# Each takes part in each other's rows: their number grows with the square.
MOST = 5


class Busy(DckaError):
    """A run is going on, or a node is online whose place the proof would take."""


@dataclass(frozen=True)
class Proof:
    """`rows`; `nodes`: who took part; `left_out`: who is online, and was not thrown out for it."""

    rows: list[Row]
    nodes: tuple[int, ...]
    left_out: tuple[int, ...]

    @property
    def wrong(self) -> list[Row]:
        """What is not as it has to be."""
        return [row for row in self.rows if not row.ok]


def prove(
    host: BrokerUrl,
    monitor: BrokerUrl,
    network: str,
    rights: Sequence[Rights],
    near: Mapping[int, Collection[int]],
    nodes: Sequence[int] | None = None,
    addresses: Sequence[str] = (),
) -> Proof:
    """Who gets in, and who may say and hear what. `nodes`: those that take part; None: a few that are not online.

    One who takes part is at the broker under its own name: it and a node that is online would throw each other out.
    Raises Busy for such a node, and while a run goes on; BrokerUnavailable where a user is not let in after all.
    """
    online, running = _present(host, network)
    if running:
        raise Busy(
            f"{named(running)}: a run is going on, which the check would disturb; wait until it is over"
        )
    if nodes is not None and online.intersection(nodes):
        there = online.intersection(nodes)
        raise Busy(
            f"{named(there)} {'is' if len(there) == 1 else 'are'} online, and only one can be there under its name: "
            "stop it, or leave it out"
        )
    known = [one.node for one in rights if one.node is not None]
    free = [node for node in known if node not in online]
    chosen = tuple(nodes) if nodes is not None else sample(free, near)
    taking = [one for one in rights if one.node is None or one.node in chosen]
    rows = entrance_rows(host, monitor, network, taking, addresses)
    if all(row.ok for row in rows):
        rows += TopicProof(host, monitor, network, taking).rows()
    left = tuple(sorted(online)) if nodes is None else ()
    return Proof(rows, chosen, left)


def sample(free: Sequence[int], near: Mapping[int, Collection[int]], most: int = MOST) -> tuple[int, ...]:
    """Some of the nodes, so that most have a neighbour among them and a stranger: outwards from the first, and the
    last.

    A node that hears nobody here proves nothing of what others may hear from it.
    """
    if len(free) <= most:
        return tuple(free)
    chosen = [free[0]]
    for node in chosen:
        chosen += [other for other in free if other in near[node] and other not in chosen]
        if len(chosen) >= most - 2:
            break
    chosen = chosen[: most - 2]
    for node in reversed(free):
        beside = [other for other in free if other in near[node] and other not in chosen]
        if node not in chosen and beside and len(chosen) <= most - 2:
            chosen += [node, beside[0]]
            break
    return tuple(sorted(chosen))


def _present(host: BrokerUrl, network: str) -> tuple[set[int], set[int]]:
    """Who is online, and who is in a run. Raises BrokerUnavailable."""
    with Connection(host, network, role="check") as connection:
        statuses, online = present(connection)
        return online, {node for node in online if statuses.by_node[node].state == "running"}
