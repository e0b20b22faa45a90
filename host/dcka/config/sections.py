"""The table of keys: one frozen dataclass a section of network.toml, one field a key.

A field made by `key` carries its check, its default as TOML writes it, and the comment of the template; a key
more is a field more. A default of None means "not given": the template shows such a key as a commented
example.
"""

from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcka.config import addresses, checks
from dcka.config.broker_address import EMBEDDED, broker_check
from dcka.config.keys import KeyInfo, key
from dcka.config.living import SensorsSection, SleepSection, StreamSection, UpdateSection
from dcka.topology.families import KINDS

if TYPE_CHECKING:
    from dcka.broker.url import BrokerUrl

_MAX_SEED = 2**63 - 1
# A wait above 2^29 ms cannot be told from one in the past on a node's tick counter; ten minutes are plenty.
_MAX_PATIENCE_MS = 600_000
LEAST_SLOT_MS = 40
"""The guard of a slot allows a quarter of it for messages that are late, and emulated nodes' are by up to 10 ms."""
_MAX_SLOT_MS = 600_000


@dataclass(frozen=True)
class NetworkSection:
    """Who belongs to the network, and where they meet. `nodes`: ids, ascending. `broker`: None = embedded.

    `ca`: a PEM file that was there, from the current folder; the broker has it too.
    """

    name: str = key(
        "sensors",
        checks.text("[A-Za-z0-9_-]{1,64}", "1 to 64 letters, digits, - or _"),
        "The network's name; every topic starts with dcka/<name>/.",
    )
    nodes: tuple[int, ...] = key(
        5,
        checks.node_ids(),
        "How many nodes (their ids are then 1, 2, 3 ...), or a list of ids such as [3, 7, 12].",
    )
    broker: "BrokerUrl | None" = key(  # noqa: RUF009 - a field, as the others
        EMBEDDED,
        broker_check(),
        'The MQTT broker: "embedded" starts one here, or a URL such as "mqtt://192.168.1.10:1883";\n'
        '"mqtts://..." is encrypted.',
    )
    ca: Path | None = key(  # noqa: RUF009 - a field, as the others
        None,
        checks.path(),
        "mqtts: the file with the certificate of the authority that the broker's is of (PEM), from this folder.",
        example="ca.pem",
    )


@dataclass(frozen=True)
class RunSection:
    """What a run does. `tolerance`: a fraction of the range of the readings."""

    schedule: str = key(
        "tree",
        checks.choice("tree", "gossip"),
        '"tree": exact sums over a spanning tree. "gossip": averages on a switching graph, as in the paper.',
    )
    k: int = key(9, checks.whole(1, 4096), "Clusters.")
    init: str = key(
        "local",
        checks.choice("local", "sorted", "snake", "shared", "partition", "kmeans++"),
        'The first centres. "local": each node draws its own from its readings. "sorted", "snake": the same, put into\n'
        'an order. "shared": all have the same places. "partition": readings get random labels. "kmeans++": readings\n'
        "far apart are drawn over the whole network, which reveals k of them to all nodes and this computer.",
    )
    seed: int = key(
        1, checks.whole(0, _MAX_SEED), "The same seed, data and schedule give the same result, bit for bit."
    )
    max_steps: int = key(
        100, checks.whole(1, 1_000_000), "A run that has not converged ends after so many outer steps."
    )
    tolerance: float = key(
        1e-4,
        checks.real(1e-7, 0.5, ", as a fraction of the range of the readings"),
        "gossip: a step ends when all nodes agree to within this fraction of the range of the readings.",
    )
    slots: int = key(
        0,
        checks.whole(0, 1_000_000),
        "gossip: exactly so many slots in every step; 0 = stop by the tolerance.",
    )
    max_slots: int = key(
        200,
        checks.whole(1, 1_000_000),
        "gossip: a step in which they have not agreed by then ends as it is, and says so.",
    )
    patience_ms: int = key(
        500,
        checks.whole(10, _MAX_PATIENCE_MS),
        "How long a node waits for the others before it sends again (tree) or goes on without them (gossip).",
    )
    slot_ms: int = key(
        0,
        checks.slot_time(LEAST_SLOT_MS, _MAX_SLOT_MS),
        "tree: nodes sleep between their slots of so many milliseconds; 0 = they stay awake.",
    )
    latest: bool = key(
        False,
        checks.flag(),
        "After a run each node tells in its status in which cluster its latest reading lies, and how far from its\n"
        "centre: for Home Assistant and dashboards. That is more than sums, so it is off.",
    )


