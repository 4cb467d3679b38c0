"""Guard of all pages: only the user who started the server gets one, and it may load nothing.

| rule                                   | against                                                |
|----------------------------------------|--------------------------------------------------------|
| the name of the host is this machine's | foreign pages whose name points here (DNS rebinding)   |
| a token, first in each path            | other users of this machine, and pages of others       |
| only GET and HEAD                      | changes                                                |
| Content-Security-Policy                | scripts in names and values, if an escape is missing   |

The token is no cookie, because a browser sends cookies of a host to all of its ports, where servers of
other users may listen.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """An application behind these rules; ``hosts`` are names of this machine, with the port."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self._app, self._token, self._hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or passes it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message["headers"], *named]
            await send(message)

        answer: Any = self._refusal(Request(scope)) or self._app
        await answer(scope, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        if request.headers.get("host") not in self._hosts:
            return PlainTextResponse("This server has another name.", 421)
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse("Nothing can be changed here.", 405)
        if self._is_token(request.scope["path"].split("/")[1]):
            return None
        return PlainTextResponse("Open the address that savepoint serve has printed.", 403)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())
