"""A cluster in this process, which answers as a test wants, and remembers who asked."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB = "0123456789abcdef0123456789abcdef"


def answers(path: str) -> dict[str, Any]:
    """What a cluster with one job answers, whose snapshots are at ``path``; by the end of a URL."""
    checkpoint = {
        "id": 7,
        "status": "COMPLETED",
        "is_savepoint": False,
        "trigger_timestamp": 1_700_000_000_000,
        "state_size": 12,
        "external_path": path,
        "discarded": False,
    }
    under_way = {
        "id": 8,
        "status": "IN_PROGRESS",
        "is_savepoint": True,
        "num_acknowledged_subtasks": 1,
        "num_subtasks": 2,
    }
    history = [under_way, checkpoint]
    trigger = {"status": {"id": "COMPLETED"}, "operation": {"location": path}}
    return {
        "jobs/overview": {"jobs": [{"jid": JOB, "name": "orders", "state": "RUNNING"}]},
        f"{JOB}/checkpoints": {"latest": {"completed": checkpoint}, "history": history},
        f"{JOB}/savepoints": {"request-id": "1"},
        f"{JOB}/savepoints/1": trigger,
        f"jobs/{JOB}": {"vertices": [{"id": JOB, "name": "Source"}]},
    }


@dataclass(slots=True)
class RestCluster:
    """The answers, as JSON values or as bytes, and the requests so far with their tokens."""

    answers: dict[str, Any] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    address: str = ""

    @property
    def job(self) -> str:
        """The address of its job."""
        return f"flink://{self.address}/orders"

    @contextmanager
    def running(self) -> Iterator[RestCluster]:
        """Listens on this machine."""
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                cluster.requests.append((self.path, self.headers["Authorization"]))
                answer: Any = next(
                    (value for end, value in cluster.answers.items() if self.path.endswith(end)), {}
                )
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
                """Says nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
            thread.start()
            self.address = f"127.0.0.1:{server.server_port}"
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()
