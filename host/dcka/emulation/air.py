"""What the air does to messages on their way to one node: loses, doubles, delays them, lets one overtake another."""

import asyncio
import random
from collections import deque
from dataclasses import asdict, dataclass

from dcka.errors import UsageError

CONSENSUS = frozenset({b"x", b"commit", b"epoch"})
# One that is to be overtaken waits for the next message of its connection, but not for ever.
OVERTAKEN_S = 0.05
MOST_DELAY_MS = 10_000
# Packets on their way to one node; the broker keeps back what is more, as for any receiver that is slow.
MOST_ON_THE_WAY = 1000
_PUBLISH = 3
_RETAINED = 1


@dataclass(frozen=True)
class Faults:
    """`loss`, `duplicate`, `reorder`: shares of the deliveries, 0 to less than 1. `delay_ms`: of every one of them.

    Raises UsageError for what is outside.
    """

    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    delay_ms: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate", "reorder"):
            share = getattr(self, name)
            if not 0 <= share < 1:
                raise UsageError(
                    f"--{name} is a share of the deliveries, from 0 to less than 1, not {share:g}"
                )
        if not 0 <= self.delay_ms <= MOST_DELAY_MS:
            raise UsageError(f"--delay-ms is a number from 0 to {MOST_DELAY_MS}, not {self.delay_ms:g}")

    def __bool__(self) -> bool:
        return bool(self.loss or self.duplicate or self.reorder or self.delay_ms)

    def record(self) -> dict[str, float]:
        """What was asked for, as JSON holds it."""
        names = ("loss", "duplicate", "reorder", "delay_ms")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        """`loses 20 %, doubles 10 %, reorders 10 %, delays by 50 ms`: what is not zero."""
        shares = {"loses": self.loss, "doubles": self.duplicate, "reorders": self.reorder}
        said = [f"{verb} {share * 100:g} %" for verb, share in shares.items() if share]
        if self.delay_ms:
            said.append(f"delays by {self.delay_ms:g} ms")
        return ", ".join(said)


@dataclass
class Counts:
    """Deliveries of consensus messages: all that the broker made, and what became of some."""

    deliveries: int = 0
    lost: int = 0
    doubled: int = 0
    overtaken: int = 0

    def __str__(self) -> str:
        became = f"{self.lost:,} were lost, {self.doubled:,} doubled, {self.overtaken:,} overtaken"
        return f"of {self.deliveries:,} messages to a neighbour {became}"

    def since(self, before: "Counts") -> "Counts":
        """What was counted after `before`."""
        earlier = asdict(before)
        return Counts(**{name: count - earlier[name] for name, count in asdict(self).items()})


class Downlink:
    """What one node hears: packet after packet from the broker, and the faults in between.

    A packet of the consensus goes through three stations: it is lost or doubled, is on its way for the delay, and at
    the end may be held until the next one has overtaken it. All others are handed on at once.
    """

    def __init__(
        self, writer: asyncio.StreamWriter, faults: Faults, chance: random.Random, counts: Counts
    ) -> None:
        self._writer = writer
        self._faults = faults
        self._chance = chance
        self._counts = counts
        self._on_the_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(MOST_ON_THE_WAY)
        self._held: deque[bytes] = deque()
        self._release: asyncio.TimerHandle | None = None

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Until the broker ends the connection."""
        arriving = asyncio.create_task(self._arrive()) if self._faults.delay_ms else None
        try:
            while (packet := await read_packet(reader)) is not None:
                if is_consensus(packet):
                    await self._send_off(packet)
                else:
                    self._write(packet)
                await self._writer.drain()
        finally:
            if self._release is not None:
                self._release.cancel()
            if arriving is not None:
                arriving.cancel()
                await asyncio.gather(arriving, return_exceptions=True)

    async def _send_off(self, packet: bytes) -> None:
        for copy in self._copies(packet):
            if self._faults.delay_ms:
                due = asyncio.get_running_loop().time() + self._faults.delay_ms / 1000
                await self._on_the_way.put((due, copy))
            else:
                self._pass_on(copy)

    async def _arrive(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, packet = await self._on_the_way.get()
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            self._pass_on(packet)
            await self._writer.drain()

    def _copies(self, packet: bytes) -> list[bytes]:
        self._counts.deliveries += 1
        if self._chance.random() < self._faults.loss:
            self._counts.lost += 1
            return []
        if self._chance.random() < self._faults.duplicate:
            self._counts.doubled += 1
            return [packet, packet]
        return [packet]

    def _pass_on(self, packet: bytes) -> None:
        """Hand it on, and behind it those that it overtakes; or hold it for the next one."""
        if self._chance.random() < self._faults.reorder:
            self._held.append(packet)
            if self._release is None:
                self._release = asyncio.get_running_loop().call_later(OVERTAKEN_S, self._let_go)
            return
        self._write(packet)
        self._counts.overtaken += len(self._held)
        self._let_go()

    def _write(self, packet: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(packet)

    def _let_go(self) -> None:
        if self._release is not None:
            self._release.cancel()
            self._release = None
        while self._held:
            self._write(self._held.popleft())


def is_consensus(packet: bytes) -> bool:
    """Whether an MQTT packet is a live PUBLISH on a topic of the consensus."""
    if packet[0] >> 4 != _PUBLISH or packet[0] & _RETAINED:
        return False
    start = 1
    while packet[start] & 0x80:
        start += 1
    start += 1
    size = int.from_bytes(packet[start : start + 2], "big")
    levels = packet[start + 2 : start + 2 + size].split(b"/")
    return len(levels) > 2 and levels[2] in CONSENSUS


async def read_packet(reader: asyncio.StreamReader) -> bytes | None:
    """One MQTT packet, its header included; None at the end of the stream."""
    try:
        packet = bytearray(await reader.readexactly(2))
        length, shift = packet[1] & 0x7F, 7
        while packet[-1] & 0x80:
            packet += await reader.readexactly(1)
            length |= (packet[-1] & 0x7F) << shift
            shift += 7
        packet += await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        return None
    return bytes(packet)