@dataclass(frozen=True)
class TopologySection:
    """Who hears whom: a named `kind` with its settings, or `phases` of links by id; None = not given."""

    kind: str | None = key(
        None,
        checks.choice(*KINDS),
        'A topology by name: "experiment1" (5 nodes), "experiment2" (20 nodes), "ring", "line", "grid",\n'
        '"star", "complete" or "random". Without kind and phases: "experiment1".',
        example="experiment1",
    )
    phases: tuple[tuple[tuple[int, int], ...], ...] | None = key(
        None,
        checks.link_phases(),
        "Instead of kind: the links by hand, a list for each phase. Only all together have to be connected.",
        example=[[[1, 2], [1, 3], [4, 5]], [[2, 3], [3, 4], [2, 4], [5, 1]]],
    )
    split: int | None = key(
        None, checks.whole(1, 64), "Share the links of a kind out among so many phases, in turn.", example=2
    )
    seed: int | None = key(
        None, checks.whole(0, _MAX_SEED), 'kind = "random": the seed of the places of the nodes.', example=1
    )
    radius: float | None = key(
        None,
        checks.real(0.001, 1.5),
        'kind = "random": the radio reach in a square of side 1. Not given: the smallest that connects all.',
        example=0.3,
    )
    columns: int | None = key(None, checks.whole(1, 65535), 'kind = "grid": nodes in a row.', example=4)
    root: int | None = key(
        None,
        checks.whole(1, 65535),
        "tree: the node that decides. Not given: the most central one.",
        example=1,
    )


@dataclass(frozen=True)
class DataSection:
    """How a table of readings becomes the nodes' data. `columns` empty: all that hold numbers."""

    columns: tuple[str, ...] = key(
        [],
        checks.texts('a list of column names, such as ["humidity", "temperature"]'),
        "The columns to cluster by; [] = every column of numbers.",
    )
    missing: str = key(
        "refuse",
        checks.choice("refuse", "drop"),
        "A row with a cell that is empty or no number: refuse the file, or drop the row and count it.",
    )
    missing_marker: tuple[str, ...] = key(
        [],
        checks.texts('a list of texts, such as ["-200", "n/a"]'),
        'Texts in the file that stand for a missing reading, such as ["-200"]; rows with one are left out.',
    )
    split: str = key(
        "round-robin",
        checks.choice("round-robin", "contiguous"),
        "How rows are dealt to the nodes: in turn, or in equal pieces.",
    )
    split_by: str | None = key(
        None,
        checks.text(r".*\S.*", "the name of a column"),
        "Instead of split: a column that says which node a row belongs to.",
        example="mote",
    )
    range: str = key(
        "host",
        checks.choice("host", "minmax", "quantile"),
        'Who finds the range of the readings. "host": this computer, before it sends them. "minmax", "quantile":\n'
        "the nodes, which get the readings themselves and agree on their ends at the start of a run.",
    )
    tail: float = key(
        0.001,
        checks.real(1e-6, 0.49, ", as a part of the readings"),
        'range = "quantile": so large a part of the readings is cut off at either end, and counted.',
    )
    scale: str = key(
        "one",
        checks.choice("one", "minmax", "std"),
        '"one": distances in the units of the readings. Otherwise each column counts by itself: "minmax" by its\n'
        'range, "std" by its standard deviation. That is another clustering.',
    )

    @property
    def tail_ppm(self) -> int:
        """What is cut off at either end, in parts per million; 0 where it is nothing."""
        return round(self.tail * 1_000_000) if self.range == "quantile" else 0


@dataclass(frozen=True)
class EmulationSection:
    """Nodes on this computer. `heap`: bytes."""

    runtime: str = key(
        "micropython",
        checks.choice("micropython", "cpython"),
        '"micropython": one real MicroPython process a node. "cpython": all nodes in one Python process.',
    )
    heap: int = key("128K", checks.heap(), "The heap of each MicroPython process.")


@dataclass(frozen=True)
class WifiSection:
    """The boards' radio network; its password is never here. `awake_cap_s`: 0 = stay awake."""

    ssid: str | None = key(
        None,
        addresses.ssid(),
        "The name of the Wi-Fi. Its password goes into the environment variable DCKA_WIFI_PASSWORD.",
        example="greenhouse",
    )
    first_address: str | None = key(
        None,
        addresses.first_address(),
        "A fixed address for each node: the first has this one, the second the next ... Not given: DHCP.",
        example="192.168.1.101/24",
    )
    gateway: str | None = key(
        None,
        addresses.address(),
        "first_address: the router. Not given: the network's first address.",
        example="192.168.1.1",
    )
    dns: str | None = key(
        None,
        addresses.address(),
        "first_address: the name server. Not given: the router.",
        example="192.168.1.1",
    )
    awake_cap_s: int = key(
        0,
        checks.whole(0, 86_400),
        "A node that has been without Wi-Fi for so many seconds sleeps, to save its battery; 0 = it never does.",
    )


SECTIONS: dict[str, type] = {
    "network": NetworkSection,
    "run": RunSection,
    "topology": TopologySection,
    "data": DataSection,
    "emulation": EmulationSection,
    "wifi": WifiSection,
    "sensors": SensorsSection,
    "sleep": SleepSection,
    "update": UpdateSection,
    "stream": StreamSection,
}


def keys_of(section: str) -> dict[str, KeyInfo]:
    """The keys of a section in the order of its dataclass."""
    return {entry.name: _info(entry) for entry in fields(SECTIONS[section])}


def _info(entry: "Field[Any]") -> KeyInfo:
    info = entry.metadata["key"]
    if not isinstance(info, KeyInfo):
        raise TypeError(f"{entry.name}: not made by key()")
    return info
