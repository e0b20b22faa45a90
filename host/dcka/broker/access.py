"""Who may publish and read which topic: the one table from which every broker's rules are written.

Pure: it knows the topics of docs/protocol.md (section 2) and no broker. A *user* is what somebody logs in as: `n<i>`
for node i, `host` for the verbs that plan, inject and run, `monitor` for those that only look.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

HOST = "host"
MONITOR = "monitor"


class Scope(Enum):
    """Whose topic of a kind somebody may publish or read."""

    NONE = "nobody's"
    OWN = "its own"
    NEAR = "its radio neighbours'"
    BEACON = "its radio neighbours' and that of the root, whose beacons everybody hears"
    ALL = "everybody's"


@dataclass(frozen=True)
class Topic:
    """A kind of topic. `suffix`: after `dcka/<net>/`, with `<i>` for a node's id and `<p>` for a phase.

    A node publishes its own ones (`node`) or none, and reads those of `reads`. `host` and `host_reads`: whether the
    host may; `monitor`: whether a monitor may read it, for it never publishes.
    """

    suffix: str
    node: bool
    reads: Scope
    host: bool
    host_reads: bool
    monitor: bool


# The host writes commits and statuses only to clear what is retained there. It needs no sums, and a monitor neither
# those nor data, nor events, which have readings: what is retained or told to people is enough. A node reads
# everybody's commits, since it looks for the greatest before it founds an epoch (rules 2 and 14).
TOPICS = (
    Topic("run", False, Scope.ALL, host=True, host_reads=True, monitor=True),
    Topic("pace", False, Scope.ALL, host=True, host_reads=True, monitor=True),
    Topic("time", False, Scope.ALL, host=True, host_reads=True, monitor=True),
    Topic("rows/<i>", False, Scope.OWN, host=True, host_reads=True, monitor=True),
    Topic("dataset", False, Scope.NONE, host=True, host_reads=True, monitor=True),
    Topic("window", False, Scope.ALL, host=True, host_reads=True, monitor=True),
    Topic("put/<i>", False, Scope.OWN, host=True, host_reads=False, monitor=False),
    Topic("got/<i>", True, Scope.NONE, host=False, host_reads=True, monitor=False),
    Topic("version/<i>", True, Scope.NONE, host=False, host_reads=True, monitor=True),
    Topic("x/<p>/<i>", True, Scope.NEAR, host=False, host_reads=False, monitor=False),
    Topic("commit/<i>", True, Scope.ALL, host=True, host_reads=True, monitor=True),
    Topic("epoch/<i>", True, Scope.BEACON, host=False, host_reads=False, monitor=False),
    Topic("step/<i>", True, Scope.NONE, host=False, host_reads=True, monitor=True),
    Topic("result/<i>", True, Scope.NONE, host=False, host_reads=True, monitor=True),
    Topic("event/<i>", True, Scope.NONE, host=False, host_reads=True, monitor=False),
    Topic("status/<i>", True, Scope.OWN, host=True, host_reads=True, monitor=True),
)


# Home Assistant logs in as the monitor. What makes its devices is the host's to say (`dcka ha`); what it listens to is
# wider, and on a broker that holds subscriptions against its rules it has to be let.
DISCOVERY = "homeassistant/device/+/config"
DISCOVERIES = ("homeassistant/+/+/config", "homeassistant/+/+/+/config")


@dataclass(frozen=True)
class Rights:
    """What one user may do: topic filters of MQTT, complete, in the order of the table.

    What is not in `publish` may not be published, retained or not, nor be a will; what is not in `read` does not come.
    `node`: the id, where the user is one.
    """

    user: str
    publish: tuple[str, ...]
    read: tuple[str, ...]
    node: int | None = None

    def may_publish(self, topic: str) -> bool:
        """Whether a message to `topic` (no filter) shall be passed on."""
        return any(matches(one, topic) for one in self.publish)

    def may_read(self, topic: str) -> bool:
        """Whether a message to `topic` (no filter) shall be delivered."""
        return any(matches(one, topic) for one in self.read)


def matches(topic_filter: str, topic: str) -> bool:
    """Whether a filter without `#` is for the topic. (paho's own builds a tree for each question: 20 times as slow.)"""
    wanted, levels = topic_filter.split("/"), topic.split("/")
    return len(wanted) == len(levels) and all(
        one in ("+", level) for one, level in zip(wanted, levels, strict=True)
    )


def node_user(node: int) -> str:
    """As whom node `node` logs in."""
    return f"n{node}"


def access(network: str, near: Mapping[int, Iterable[int]], root: int | None = None) -> tuple[Rights, ...]:
    """Everybody's rights in a network: the host's, the monitor's, then the nodes' by id.

    `near`: by id, whom a node hears over the radio in any phase (`Graph.union`). `root`: the scheduled R0, whose
    beacons all nodes hear in runs with slots. Which tree is made of the links, and which phases `gossip` has, changes
    nothing.
    """
    return (
        _host(network),
        _monitor(network),
        *(_node(network, node, set(near[node]) - {node}, root) for node in sorted(near)),
    )


def _host(network: str) -> Rights:
    return Rights(
        HOST,
        (*_filters(network, [(topic, None) for topic in TOPICS if topic.host]), DISCOVERY),
        (*_filters(network, [(topic, None) for topic in TOPICS if topic.host_reads]), DISCOVERY),
    )


def _monitor(network: str) -> Rights:
    read = _filters(network, [(topic, None) for topic in TOPICS if topic.monitor])
    return Rights(MONITOR, (), (*read, *DISCOVERIES))


def _node(network: str, node: int, near: set[int], root: int | None) -> Rights:
    publish = [(topic, node) for topic in TOPICS if topic.node]
    heard: dict[Scope, list[int | None]] = {
        Scope.NONE: [],
        Scope.OWN: [node],
        Scope.NEAR: [*sorted(near)],
        Scope.BEACON: [*sorted(near if root is None else (near | {root}) - {node})],
        Scope.ALL: [None],
    }
    read = [(topic, who) for topic in TOPICS for who in heard[topic.reads]]
    return Rights(node_user(node), _filters(network, publish), _filters(network, read), node)


def _filters(network: str, topics: Iterable[tuple[Topic, int | None]]) -> tuple[str, ...]:
    """Filters for a kind of topic of a node, or of all (None)."""
    return tuple(
        f"dcka/{network}/{topic.suffix}".replace("<p>", "+").replace("<i>", "+" if who is None else str(who))
        for topic, who in topics
    )
