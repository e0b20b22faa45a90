"""The table of keys: one frozen dataclass a section of network.toml, one field a key.

A field made by `key` carries its check, its default as TOML writes it, and the comment of the template; a key
more is a field more. A default of None means "not given": the template shows such a key as a commented
example.
"""

from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcka.config import addresses, checks, durations, sensors
from dcka.config.broker_address import EMBEDDED, broker_check
from dcka.config.checks import Check
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
class KeyInfo:
    """What a key has to be, its default as in TOML (None: not given), the template's comment and example."""

    check: Check
    raw: object
    comment: str
    example: object = None


def key(raw: object, check: Check, comment: str, example: object = None) -> Any:
    """A dataclass field for a key; `raw` is converted by `check`, so that a default is a legal value too."""
    default = None if raw is None else check.convert(raw)
    return field(default=default, metadata={"key": KeyInfo(check, raw, comment, example)})


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


@dataclass(frozen=True)
class SensorsSection:
    """What nodes measure. Without devices they sense nothing. `keep_days`: 0 = as long as there is room.

    `replay`: the file as it stands there; None for none.
    """

    devices: tuple[sensors.Device, ...] = key(
        [],
        sensors.devices(),
        "What is wired to each node, a table a device; columns are names with their decimal places. Such as\n"
        '[{ driver = "bme280", sda = 21, scl = 22, columns = { temperature = 2, humidity = 1 } }]\n'
        "The file docs/sensors.md has the drivers and their keys. [] = nodes get their readings by dcka inject.",
    )
    every_s: int = key(60, checks.whole(1, 86_400), "Seconds between two readings.")
    sync_every: int = key(
        10,
        checks.whole(1, 100),
        "So many readings wait in memory before they are written to flash: a power cut costs them, and each\n"
        "write wears the flash (dcka bench store).",
    )
    keep_days: int = key(
        0, checks.whole(0, 3_650), "Older readings are dropped; 0 = not before the room is needed."
    )
    keep_kb: int = key(
        1024,
        checks.whole(64, 65_536),
        "So much of the flash is for readings; beyond it the oldest are dropped.",
    )
    reserve_kb: int = key(
        384,
        checks.whole(64, 65_536),
        "So much of the flash is left free, for the data of a clustering and a new version of the program.",
    )
    replay: Path | None = key(  # noqa: RUF009 - a field, as the others
        None,
        checks.path(),
        "Nodes on this computer have no pins: they read the columns from this CSV instead, from this folder.",
        example="readings.csv",
    )

    @property
    def columns(self) -> tuple[sensors.Column, ...]:
        """Those of all devices, in the order of a reading."""
        return tuple(column for device in self.devices for column in device.columns)


@dataclass(frozen=True)
class StreamSection:
    """Clustering what nodes sense, again and again. Times are seconds. `range`: (column, low, high) of each column."""

    range: durations.Ranges | None = key(  # noqa: RUF009 - a field, as the others
        None,
        durations.ranges(),
        "The lowest and highest value of each column of [sensors]: what lies outside is clipped, and counted.",
        example={"temperature": [-10, 50], "humidity": [0, 100]},
    )
    window: int = key(
        "24h",
        durations.duration(),
        'How far back the readings go that a clustering is about: a time such as "90s", "30m", "24h" or "7d".',
    )
    half_life: int | None = key(
        None,
        durations.duration(),
        "Instead of a window that slides: each reading counts once, and what was clustered before counts half as\n"
        "much after so long.",
        example="6h",
    )
    every: int = key("1h", durations.duration(), "The time from one clustering to the next.")
    drift: float = key(
        0.05,
        checks.real(1e-6, 1, ", as a fraction of the widest column's range"),
        "A centre that has moved farther since the last clustering, as a fraction of the widest column's range,\n"
        "is told of.",
    )


@dataclass(frozen=True)
class SleepSection:
    """Deep sleep between runs (docs/sleep.md). Voltages are those on the pin, behind a divider where there is one."""

    deep: bool = key(
        False,
        checks.flag(),
        "Nodes sleep deeply between clusterings, once a pace is said (dcka pace). They wake for it, and to sample.",
    )
    awake_s: int = key(
        20,
        checks.whole(1, 3600),
        "How long nodes wait for a clustering that is due; at the end of one they sleep at once.",
    )
    cap_s: int = key(
        60,
        checks.whole(5, 3600),
        "A node that finds no broker for so many seconds sleeps, and tries again later.",
    )
    hold: int = key(
        100,
        checks.whole(1, 1000),
        "Readings that wait in RTC memory before they are written to flash: a power cut loses so many at most.",
    )
    battery_pin: int | None = key(
        None,
        checks.whole(0, 48),
        "The pin on which a board measures its battery. Low, it takes part in every fourth clustering.",
        example=35,
    )
    battery_empty_mv: int = key(
        1650, checks.whole(1, 4999), "battery_pin: the millivolts on the pin of an empty battery."
    )
    battery_full_mv: int = key(
        2100, checks.whole(2, 5000), "battery_pin: the millivolts on the pin of a full one."
    )

    @property
    def node(self) -> dict[str, Any]:
        """What `sleep` of a node's node.json says."""
        told: dict[str, Any] = {"cap_s": self.cap_s, "hold": self.hold}
        if self.battery_pin is not None:
            battery = {"pin": self.battery_pin, "empty_mv": self.battery_empty_mv}
            told["battery"] = {**battery, "full_mv": self.battery_full_mv}
        return told


@dataclass(frozen=True)
class UpdateSection:
    """When a board takes a version over the air, and when it goes back. `battery_pin`: None = not looked at."""

    stay_s: int = key(
        30,
        checks.whole(0, 3600),
        "A new version has joined when it has been in the network for so many seconds.",
    )
    limit_s: int = key(
        600,
        checks.whole(5, 86_400),
        "A board whose new version has not joined within so many seconds goes back to the last one.",
    )
    starts: int = key(
        3,
        checks.whole(1, 5),
        "It goes back, too, when the new version has been started so often and has not joined.",
    )
    battery_pin: int | None = key(
        None,
        checks.whole(0, 48),
        "The pin at which a board reads its battery; below battery_mv it takes no update.",
        example=34,
    )
    battery_permille: int = key(
        2000,
        checks.whole(1000, 100_000),
        "The battery's voltage by that at the pin, in thousandths: 2000 for a divider by two.",
    )
    battery_mv: int = key(
        3500, checks.whole(500, 60_000), "The least voltage, in thousandths of a volt, for an update."
    )

    def for_node(self) -> dict[str, Any]:
        """What node.json says of it: only what is not as every board has it."""
        usual = UpdateSection()
        said: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("stay_s", "limit_s", "starts")
            if getattr(self, name) != getattr(usual, name)
        }
        if self.battery_pin is not None:
            said["battery"] = {
                "pin": self.battery_pin,
                "permille": self.battery_permille,
                "least_mv": self.battery_mv,
            }
        return said


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
