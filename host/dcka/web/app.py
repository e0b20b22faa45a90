"""The page and its feed as an ASGI application."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from starlette.types import ASGIApp

from dcka import __version__
from dcka.config import State
from dcka.errors import UsageError
from dcka.history import History, HistoryError
from dcka.mqtt.statuses import PayloadError
from dcka.web.control import Control
from dcka.web.door import Door
from dcka.web.feed import encoded
from dcka.web.live import Live
from dcka.web.past import listed, parts
from dcka.web.points import kept_sample
from dcka.web.verdicts import checked

Json = dict[str, Any]

STATIC = Path(__file__).with_name("static")
FRAME_S = 1 / 10
"""Changes of so long go together: faster than an eye follows numbers, and 200 nodes that speak ten times a second cost
ten frames and not two thousand."""
BEAT_S = 1.0
"""A page that has heard nothing for some of these says that it is disconnected."""
CHECK_S = 0.5
MOST_BODY = 4096


class Served:
    """What the application shows. `state`: the folder with outcomes and readings; `points`: the readings, where these
    are elsewhere. `ending`: closes the feeds, which would keep the server from ending."""

    def __init__(
        self,
        live: Live,
        control: Control,
        state: State | None = None,
        points: Callable[[str], Json | None] | None = None,
        history: History | None = None,
    ) -> None:
        self.history = history
        self.live = live
        self.control = control
        self.state = state
        self.points = points or (lambda dataset: kept_sample(state, dataset))
        self.ending = False
        self._refreshed_at = 0.0
        self._checked_at = 0.0
        self._checking = False

    def refresh(self) -> None:
        """Bring the feed up to date, unless that was a moment ago."""
        now = time.monotonic()
        if now - self._refreshed_at >= FRAME_S / 2:
            self._refreshed_at = now
            self.live.refresh()
            self.live.feed.put("control", self.control.shown)

    async def check(self) -> None:
        """Judge what has ended, in a thread: the reference may take a while."""
        now = time.monotonic()
        if self.state is None or self._checking or now - self._checked_at < CHECK_S:
            return
        self._checking = True
        try:
            for story in self.live.unchecked()[:3]:
                found = await asyncio.to_thread(checked, self.state, story, self.history)
                if found is not None:
                    self.live.verdict(story.number, found)
        finally:
            self._checking, self._checked_at = False, time.monotonic()


def create_app(served: Served, password: str | None = None, routers: tuple[APIRouter, ...] = ()) -> ASGIApp:
    """The application, behind its door. `routers`: what else is to be served there."""
    app = FastAPI(
        title="dcka",
        version=__version__,
        docs_url=None,  # FastAPI's pages load from a CDN
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    door = Door(app, password)
    _page(app)
    _feed(app, served, door)
    _runs(app, served)
    _history(app, served)
    for router in routers:
        app.include_router(router)
    return door


def _page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def index() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")


def _feed(app: FastAPI, served: Served, door: Door) -> None:
    @app.get("/events", include_in_schema=False)
    async def events(since: str = "") -> StreamingResponse:
        return StreamingResponse(_frames(served, since, door.token), media_type="text/event-stream")


def _runs(app: FastAPI, served: Served) -> None:
    live = served.live

    @app.get("/page/runs/{number}", include_in_schema=False)
    async def run(number: int) -> JSONResponse:
        found = live.past(number)
        if found is None:
            raise HTTPException(404, "no such run since this monitor was started")
        return JSONResponse(json.loads(encoded(found)))

    @app.get("/page/points/{dataset}", include_in_schema=False)
    async def points(dataset: str) -> JSONResponse:
        found = await asyncio.to_thread(served.points, dataset)
        return JSONResponse(found)  # null: they are not on this computer

    @app.post("/page/run", include_in_schema=False)
    async def start(request: Request) -> JSONResponse:
        return await _asked(request, served.control.start)

    @app.post("/page/stop", include_in_schema=False)
    async def stop(request: Request) -> JSONResponse:
        return await _asked(request, lambda _: served.control.stop())


def _history(app: FastAPI, served: Served) -> None:
    # Plain functions: Starlette runs them in threads, and a database may take its time.
    @app.get("/page/history", include_in_schema=False)
    def runs(before: int | None = None) -> JSONResponse:
        if served.history is None:
            return JSONResponse({"runs": [], "more": None, "where": None})
        try:
            found = listed(served.history, served.live.state.network, before)
        except HistoryError as error:
            raise HTTPException(503, str(error)) from None
        return JSONResponse(found | {"where": served.history.name})

    @app.get("/page/history/{number}", include_in_schema=False)
    def kept(number: int) -> JSONResponse:
        try:
            found = None if served.history is None else served.history.runs(limit=1, before=number + 1)
            if not found or found[0].id != number:
                raise HTTPException(404, "no such run")
            return JSONResponse(json.loads(encoded(parts(found[0]))))
        except (HistoryError, PayloadError) as error:
            raise HTTPException(503, str(error)) from None


async def _asked(request: Request, ask: Callable[[Json], None]) -> JSONResponse:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BODY:
            return JSONResponse({"error": "too long"}, 413)
    try:
        asked = json.loads(body or b"{}")
        if not isinstance(asked, dict):
            raise UsageError("an object is needed")
        ask(asked)
    except (ValueError, UsageError) as error:
        return JSONResponse({"error": str(error)}, 400)
    return JSONResponse({})


async def _frames(served: Served, since: str, token: str) -> AsyncIterator[str]:
    """What has changed since the page looked last, some times a second, and a beat where nothing has."""
    feed = served.live.feed
    name, _, number = since.partition(":")
    seen = int(number) if name == feed.name and number.isascii() and number.isdigit() else 0
    fresh, beat_at = seen == 0, 0.0
    while not served.ending:
        await served.check()
        began = time.monotonic()
        served.refresh()
        now = time.monotonic()
        if fresh or feed.last > seen or now - beat_at >= BEAT_S:
            last, values, gone = feed.since(seen)
            head = {"feed": feed.name, "last": last, "now": round(now * 1000), "fresh": fresh}
            if beat_at == 0.0:
                head |= {"token": token, "version": __version__}
            told = json.dumps(head)[:-1]
            yield f'data: {told},"set":{values},"gone":{gone}}}\n\n'
            seen, fresh, beat_at = last, False, now
        # Where a frame takes long, as long a rest: whoever listens to the network needs the time more.
        await asyncio.sleep(max(FRAME_S, time.monotonic() - began))
