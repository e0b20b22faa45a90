"""A radio that loses messages: a proxy between the nodes and their broker, whatever the runtime.

Faults hit what one node sends and another hears: each delivery of a live message on the topics of the consensus
(`x`, `commit`, `epoch`) is lost, doubled, overtaken or late by itself, as one broadcast reaches one receiver and not
the next. What a node reads back from the broker (retained messages) and what it says to the host are not touched.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from dcka.broker.encryption import broker_context
from dcka.broker.url import BrokerUrl
from dcka.emulation.air import Counts, Downlink, Faults
from dcka.emulation.loopback_proxy import LoopbackProxy

__all__ = ["Counts", "Faults", "FaultyRadio"]

# For what is still to be sent over a connection that ends; who does not read shall not hold us.
CLOSE_S = 1.0
_CHUNK = 1 << 16


class FaultyRadio(LoopbackProxy):
    """The proxy, up in a `with` block, in a thread of its own. `address`: where nodes connect instead of the broker.

    `broker` is asked for each connection, since one that starts anew may be elsewhere. A broker that is away is away
    here too: the node's connection ends. An encrypted broker is spoken to encrypted, and its certificate is verified;
    the nodes' way to the proxy is not, for it does not leave this computer. Raises OSError where no loopback port can
    be had.
    """

    def __init__(self, broker: Callable[[], BrokerUrl], faults: Faults) -> None:
        super().__init__("faulty radio")
        self._broker = broker
        self._faults = faults
        self._ways: set[asyncio.Task[None]] = set()
        self._connections = 0
        self._counts = Counts()

    @property
    def address(self) -> BrokerUrl:
        """The broker's URL as the nodes get it."""
        return replace(self._broker(), host="127.0.0.1", port=self.port, tls=False, ca=None, others=())

    def counts(self) -> Counts:
        """What became of the deliveries so far."""
        return replace(self._counts)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._over.is_set():
            writer.close()
            return
        # A task of our own: the server's would print what ends it.
        self._connections += 1
        chance = random.Random(f"{self._faults.seed} {self._connections}")
        way = self._loop.create_task(self._connect(reader, writer, chance))
        self._ways.add(way)
        way.add_done_callback(self._ways.discard)

    async def _connect(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
    ) -> None:
        async with contextlib.AsyncExitStack() as ends:
            ends.push_async_callback(_close, writer)
            try:
                from_broker, to_broker = await _open_one(self._broker().for_client(self._connections))
            except OSError:
                return
            ends.push_async_callback(_close, to_broker)
            downlink = Downlink(writer, self._faults, chance, self._counts)
            await _first_to_end(_hand_on(reader, to_broker), downlink.run(from_broker))


async def _open_one(url: BrokerUrl) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first of the addresses that takes one. Raises the last one's OSError."""
    *first, last = url.addresses
    for address in first:
        with contextlib.suppress(OSError):
            return await _open(address)
    return await _open(last)


async def _open(url: BrokerUrl) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if not url.tls:
        return await asyncio.open_connection(url.host, url.port)
    context = broker_context(url)
    return await asyncio.open_connection(url.host, url.port, ssl=context, server_hostname=url.host)


async def _hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_CHUNK):
        writer.write(piece)
        await writer.drain()


async def _first_to_end(*ways: Coroutine[Any, Any, None]) -> None:
    """Run them until one has ended, or broken with its connection; then the others end too."""
    tasks = [asyncio.create_task(way) for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception) and not isinstance(ended, OSError):
                raise ended


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        with contextlib.suppress(OSError):  # TimeoutError is one
            await asyncio.wait_for(writer.wait_closed(), CLOSE_S)
    finally:
        writer.transport.abort()
