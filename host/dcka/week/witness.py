"""What the nodes were given, by word of their sensors, and what of it had to be kept: the truth that a week is held
against. It shares no code with the nodes' stores.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from dcka.emulation.virtual.world import Watcher

Entry = tuple[int, tuple[int, ...]]


class Witness(Watcher):
    """By node, the readings that its store said are on flash, in their order, and those that wait.

    `taken`: readings of all nodes. `cut`: that were lost with the power before they were on flash, as they may be.
    `forgotten`: that a store could not take back after a sleep. `crashes`: (node, what).
    """

    def __init__(self, nodes: Iterable[int]) -> None:
        self.taken = self.cut_off = self.forgotten_readings = 0
        self.crashes: list[tuple[int, str]] = []
        self._kept: dict[int, list[Entry]] = {node: [] for node in nodes}
        self._waiting: dict[int, list[Entry]] = {node: [] for node in nodes}
        self._windows: dict[bytes, tuple[int, int]] = {}
        self._made: dict[tuple[int, bytes], list[tuple[int, ...]]] = {}

    # ---- what the nodes' world says ----

    def appended(self, node: int, time_s: int, values: Sequence[int]) -> None:
        self.taken += 1
        self._waiting[node].append((time_s, tuple(values)))

    def synced(self, node: int) -> None:
        self._kept[node] += self._waiting[node]
        self._waiting[node] = []

    def forgotten(self, node: int) -> None:
        self.forgotten_readings += len(self._waiting[node])
        self._waiting[node] = []

    def cut(self, node: int) -> None:
        self.cut_off += len(self._waiting[node])
        self._waiting[node] = []

    def crashed(self, node: int, error: Exception) -> None:
        self.crashes.append((node, repr(error)))

    def made(self, node: int, dataset: bytes) -> None:
        window = self._windows.get(dataset)
        if window is not None:
            since, until = window
            entries = self._kept[node] + self._waiting[node]
            self._made[node, dataset] = [values for time_s, values in entries if since <= time_s < until]

    # ---- what is asked of it ----

    def expect(self, dataset: bytes, since: int, until: int) -> None:
        """A window is about to be asked for."""
        self._windows = {dataset: (since, until)}
        self._made.clear()

    def window(self, node: int, dataset: bytes) -> list[tuple[int, ...]] | None:
        """The readings that a node had of the window when it made its points; None where it made none."""
        return self._made.get((node, dataset))

    def lost(self, node: int, stored: Iterable[Entry]) -> int:
        """How many readings that were on flash are not among `stored`, or are there as others."""
        return (Counter(self._kept[node]) - Counter(stored)).total()

    @property
    def kept(self) -> int:
        """Readings that were on flash, of all nodes."""
        return sum(map(len, self._kept.values()))
