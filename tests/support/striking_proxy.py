"""A way to an object store on which the one who asks dies at a request of choice."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}


@dataclass
class StrikingProxy:
    """Passes requests on, and kills a process at one of them.

    Attributes:
        store: Host and port of the store.
        requests: What was asked so far: method and path.
        victim: The process that asks; 0 if none is to die.
        last: The number of the request at which it dies, from 0.
        is_answer_lost: Whether the store gets that request, and only its answer is lost.
        before: What happens before the store gets a request, if anything.
    """

    store: str
    requests: list[str] = field(default_factory=list)
    victim: int = 0
    last: int = -1
    is_answer_lost: bool = False
    before: Callable[[str], None] | None = None
    address: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    @contextmanager
    def running(cls, store: str) -> Iterator[StrikingProxy]:
        """A proxy until the context is left."""
        proxy = cls(store)
        handler = type("Handler", (_Handler,), {"proxy": proxy})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        proxy.address = f"127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown()
            server.server_close()

    def arm(self, victim: int, last: int, *, is_answer_lost: bool) -> None:
        """Has a process die at its request of a number, counted from now on."""
        self.requests.clear()
        self.victim, self.last, self.is_answer_lost = victim, last, is_answer_lost

    def number(self, request: str) -> int:
        """Counts a request; all behind that of the death are of the dead, and have no number."""
        with self._lock:
            self.requests.append(request)
            return len(self.requests) - 1

    def kill(self) -> None:
        """Kills the process that asks."""
        with suppress(ProcessLookupError):
            os.kill(self.victim, signal.SIGKILL)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: StrikingProxy

    def _pass_on(self) -> None:
        proxy, body = self.proxy, self._body()
        request = f"{self.command} {self.path}"
        number = proxy.number(request)
        if proxy.before is not None:
            proxy.before(request)
        dies = bool(proxy.victim) and number >= proxy.last >= 0
        if dies and not (proxy.is_answer_lost and number == proxy.last):
            proxy.kill()
            self.close_connection = True
            return
        connection = HTTPConnection(proxy.store)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        if dies:
            proxy.kill()
            self.close_connection = True
            return
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP:
                self.send_header(name, value)
        size = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
        self.send_header("Content-Length", size or "0")
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(data)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on  # noqa: N815  # names of the library

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def log_message(self, *_: object) -> None:
        """Says nothing."""
