"""Who gets in: no other site's pages, nobody under a foreign name, and beyond this computer only who has the password.

A page of the internet runs in the same browser as ours, and can send requests to loopback; what it can't do is choose
their headers. So a request has to name one of our own hosts (against a foreign name that is made to point to us), a
browser that says that another site made it is refused, and whatever changes something has to bring our own origin and
a word that only our page can have read.
"""

import base64
import binascii
import hmac
import ipaddress
import secrets
import time
from collections.abc import Iterable
from hashlib import sha256

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
TOKEN = "x-dcka-token"
SAFE = ("GET", "HEAD")
NAMES = ("localhost",)
WRONG_S = 1.0
"""After a wrong password nobody's is looked at for so long: 86,400 guesses a day are too few for 8 characters."""


class Door:
    """An ASGI application in front of another. `password`: None lets everybody in who reaches us, which has to be this
    computer alone. `token`: what a request that changes something has to bring in the header `X-Dcka-Token`."""

    def __init__(self, app: ASGIApp, password: str | None = None, names: Iterable[str] = NAMES) -> None:
        self._app = app
        self._password = None if password is None else _digest(password)
        self._names = frozenset(names)
        self._closed_until = 0.0
        self.token = secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, method: str, headers: Headers) -> PlainTextResponse | None:
        host = headers.get("host", "")
        if self._password is None and not self._is_ours(host):
            return _no(421, "this monitor is reached by its address alone, not by the name of another")
        ours = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        # A link from elsewhere to the page itself may be followed.
        if not ours and (method not in SAFE or headers.get("sec-fetch-mode") != "navigate"):
            return _no(403, "another site's page may ask nothing here")
        if self._password is not None and not self._knows(headers.get("authorization", "")):
            refusal = _no(401, "the user name is free, the password is the monitor's")
            refusal.headers["WWW-Authenticate"] = 'Basic realm="dcka monitor", charset="UTF-8"'
            return refusal
        if method in SAFE:
            return None
        origin = headers.get("origin", "").partition("://")[2]
        if origin != host or not hmac.compare_digest(headers.get(TOKEN, "").encode(), self.token.encode()):
            return _no(403, "only the monitor's own page may change something")
        return None

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
        bare = name.removeprefix("[").removesuffix("]")
        if bare.lower() in self._names:
            return True
        try:
            # Only a name can be made to point elsewhere.
            return ipaddress.ip_address(bare).is_loopback
        except ValueError:
            return False

    def _knows(self, authorization: str) -> bool:
        if self._password is None:
            return True
        kind, _, coded = authorization.partition(" ")
        if kind.lower() != "basic":
            return False
        now = time.monotonic()
        if now < self._closed_until:
            return False
        try:
            given = base64.b64decode(coded, validate=True).partition(b":")[2]
        except binascii.Error:
            return False
        if hmac.compare_digest(sha256(given).digest(), self._password):
            return True
        self._closed_until = now + WRONG_S
        return False


def _digest(password: str) -> bytes:
    return sha256(password.encode()).digest()


def _no(code: int, why: str) -> PlainTextResponse:
    return PlainTextResponse(f"{why}\n", code)
