"""A way to an object store on which a request of choice is struck.

| strike     | what becomes of the request                                                         |
|------------|-------------------------------------------------------------------------------------|
| `killed`   | the process that asks dies before the store gets it                                 |
| `lost`     | the process that asks dies when the store has answered                              |
| `refused`  | the answer is 500, as a store gives it now and then                                 |
| `down`     | the answer is 500, and so are those to all later requests                           |
| `denied`   | the answer is 403                                                                   |
| `slow`     | the store gets it after a pause                                                     |
| `reset`    | the connection ends before the store gets it                                        |
| `repeated` | the connection ends when the store has answered, so that the client asks again      |
| `twice`    | the store gets it twice                                                             |
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STRIKES = ("killed", "lost", "refused", "down", "denied", "slow", "reset", "repeated", "twice")
"""What may become of a request."""

_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}
_STATUS = {"refused": 500, "down": 500, "denied": 403}
_PAUSE = 0.2


@dataclass
class StrikingProxy:
    """Passes requests on, and strikes one of them.

    Attributes:
        store: Host and port of the store.
        requests: What was asked so far: method and path.
        point: The number of the request that is struck, from 0; -1 if none is.
        strike: What becomes of it.
        before: What happens before the store gets a request, if anything.
    """

    store: str
    requests: list[str] = field(default_factory=list)
    point: int = -1
    strike: str = ""
    before: Callable[[str], None] | None = None
    address: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    @contextmanager
    def running(cls, store: str) -> Iterator[StrikingProxy]:
        """A proxy until the context is left."""
        proxy = cls(store)
        handler = type("Handler", (_Handler,), {"proxy": proxy})
        server = _Server(("127.0.0.1", 0), handler)
        proxy.address = f"127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown()
            server.server_close()

    def arm(self, point: int = -1, strike: str = "") -> None:
        """Strikes the request of a number, counted from now on; none if it is -1."""
        with self._lock:
            self.requests.clear()
            self.point, self.strike = point, strike

    def struck(self, request: str) -> str:
        """Counts a request; returns what becomes of it, or nothing if it is passed on."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
            is_down = self.strike == "down" and number >= self.point >= 0
            return self.strike if number == self.point or is_down else ""


class _Server(ThreadingHTTPServer):
    # Threads of many processes ask at once; a connection beyond the queue waits for seconds.
    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Small writes would wait for each other.
    disable_nagle_algorithm = True
    wbufsize = -1
    proxy: StrikingProxy

    def handle_expect_100(self) -> bool:
        """Has the client send the body; it would wait a second for an answer that is buffered."""
        is_asked = super().handle_expect_100()
        self.wfile.flush()
        return is_asked

    def _pass_on(self) -> None:
        proxy, body = self.proxy, self._body()
        request = f"{self.command} {self.path}"
        strike = proxy.struck(request)
        if proxy.before is not None:
            proxy.before(request)
        if status := _STATUS.get(strike):
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if strike in ("killed", "reset"):
            self._end(strike)
            return
        if strike == "slow":
            time.sleep(_PAUSE)
        answer, data = self._answer(body)
        if strike == "twice":
            answer, data = self._answer(body)
        if strike in ("lost", "repeated"):
            self._end(strike)
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

    def _answer(self, body: bytes) -> tuple[HTTPResponse, bytes]:
        """The answer of the store, and its body."""
        connection = HTTPConnection(self.proxy.store)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer, data

    def _end(self, strike: str) -> None:
        """Gives no answer; the process that asks may die of it."""
        if strike in ("killed", "lost"):
            for pid in _askers(self.client_address[1], int(self.proxy.address.rpartition(":")[2])):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.close_connection = True

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


def _askers(port: int, proxy: int) -> Iterator[int]:
    """Processes of this machine that have the other end of a connection to the proxy."""
    ends = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = [
        fields[9]
        for fields in ends
        if [int(end.rpartition(":")[2], 16) for end in fields[1:3]] == [port, proxy]
    ]
    names = {f"socket:[{inode}]" for inode in inodes}
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if os.readlink(link) in names:
                yield int(link.parts[2])
