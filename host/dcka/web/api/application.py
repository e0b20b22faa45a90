"""The read API by itself, for `dcka results serve`."""

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from dcka import __version__
from dcka.history import History
from dcka.web.api.route import problem
from dcka.web.api.runs import PREFIX, router

OPENAPI = f"{PREFIX}/openapi.json"


def application(history: History) -> FastAPI:
    """An ASGI application over `history`, with its description at OPENAPI. FastAPI's own pages, which load from the
    internet, are off."""
    made = FastAPI(
        title="dcka results",
        summary="Stored runs of distributed K-means",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=OPENAPI,
    )
    made.include_router(router(history))

    @made.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        answer = problem(error.status_code, _WORDS.get(error.status_code, str(error.detail)))
        answer.headers.update(error.headers or {})
        return answer

    return made


_WORDS = {
    404: f"there is nothing here; {OPENAPI} says what there is",
    405: "results are read, with GET, and not changed",
}
