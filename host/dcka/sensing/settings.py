"""What node.json says of sensors, and which parts of the firmware a node with them has."""

from collections.abc import Sequence

from dcka.config.living import SensorsSection
from dcka.config.sensors import Column
from dcka_core.segments import SEGMENT_BYTES

REPLAY = "replay"
REPLAY_FILE = "replay.bin"
_KB = 1024
_DAY_S = 86_400


def columns_text(columns: Sequence[Column]) -> str:
    """What a segment's head says of its columns."""
    return " ".join(f"{column.name}/{column.decimals}" for column in columns)


def sensor_parts(section: SensorsSection, replayed: bool = False) -> tuple[str, ...]:
    """The firmware's parts for these sensors; with `replayed` a file stands for them. None for no sensors."""
    if not section.devices:
        return ()
    drivers = {REPLAY} if replayed else {device.driver for device in section.devices}
    return ("sensing", *(f"sensors.{driver}" for driver in sorted(drivers)))


def sensor_settings(section: SensorsSection, replayed: bool = False) -> dict[str, object]:
    """What node.json has of them: `parts` and `sensors`; nothing for no sensors."""
    if not section.devices:
        return {}
    drivers: list[dict[str, object]] = [device.record() for device in section.devices]
    if replayed:
        names = [column.name for column in section.columns]
        drivers = [{"driver": REPLAY, "columns": names, "file": REPLAY_FILE, "every_s": section.every_s}]
    return {
        "parts": ["sensing"],
        "sensors": {
            "columns": columns_text(section.columns),
            "every_s": section.every_s,
            "sync_every": section.sync_every,
            "keep_s": section.keep_days * _DAY_S,
            "most": section.keep_kb * _KB,
            "reserve": section.reserve_kb * _KB,
            "segment": SEGMENT_BYTES,
            "drivers": drivers,
        },
    }
