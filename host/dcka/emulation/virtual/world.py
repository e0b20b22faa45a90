"""What all nodes of a simulated network have in common."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dcka.emulation.shared import SharedParts
from dcka.emulation.virtual.broker import Broker
from dcka.emulation.virtual.segment_files import SegmentFiles
from dcka.emulation.virtual.timeline import Timeline
from dcka_core.node import Node
from dcka_core.segments import Segments

Sensor = Callable[[int, float], Sequence[int] | None]
"""(node, true seconds since the start) → a reading of n whole numbers, or None where the sensor gives none."""


class Watcher(Protocol):
    """Who is told of what only the nodes see, as it happens. `time_s`: of a reading, by the node's clock."""

    def appended(self, node: int, time_s: int, values: Sequence[int]) -> None:
        """A reading was handed to the store."""

    def synced(self, node: int) -> None:
        """The store says that all it was handed is on flash."""

    def forgotten(self, node: int) -> None:
        """Readings that were in RTC memory over a sleep could not be taken back."""

    def cut(self, node: int) -> None:
        """The power is gone, and what was not on flash with it."""

    def made(self, node: int, dataset: bytes) -> None:
        """Points of this data set are about to be made of the readings that are there now."""

    def crashed(self, node: int, error: Exception) -> None:
        """A fault of its program ended it; it starts again, as a board's guard has it."""


@dataclass(frozen=True)
class World:
    """`network`: its name. `columns`: of a reading, as `dcka_core.segments` has them. `start_s`: what the time is at
    the start, in seconds since 2020-01-01 00:00 UTC. `sample_s`: between readings. `battery_mah`: of a node's.

    `update_key`: the network's, of which each node has a key of its own; none: nodes take no updates.
    `segment_bytes`, `flash_bytes`: of a segment, and of all that a node has room for. `node`, `segments`: what decides,
    the core's; a test puts something broken in their place.
    """

    network: str
    timeline: Timeline
    broker: Broker
    sensor: Sensor
    watcher: Watcher
    columns: str
    start_s: int
    sample_s: int
    battery_mah: float = 2600.0
    segment_bytes: int = 16384
    flash_bytes: int = 1 << 20
    max_message: int = 4096
    update_key: bytes = b""
    parts: SharedParts = field(default_factory=SharedParts)
    node: Callable[..., Node] = Node
    segments: Callable[..., Segments] = Segments

    def open_segments(self, files: SegmentFiles) -> Segments:
        """The store of a node that has just started."""
        return self.segments(files, self.columns, self.segment_bytes)
