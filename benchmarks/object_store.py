"""Requests, bytes and seconds of readings from an object store, beside Parquet's.

    python benchmarks/object_store.py --folder FOLDER [--keys 5000000] [--form canonical native]

A server of S3 on this machine (moto) stands behind a proxy that lets each request wait for 30 ms, and
counts requests and bytes. The savepoints are those of ``make_savepoint.py``, which have to be there.
The Parquet file has the same rows, and is read by pyarrow from the same server. A key is looked up in a
savepoint that is opened for it; another key in the same one.
"""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pyarrow.parquet as pq
from customers import TABLE, UID, make_parquet
from measure import sizes_parser
from moto.server import ThreadedMotoServer
from pyarrow import fs

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LATENCY = 0.03
BUCKET = "benchmark"
_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"}


@dataclass
class Counted:
    """Requests that passed the proxy.

    Attributes:
        requests: How many there were, by method.
        size: Bytes of all answers.
    """

    requests: dict[str, int] = field(default_factory=dict)
    size: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, method: str, size: int) -> None:
        """Counts a request."""
        with self.lock:
            self.requests[method] = self.requests.get(method, 0) + 1
            self.size += size


@contextmanager
def slow_store() -> Iterator[tuple[str, str, Counted]]:
    """A server, its own address, and that of the proxy with what it counts."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    counted = Counted()

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            time.sleep(LATENCY)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            behind = HTTPConnection(host, port)
            behind.request(self.command, self.path, body, dict(self.headers))
            answer = behind.getresponse()
            data = answer.read()
            counted.add(self.command, len(data))
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _HOP | {"content-length"}:
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else len(data)
            self.send_header("Content-Length", str(length or 0))
            self.end_headers()
            self.wfile.write(data)
            behind.close()

        do_GET = do_HEAD = do_PUT = do_POST = answer  # noqa: N815  # names of the library

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield f"{host}:{port}", f"127.0.0.1:{proxy.server_port}", counted
    proxy.shutdown()
    server.stop()


def uploaded(address: str, folder: Path, prefix: str) -> None:
    """Puts all files below a folder into the bucket."""
    client = boto3.client("s3", endpoint_url=f"http://{address}", region_name="us-east-1")
    client.create_bucket(Bucket=BUCKET)
    files = [folder] if folder.is_file() else [file for file in folder.rglob("*") if file.is_file()]
    for file in files:
        name = file.name if folder.is_file() else str(file.relative_to(folder))
        client.put_object(Bucket=BUCKET, Key=f"{prefix}/{name}", Body=file.read_bytes())


def measure(name: str, counted: Counted, read: Callable[[], int]) -> None:
    """Prints a line."""
    counted.requests.clear()
    counted.size, begin = 0, time.perf_counter()
    rows = read()
    seconds = time.perf_counter() - begin
    requests = counted.requests.get("GET", 0), counted.requests.get("HEAD", 0)
    print(
        f"| {name} | {sum(requests)} ({requests[0]} + {requests[1]}) | {counted.size / 1e6:,.1f}"
        f" | {rows:,} | {seconds:.2f} |",
        flush=True,
    )


def savepoint_readings(uri: str, key: int) -> dict[str, Callable[[], int]]:
    """Questions to a savepoint."""

    def opened() -> Savepoint:
        return Savepoint.open(uri, uids=[UID])

    def read(**options: object) -> int:
        return sum(batch.num_rows for batch in opened().scan(TABLE, **options).batches())

    def look_up(savepoint: Savepoint, wanted: int) -> int:
        return savepoint.scan(TABLE, keys=[wanted]).to_arrow().num_rows

    known: list[Savepoint] = []

    def first_key() -> int:
        known[:] = [opened()]
        return look_up(known[0], key)

    return {
        "open": lambda: len(opened().operators()),
        "a key": first_key,
        "another key of it": lambda: look_up(known[0], key + 1),
        "all columns": read,
        "a column": lambda: read(columns=["count"]),
    }


def parquet_readings(where: str, store: fs.FileSystem, key: int) -> dict[str, Callable[[], int]]:
    """Questions to the Parquet file."""

    def read(**options: object) -> int:
        return pq.read_table(where, filesystem=store, **options).num_rows

    return {
        "a key": lambda: read(filters=[("key", "=", key)]),
        "all columns": read,
        "a column": lambda: read(columns=["count"]),
    }


def main() -> None:
    """Measures what is there."""
    parser = sizes_parser(__doc__, keys=5_000_000)
    parser.add_argument("--form", nargs="+", default=["canonical", "native"])
    parser.add_argument("--readings", nargs="+", help="such as 'a key'; all by default")
    options = parser.parse_args()

    def print_all(what: str, readings: dict[str, Callable[[], int]]) -> None:
        for name, reading in readings.items():
            if name in (options.readings or readings):
                measure(f"{what}: {name}", counted, reading)

    print("| reading | requests (GET + HEAD) | MB | rows | seconds |\n|---|---|---|---|---|")
    with slow_store() as (server, proxy, counted), tempfile.TemporaryDirectory() as scratch:
        query = f"scheme=http&endpoint_override={proxy}&region=us-east-1"
        for keys in options.keys:
            for form in options.form:
                uploaded(server, options.folder / f"{form}-{keys}", f"{form}-{keys}")
                readings = savepoint_readings(f"s3://{BUCKET}/{form}-{keys}?{query}", keys // 3)
                print_all(f"{form}, {keys:,} keys", readings)
            path = Path(scratch) / f"{keys}.parquet"
            make_parquet(path, keys)
            uploaded(server, path, "parquet")
            store = fs.FileSystem.from_uri(f"s3://{BUCKET}?{query}")[0]
            where = f"{BUCKET}/parquet/{path.name}"
            print_all(f"Parquet, {keys:,} keys", parquet_readings(where, store, keys // 3))


if __name__ == "__main__":
    main()
