"""A proxy in front of the REST interface of a real Flink, which asks for a token and can be slow."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import Request, urlopen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(slots=True)
class Proxy:
    """What a proxy asks for, and what it has seen.

    Attributes:
        target: The interface behind it.
        token: The token that it wants; empty for none.
        before_answer: Called with the path and the answer before that is handed on.
        requests: Methods and paths so far.
        address: Where it listens, as ``host:port``.
    """

    target: str
    token: str = ""
    before_answer: Callable[[str, bytes], None] = lambda path, answer: None
    requests: list[str] = field(default_factory=list)
    address: str = ""

    @contextmanager
    def running(self) -> Iterator[str]:
        """Listens on this machine; gives the address."""
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.hand_on(None)

            def do_POST(self) -> None:
                self.hand_on(self.rfile.read(int(self.headers["Content-Length"])))

            def hand_on(self, body: bytes | None) -> None:
                proxy.requests.append(f"{self.command} {self.path}")
                if proxy.token and self.headers["Authorization"] != f"Bearer {proxy.token}":
                    self.answer(401, b"who are you?")
                    return
                headers = {"Content-Type": "application/json"}
                request = Request(proxy.target + self.path, body, headers, method=self.command)
                try:
                    with urlopen(request) as response:
                        code, data = response.status, response.read()
                except HTTPError as error:
                    with error:
                        code, data = error.code, error.read()
                proxy.before_answer(self.path, data)
                self.answer(code, data)

            def answer(self, code: int, data: bytes) -> None:
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
                """Says nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = Thread(target=server.serve_forever, daemon=True)
            thread.start()
            self.address = f"127.0.0.1:{server.server_port}"
            try:
                yield self.address
            finally:
                server.shutdown()
                thread.join()
