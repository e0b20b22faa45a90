"""How every answer of the read API is given: with an entity tag, and where there is none, with a sentence."""

from collections.abc import Callable, Coroutine
from hashlib import sha256
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from dcka.history import HistoryError, NoSuchRun

_REVALIDATE = "no-cache"
"""A run may go on: a copy is asked about each time, and its tag makes that cheap."""


class PlainRoute(APIRoute):
    """Answers by If-None-Match, and 404, 422 and 503 as a `Problem`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def plain(request: Request) -> Response:
            try:
                response = await answer(request)
            except RequestValidationError as error:
                return problem(422, "; ".join(_sentence(one) for one in error.errors()))
            except NoSuchRun as error:
                return problem(404, str(error))
            except HistoryError as error:
                return problem(503, str(error))
            return tagged(request, response)

        return plain


def problem(status: int, detail: str) -> JSONResponse:
    """A refusal: one sentence."""
    return JSONResponse({"detail": detail}, status, {"Cache-Control": "no-store"})


def tagged(request: Request, response: Response) -> Response:
    """The answer with its entity tag; 304 without a body where the client has it."""
    tag = f'"{sha256(response.body).hexdigest()[:32]}"'
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = _REVALIDATE
    asked = request.headers.get("if-none-match", "")
    # Weakly, as RFC 9110 has it for this header: W/ says nothing here.
    known = {one.strip().removeprefix("W/") for one in asked.split(",")}
    if response.status_code == 200 and (tag in known or "*" in known):
        headers = {
            name: response.headers[name]
            for name in ("etag", "cache-control", "link")
            if name in response.headers
        }
        return Response(status_code=304, headers=headers)
    return response


def _sentence(error: dict[str, Any]) -> str:
    """`limit = 0: input should be greater than or equal to 1`."""
    name = ".".join(str(part) for part in error["loc"][1:]) or str(error["loc"][0])
    text = str(error["msg"])
    return f"{name} = {str(error.get('input'))[:60]}: {text[:1].lower()}{text[1:]}"
