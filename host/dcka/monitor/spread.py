"""How far apart the nodes are in each window of `gossip`, from the messages that they send each other."""

from collections.abc import Iterable

from dcka.mqtt.statuses import PayloadError
from dcka_core.codec import Reader
from dcka_core.errors import MessageError
from dcka_core.messages import MAX_ID, SHARE, read_head
from dcka_core.record import Run

LEVELS = 256  # of a grid step (protocol, section 4, type 3)
MOST_LEVEL = LEVELS << 15
MOST_WINDOWS = 20_000


class Spreads:
    """The largest distance between two nodes' ratios in any coordinate, in grid steps, by window.

    A window's lowest and highest ratio are those with which the nodes opened it, however far they have been passed on.
    So once every node has sent a message in it, the value is the disagreement at the window's first slot, exactly.
    `values`: by (step, first slot of the window). `slot`: (step, slot, phase) of the latest message.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._width = (run.modulus_bits + 7) // 8
        self._open: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        self.values: dict[tuple[int, int], float] = {}
        self.slot: tuple[int, int, int] | None = None

    def take(self, node: int, payload: bytes) -> int | None:
        """A message of type 3: the step whose spread has changed, if one has. Raises PayloadError for another."""
        try:
            return self._take(node, payload)
        except MessageError as error:
            raise PayloadError(error.reason) from None

    def of_step(self, step: int) -> list[tuple[int, float]]:
        """(first slot, spread) of its windows, in order."""
        return sorted((slot, value) for (at, slot), value in self.values.items() if at == step)

    def steps(self) -> Iterable[int]:
        """Those of which a spread is known."""
        return sorted({step for step, _ in self.values})

    def _take(self, node: int, payload: bytes) -> int | None:
        run, reader = self._run, Reader(payload)
        number, sender, _, step = read_head(reader, SHARE)
        if number != run.number:
            return None
        if sender != node or step >= run.max_steps:
            raise PayloadError("sender or step")
        phase, slot = reader.varint(MAX_ID), reader.varint(run.max_slots)
        groups = reader.varint(len(run.members))
        reader.take(groups * run.rows * self._width)
        reader.set(len(run.members))
        reader.set(run.k)
        reader.byte()
        if self.slot is None or (step, slot) >= self.slot[:2]:
            self.slot = step, slot, phase
        window = step, slot - slot % run.window
        low, high = self._window(window)
        for index in range(run.k * run.n):
            least = reader.varint(MOST_LEVEL + 1) - 1
            if least < 0:
                continue
            most = least + reader.varint(MOST_LEVEL)
            low[index] = min(low[index], least)
            high[index] = max(high[index], most)
        reader.end()
        value = max((most - least for least, most in zip(low, high, strict=True)), default=0) / LEVELS
        if value < 0 or self.values.get(window) == value or len(self.values) >= MOST_WINDOWS:
            return None
        self.values[window] = value
        return step

    def _window(self, window: tuple[int, int]) -> tuple[list[int], list[int]]:
        found = self._open.get(window)
        if found is None:
            size = self._run.k * self._run.n
            found = self._open[window] = [MOST_LEVEL + 1] * size, [-1] * size
            # Nodes are a window or two apart at most; what is older is done with.
            while len(self._open) > 8:
                del self._open[min(self._open)]
        return found
