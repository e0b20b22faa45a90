"""A TCP proxy on loopback that can be told to fail: connections that are cut, or stay open and carry nothing more.

asyncio in a thread of its own. What a half-open connection has lost stays lost: it is dead for both ends until one of
them gives it up, as when a router between them has forgotten it.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import replace

from dcka.broker import BrokerUrl
from dcka.emulation.loopback_proxy import LoopbackProxy

_CHUNK = 1 << 16
UP, DOWN = "to the broker", "from the broker"


class _Way:
    """A connection through the proxy. `dead`: directions in which nothing is handed on any more; `ended`: those of
    them whose sender has given the connection up."""

    def __init__(self) -> None:
        self.dead: set[str] = set()
        self.ended: set[str] = set()
        self.writers: list[asyncio.StreamWriter] = []


class Proxy(LoopbackProxy):
    """Up in a `with` block; `url` is the broker's, through it. `delay_s`: on the way from the broker.

    `broker` is asked for each connection.
    """

    def __init__(self, broker: Callable[[], BrokerUrl], delay_s: float = 0.0, seed: int = 1) -> None:
        super().__init__("proxy")
        self._broker = broker
        self._delay_s = delay_s
        self._chance = random.Random(seed)
        self._ways: dict[asyncio.Task[None], _Way] = {}
        self._silent = False

    @property
    def url(self) -> BrokerUrl:
        """Where clients connect."""
        return replace(self._broker(), port=self.port)

    # ---- from any thread ----

    @property
    def open(self) -> int:
        """How many connections it holds."""
        return len(self._ways)

    def half_open(self, *directions: str) -> None:
        """Every connection that there is carries nothing more in these directions, and stays open."""
        self._loop.call_soon_threadsafe(self._kill, directions)

    def cut(self, share: float) -> None:
        """Reset this share of the connections, one at least."""
        self._loop.call_soon_threadsafe(self._reset, share)

    def silence(self, silent: bool) -> None:
        """From now on take connections and say nothing; those that there are, are reset. Or no longer."""
        self._loop.call_soon_threadsafe(self._fall_silent, silent)

    # ---- in the proxy's thread ----

    def _kill(self, directions: tuple[str, ...]) -> None:
        for way in self._ways.values():
            way.dead.update(directions)

    def _reset(self, share: float) -> None:
        ways = list(self._ways)
        for way in self._chance.sample(ways, min(len(ways), max(1, round(share * len(ways))))):
            way.cancel()

    def _fall_silent(self, silent: bool) -> None:
        self._silent = silent
        for way in self._ways:
            way.cancel()

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        way = _Way()
        way.writers.append(writer)
        task = self._loop.create_task(self._connect(reader, writer, way))
        self._ways[task] = way
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        way = self._ways.pop(task)
        for writer in way.writers:
            writer.transport.abort()
        if not task.cancelled():
            task.exception()  # looked at: a connection that broke is what is meant to happen here

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way) -> None:
        if self._silent:
            await self._over.wait()
            return
        url = self._broker()
        from_broker, to_broker = await asyncio.open_connection(url.host, url.port)
        way.writers.append(to_broker)
        ways = [
            asyncio.ensure_future(self._hand_on(reader, to_broker, way, UP)),
            asyncio.ensure_future(self._hand_on(from_broker, writer, way, DOWN)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in ways:
                one.cancel()
            with contextlib.suppress(OSError):
                await asyncio.gather(*ways, return_exceptions=True)

    async def _hand_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way, direction: str
    ) -> None:
        try:
            while piece := await reader.read(_CHUNK):
                if self._delay_s and direction == DOWN:
                    await asyncio.sleep(self._delay_s)
                if direction not in way.dead:
                    writer.write(piece)
                    await writer.drain()
        except ConnectionError:
            if direction not in way.dead:
                raise
        # The end of a connection is no news in a direction that carries none; once both have given it up, it is over.
        if direction in way.dead:
            way.ended.add(direction)
            if way.ended != {UP, DOWN}:
                await self._over.wait()
