"""A TCP proxy on a free loopback port, on an event loop in a thread of its own; what it does is its heirs' to say."""

import asyncio
import threading
from collections.abc import Collection
from concurrent.futures import Future
from types import TracebackType
from typing import Self

START_S = 5.0
# A thousand nodes may come at once.
_BACKLOG = 1024


class LoopbackProxy:
    """Up in a `with` block. An heir has `_ways`, the tasks of the connections that there are, and `_begin`, which adds
    to them; all of it runs in the proxy's thread, on `_loop`. `_over` is set at the end.

    Raises OSError where no loopback port can be had.
    """

    _ways: Collection["asyncio.Task[None]"]

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._port: Future[int] = Future()
        self._over = asyncio.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self._port.result(START_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(START_S)

    @property
    def port(self) -> int:
        """Where clients connect, on 127.0.0.1."""
        return self._port.result(START_S)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError

    def _serve(self) -> None:
        try:
            self._loop.run_until_complete(self._accept())
        except OSError as error:
            self._port.set_exception(error)
        finally:
            self._loop.close()

    async def _accept(self) -> None:
        server = await asyncio.start_server(self._begin, "127.0.0.1", 0, backlog=_BACKLOG)
        self._port.set_result(server.sockets[0].getsockname()[1])
        await self._over.wait()
        server.close()
        # Before the server is waited for: it waits for its connections.
        for way in self._ways:
            way.cancel()
        await asyncio.gather(*self._ways, return_exceptions=True)
        await server.wait_closed()
