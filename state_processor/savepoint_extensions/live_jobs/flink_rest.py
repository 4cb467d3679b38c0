"""Questions to the REST interface of a cluster: bounded answers, within a limited time.

| address                    | meaning                                                        |
|----------------------------|----------------------------------------------------------------|
| ``flink://host:8081/JOB``  | a job by its id or its name, over HTTP                         |
| ``flinks://host/x/JOB``    | over HTTPS; ``/x`` is where a proxy has the interface          |
| ``flink://host:8081``      | the cluster; the job if it runs only one                       |

| variable                              | meaning                                                |
|---------------------------------------|--------------------------------------------------------|
| ``FLINK_REST_TOKEN``                  | sent as ``Authorization: Bearer``                      |
| ``FLINK_REST_CA``                     | file of trusted authorities                            |
| ``FLINK_REST_CERT``, ``FLINK_REST_KEY`` | certificate of the client and its key                |

A redirection is not followed, because the token would go with it. An answer has a deadline as a
whole: a server that sends a byte now and then would keep a limit for each read from ending it.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from savepoint_formats.errors import ClusterError, UnreachableError
from savepoint_formats.locations import LIVE_SCHEMES, started

if TYPE_CHECKING:
    from http.client import HTTPResponse

_SCHEMES = dict(zip(LIVE_SCHEMES, ("http", "https"), strict=True))
_TIMEOUT_SECONDS = 10.0
_ANSWER_SECONDS = 30.0
_MAX_ANSWER = 16 << 20
_SHOWN = 300
_UNAUTHORIZED = (401, 403)
_NOT_FOUND = 404
TOKEN, CA, CERT, KEY = (f"FLINK_REST_{name}" for name in ("TOKEN", "CA", "CERT", "KEY"))


class _NoRedirection(HTTPRedirectHandler):
    """Turns a redirection into an error, and does not even parse where it leads."""

    def http_error_302(self, *_request: Any, **_named: Any) -> None:
        return None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class _Http(HTTPConnection):
    """A connection that adds its socket to a list, so that another thread can end it."""

    def __init__(self, sockets: list[socket.socket], *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._sockets = sockets

    def connect(self) -> None:
        super().connect()
        self._sockets.append(self.sock)


class _Https(_Http, HTTPSConnection):
    """The same over TLS."""


class _HttpHandler(HTTPHandler):
    def __init__(self, sockets: list[socket.socket]) -> None:
        super().__init__()
        self._sockets = sockets

    def http_open(self, request: Request) -> HTTPResponse:
        return self.do_open(partial(_Http, self._sockets), request)


class _HttpsHandler(HTTPSHandler):
    def __init__(self, sockets: list[socket.socket]) -> None:
        super().__init__()
        self._sockets = sockets

    def https_open(self, request: Request) -> HTTPResponse:
        return self.do_open(partial(_Https, self._sockets), request, context=_context())


def _context() -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=os.environ.get(CA) or None)
    if os.environ.get(CERT):
        context.load_cert_chain(os.environ[CERT], os.environ.get(KEY) or None)
    return context


@dataclass(frozen=True, slots=True)
class RestInterface:
    """The REST interface of a cluster; ``base`` is its URL."""

    base: str

    @classmethod
    def of(cls, address: str) -> tuple[RestInterface, str]:
        """The interface of an address, and the job in it; empty if it names none.

        Raises ``ValueError`` if the address has no host, or parts that have no meaning.
        """
        parts = urlsplit(address)
        is_known = parts.scheme.lower() in _SCHEMES
        if not is_known or not parts.hostname or parts.query or parts.fragment or parts.username:
            example = "such as flink://jobmanager:8081/orders"
            raise ValueError(f"{address!r} is not the address of a job, expected one {example}")
        path, _, job = parts.path.rpartition("/")
        base = f"{_SCHEMES[parts.scheme.lower()]}://{parts.netloc}{path}"
        return cls(base), unquote(job)

    def get(self, *path: str) -> dict[str, Any]:
        """The answer to a question. Raises ``ClusterError`` or ``UnreachableError``."""
        return self._asked(Request(self._url(path)))

    def post(self, body: dict[str, Any], *path: str) -> dict[str, Any]:
        """The answer to a request that changes something."""
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        return self._asked(Request(self._url(path), data=data, headers=headers, method="POST"))

    def _url(self, path: tuple[str, ...]) -> str:
        return "/".join((self.base, *(quote(part, safe="") for part in path)))

    def _asked(self, request: Request) -> dict[str, Any]:
        token = os.environ.get(TOKEN)
        if token:
            request.add_unredirected_header("Authorization", f"Bearer {token}")
        sockets: list[socket.socket] = []
        answer = started(lambda: self._answered(request, sockets))
        try:
            return answer.result(_ANSWER_SECONDS)
        except TimeoutError as error:
            for connection in sockets:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            raise UnreachableError(
                f"{self.base} gives no whole answer within {_ANSWER_SECONDS:g} s"
            ) from error

    def _answered(self, request: Request, sockets: list[socket.socket]) -> dict[str, Any]:
        opener = build_opener(_NoRedirection, _HttpHandler(sockets), _HttpsHandler(sockets))
        try:
            try:
                with opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                    return self._answer(response)
            except HTTPError as error:
                with error:
                    raise self._refusal(error) from error
        except (URLError, HTTPException, OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise UnreachableError(
                f"{self.base} does not answer: {reason}; check host, port and scheme (flinks:// is HTTPS)"
            ) from error

    def _answer(self, response: HTTPResponse) -> dict[str, Any]:
        data = response.read(_MAX_ANSWER + 1)
        if len(data) > _MAX_ANSWER:
            raise ClusterError(f"{self.base} answers with more than {_MAX_ANSWER:,} bytes")
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise ClusterError(
                f"{self.base} does not answer like Flink's REST interface: no JSON object"
            )
        return answer

    def _refusal(self, error: HTTPError) -> ClusterError:
        text = error.read(_SHOWN).decode("utf-8", errors="replace")
        if error.code in _UNAUTHORIZED:
            return ClusterError(
                f"{self.base} refuses with {error.code}: it asks for a token ({TOKEN}) or a certificate"
                f" ({CERT}, {KEY})"
            )
        if error.code == _NOT_FOUND:
            return ClusterError(f"{self.base} has nothing at this address (404): {text}")
        return ClusterError(f"{self.base} refuses with {error.code}: {text}")
