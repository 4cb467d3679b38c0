"""Targets that refuse: a full disk, a limit of file sizes, a read-only one, a store with errors.

Always one line that says what refuses, no savepoint, nothing left over, and the source as it was.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from support.nightly import nightly
from support.sample_rows import SAMPLES
from support.striking_proxy import StrikingProxy
from support.two_writers import read, write

from savepoint_formats.errors import SavepointError
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.s3_server import S3Server

# Each test starts processes, or asks a store.
pytestmark = pytest.mark.usefixtures("slow")

SOURCE = str(SAMPLES / "states-2.2.1-hashmap-canonical")

# Tells what a write ended with, and what lies at its target behind it.
PROGRAM = """
import json, os, resource, sys
from state_processor import Savepoint
target, limit = sys.argv[2], int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    Savepoint.open(sys.argv[1]).writer().write(target, sys.argv[4])
    error = ""
except Exception as raised:
    error = f"{type(raised).__name__}: {raised}"
left = sorted(os.listdir(target)) if os.path.isdir(target) else []
print(json.dumps([error, left]))
"""


def ended(
    target: Path, limit: int = 0, mode: str = "error", mount: str = ""
) -> tuple[str, list[str]]:
    """The message of a write, and the files there then; on a separate file system if one is named."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, SOURCE, str(target), str(limit), mode]
    if mount:
        inside = f'mount -t tmpfs -o {mount} tmpfs "$0" && exec "$@"'
        command = ["unshare", "-rm", "sh", "-c", inside, str(target.parent), *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if mount and not done.stdout:
        pytest.skip(f"no file system can be mounted here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    error, left = json.loads(done.stdout)
    return error, left


def expect_one_line(error: str, reason: str) -> None:
    assert "can't be written: " in error
    assert reason in error
    assert "\n" not in error


def test_a_limit_of_file_sizes(tmp_path: Path) -> None:
    error, left = ended(tmp_path / "out", limit=10_000)
    expect_one_line(error, "File too large")
    assert left == []
    assert ended(tmp_path / "out") == ("", sorted(os.listdir(tmp_path / "out")))
    assert Savepoint.open(str(tmp_path / "out")).verify("quick").is_whole


def test_a_limit_of_file_sizes_leaves_the_savepoint_that_was_to_be_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out"
    Savepoint.open(SOURCE).writer().write(str(target))
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    error, _ = ended(target, limit=10_000, mode="overwrite")
    expect_one_line(error, "File too large")
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    error, left = ended(tmp_path / "out", mount="size=32k")
    expect_one_line(error, "No space left on device")
    assert left == []


def test_a_read_only_disk(tmp_path: Path) -> None:
    error, left = ended(tmp_path / "out", mount="ro")
    expect_one_line(error, "Read-only file system")
    assert left == []


@contextmanager
def refusing_store(server: S3Server, status: int, first: int) -> Iterator[tuple[str, list[str]]]:
    """A store in front of the server, which refuses to take some files, and what it refused.

    Args:
        server: What it hands everything else to.
        status: What it answers then.
        first: How many files it takes before.
    """
    refused: list[str] = []
    taken: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            is_file = self.command in ("PUT", "POST") and b"/" in self.path[1:].encode()
            if is_file and len(taken) >= first:
                refused.append(self.path)
                self._answer(status, {}, b"")
                return
            if is_file:
                taken.append(self.path)
            connection = http.client.HTTPConnection(server.address, timeout=30)
            connection.request(self.command, self.path, body, dict(self.headers))
            answer = connection.getresponse()
            self._answer(answer.status, dict(answer.getheaders()), answer.read())
            connection.close()

        def _answer(self, code: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response_only(code)
            sent = {name.lower() for name in headers}
            for name, value in headers.items():
                if name.lower() not in ("transfer-encoding", "connection"):
                    self.send_header(name, value)
            if "content-length" not in sent:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any  # noqa: N815

    store = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    store.daemon_threads = True
    Thread(target=store.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{store.server_address[1]}", refused
    finally:
        store.shutdown()
        store.server_close()


@pytest.mark.parametrize(("status", "first"), [(403, 0), (500, 2), (400, 4)])
def test_a_store_that_refuses_a_file(s3_server: S3Server, status: int, first: int) -> None:
    bucket = s3_server.bucket(f"refusing-{status}-{first}")
    with refusing_store(s3_server, status, first) as (address, refused):
        where = f"scheme=http&endpoint_override={address}&region=us-east-1"
        with pytest.raises(SavepointError) as raised:
            Savepoint.open(SOURCE).writer().write(f"s3://{bucket}/out?{where}")
        assert refused
    expect_one_line(str(raised.value), "")
    assert s3_server.keys(bucket) == set()
    # What refused lets it through now.
    Savepoint.open(SOURCE).writer().write(s3_server.uri(bucket, "out"))
    written = Savepoint.open(s3_server.uri(bucket, "out"))
    assert written.verify("quick").is_whole
    assert not [file for file in written.files() if not file.references]


OLD, NEW = (b"old", b"older", b"oldest"), (b"new", b"newer", b"newest")


def struck(server: S3Server, bucket: str, action: str, request: str, nth: int = 0) -> set[str]:
    """Overwrites a savepoint while one of such requests is struck; returns old files that stay."""
    uri = server.uri(server.bucket(bucket), "out")
    with StrikingProxy.running(server.address) as proxy:
        through = uri.replace(proxy.store, proxy.address)
        # The first write also asks whether the store answers.
        write(through, *OLD)
        proxy.arm()
        write(through, *OLD, mode="overwrite")
        old = server.keys(bucket)
        point = [n for n, done in enumerate(proxy.requests) if done.startswith(request)][nth]
        proxy.arm(point, action)
        write(through, *NEW, mode="overwrite")
        assert proxy.requests[point].startswith(request)
    assert read(uri) == [*NEW]
    return {key for key in server.keys(bucket) & old if "_metadata" not in key}


@nightly
def test_a_savepoint_is_complete_though_its_flag_stays(s3_server: S3Server) -> None:
    assert struck(s3_server, "complete", "down", "DELETE /complete/out/turn-")


def test_an_old_file_that_stays_keeps_no_others(s3_server: S3Server) -> None:
    left = struck(s3_server, "old-file", "denied", "DELETE /old-file/out/operator-state-")
    assert len(left) == 1


def test_old_files_go_though_the_store_does_not_tell_which_there_are(s3_server: S3Server) -> None:
    assert not struck(s3_server, "listing", "denied", "GET /listing?delimiter=", -1)
