"""The sections of a network that lives: what its nodes sense and cluster, when they sleep, how they are updated."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcka.config import checks, durations, sensors
from dcka.config.keys import key


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
