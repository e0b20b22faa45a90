"""A radio that loses messages: a proxy between the nodes and their broker, whatever the runtime.

Faults hit what one node sends and another hears: each delivery of a live message on the topics of the consensus
(`x`, `commit`, `epoch`) is lost, doubled, overtaken or late by itself, as one broadcast reaches one receiver and not
the next. What a node reads back from the broker (retained messages) and what it says to the host are not touched.
"""

import asyncio
import random
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from dcka.broker.url import BrokerUrl
from dcka.errors import UsageError

CONSENSUS = frozenset({b"x", b"commit", b"epoch"})
# One that is overtaken waits for the next message of its connection, but not for ever.
OVERTAKEN_S = 0.05
_PUBLISH = 3
_RETAINED = 1
_CHUNK = 1 << 16
START_S = 5.0


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
        if not 0 <= self.delay_ms <= 10_000:
            raise UsageError(f"--delay-ms is a number from 0 to 10000, not {self.delay_ms:g}")

    def __bool__(self) -> bool:
        return bool(self.loss or self.duplicate or self.reorder or self.delay_ms)


@dataclass
class Counts:
    """Deliveries of consensus messages: all that the broker made, and what became of some."""

    deliveries: int = 0
    lost: int = 0
    doubled: int = 0
    overtaken: int = 0


class FaultyRadio:
    """The proxy, up in a `with` block, in a thread of its own. `address`: where nodes connect instead of the broker.

    `broker` is asked for each connection, since one that starts anew may be elsewhere. A broker that is away is away
    here too: the node's connection ends. Raises OSError where no loopback port can be had.
    """

    def __init__(self, broker: Callable[[], BrokerUrl], faults: Faults) -> None:
        self._broker = broker
        self._faults = faults
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="faulty radio", daemon=True)
        self._port: Future[int] = Future()
        self._over: asyncio.Event | None = None
        self._connections = 0
        self.counts = Counts()

    def __enter__(self) -> Self:
        self._thread.start()
        self._port.result(START_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        over = self._over
        if over is not None:
            self._loop.call_soon_threadsafe(over.set)
        self._thread.join(START_S)

    @property
    def address(self) -> BrokerUrl:
        """The broker's URL as the nodes get it."""
        return replace(self._broker(), host="127.0.0.1", port=self._port.result(START_S))

    def _serve(self) -> None:
        try:
            self._loop.run_until_complete(self._accept())
        finally:
            self._loop.close()

    async def _accept(self) -> None:
        self._over = asyncio.Event()
        try:
            server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        except OSError as error:
            self._port.set_exception(error)
            return
        self._port.set_result(server.sockets[0].getsockname()[1])
        async with server:
            await self._over.wait()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        chance = random.Random(f"{self._faults.seed} {self._connections}")
        url = self._broker()
        try:
            from_broker, to_broker = await asyncio.open_connection(url.host, url.port)
        except OSError:
            writer.close()
            return
        for end in (writer, to_broker):
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        down = _Downlink(writer, self._faults, chance, self.counts)
        ways = [
            asyncio.create_task(_hand_on(reader, to_broker)),
            asyncio.create_task(down.run(from_broker)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            writer.close()
            to_broker.close()


async def _hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_CHUNK):
        writer.write(piece)
        await writer.drain()


class _Downlink:
    """What one node hears: packet after packet from the broker, and the faults in between."""

    def __init__(
        self, writer: asyncio.StreamWriter, faults: Faults, chance: random.Random, counts: Counts
    ) -> None:
        self._writer = writer
        self._faults = faults
        self._chance = chance
        self._counts = counts
        self._held: bytes | None = None
        self._release: asyncio.TimerHandle | None = None

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Until the broker ends the connection."""
        loop = asyncio.get_running_loop()
        while (packet := await _read_packet(reader)) is not None:
            if not is_consensus(packet):
                self._send(packet)
            else:
                for copy in self._copies(packet):
                    if self._faults.delay_ms:
                        loop.call_later(self._faults.delay_ms / 1000, self._pass_on, copy)
                    else:
                        self._pass_on(copy)
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
        """Send it now, or after the next one."""
        if self._held is None and self._chance.random() < self._faults.reorder:
            self._counts.overtaken += 1
            self._held = packet
            self._release = asyncio.get_running_loop().call_later(OVERTAKEN_S, self._let_go)
            return
        self._send(packet)
        self._let_go()

    def _let_go(self) -> None:
        if self._release is not None:
            self._release.cancel()
            self._release = None
        if self._held is not None:
            packet, self._held = self._held, None
            self._send(packet)

    def _send(self, packet: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(packet)


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


async def _read_packet(reader: asyncio.StreamReader) -> bytes | None:
    """One MQTT packet, its header included; None at the end of the stream."""
    try:
        packet = bytearray(await reader.readexactly(2))
        length, shift = packet[1] & 0x7F, 7
        while packet[-1] & 0x80:
            packet += await reader.readexactly(1)
            length |= (packet[-1] & 0x7F) << shift
            shift += 7
        packet += await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return bytes(packet)
