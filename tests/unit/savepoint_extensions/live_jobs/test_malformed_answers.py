"""Answers of a cluster that is none, or a stranger's: each is a typed error, and ends in time."""

from __future__ import annotations

import copy
import socket
import time
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import run
from support.rest_cluster import RestCluster, answers

from savepoint_extensions.live_jobs import flink_rest, live_jobs
from state_processor import (
    Savepoint,
    SavepointError,
    UnreachableError,
    live_snapshots,
    take_savepoint,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = "currency-2.2.1-hashmap-canonical"
# Another value in the place of each value that a cluster answers.
VALUES: tuple[Any, ...] = (
    *(None, 3, -1, 1.5, True, 1 << 52, 1 << 70, "", "x", "\ud800", "a\0b", "\n"),
    *([], {}, [3], [None], [{}], {"id": 3}),
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::savepoint_formats.savepoint_warnings.NewestSnapshotWarning"
)


@pytest.fixture
def cluster(samples: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[RestCluster]:
    monkeypatch.setattr(live_jobs, "_POLL_SECONDS", 0.001)
    monkeypatch.setattr(live_jobs, "_PATIENCE_SECONDS", 0.01)
    with RestCluster(answers(f"file:{samples / SAMPLE}")).running() as cluster:
        yield cluster


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each value in a JSON value."""
    yield place
    parts = dict(enumerate(value)) if isinstance(value, list) else value
    for name, part in parts.items() if isinstance(parts, dict) else ():
        yield from places(part, (*place, name))


def changed(value: Any, place: tuple[Any, ...], other: Any) -> Any:
    """A copy with another value at a place."""
    if not place:
        return other
    outer = value = copy.deepcopy(value)
    for name in place[:-1]:
        value = value[name]
    value[place[-1]] = other
    return outer


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("question", [live_snapshots, Savepoint.open, take_savepoint])
def test_any_value_in_any_place_is_an_answer_or_a_typed_error(
    cluster: RestCluster, question: Any
) -> None:
    usual, refused = cluster.answers, 0
    question(cluster.job)
    for place in places(usual):
        if place:
            for other in VALUES:
                cluster.answers = changed(usual, place, other)
                try:
                    str(question(cluster.job)).encode()
                except SavepointError as error:
                    refused += 1
                    str(error).encode()
    assert refused > 50


@pytest.mark.parametrize("text", ["\ud800", "\x1b[2J", "a\0b"])
def test_any_name_can_be_shown(cluster: RestCluster, text: str) -> None:
    cluster.answers["jobs/overview"]["jobs"][0]["name"] = text
    for output in ("text", "json"):
        code, shown = run("jobs", cluster.job.rpartition("/")[0], "--output", output)
        assert code == 0
        assert "\x1b[2J" not in shown


ONE_BYTE = b" "
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HEADER = b"HTTP/1.1 200 OK\r\n"
FAILURE = b"HTTP/1.1 500 Oh\r\nContent-Length: 300\r\n\r\n"


@contextmanager
def dripping(start: bytes, drop: bytes, pause: float = 0.05) -> Iterator[str]:
    """A server that goes on to answer: a start, and then a drop again and again."""
    is_over = Event()

    def serve(server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                Thread(target=drip, args=(connection,), daemon=True).start()

    def drip(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(start)
            while not is_over.wait(pause):
                connection.sendall(drop)

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=serve, args=(server,), daemon=True).start()
        yield f"flink://127.0.0.1:{server.getsockname()[1]}"
        is_over.set()


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (b"", CONTINUE),
        (HEADER, b"X: y\r\n"),
        (HEADER + b"\r\n", ONE_BYTE),
        (HEADER + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (FAILURE, ONE_BYTE),
        (b"HTTP/1.1 302 Found\r\nLocation: x\r\nContent-Length: 300\r\n\r\n", ONE_BYTE),
    ],
)
def test_an_answer_without_an_end_is_ended(
    monkeypatch: pytest.MonkeyPatch, start: bytes, drop: bytes
) -> None:
    monkeypatch.setattr(flink_rest, "_ANSWER_SECONDS", 1.0)
    with dripping(start, drop) as address:
        begin = time.monotonic()
        with pytest.raises(UnreachableError, match="no whole answer within 1 s"):
            live_snapshots(address)
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"',
        b'HTTP/1.1 200 OK\r\nContent-Length: -9\r\n\r\n{"',
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 500 Oh\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 302 Oh\r\nLocation: http://[x\r\n\r\n",
        b"HTTP/1.1 302 Oh\r\nLocation: file:///etc/passwd\r\n\r\n",
        b"HTTP/1.1 401 Oh\r\nWWW-Authenticate: \xff\xff\r\n\r\n",
        b"HTTP/1.1 999999 Oh\r\n\r\n",
        HEADER + b"X: y\r\n" * 200 + b"\r\n{}",
        HEADER + b"X: " + b"y" * 70_000 + b"\r\n\r\n{}",
        HEADER + b'\r\n{"jobs": [{"jid": ' + b"9" * 5000 + b"}]}",
    ],
)
def test_what_is_no_http_is_a_typed_error(answer: bytes) -> None:
    def serve(server: socket.socket) -> None:
        with suppress(OSError):
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1 << 16)

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=serve, args=(server,), daemon=True).start()
        with pytest.raises(SavepointError) as raised:
            live_snapshots(f"flink://127.0.0.1:{server.getsockname()[1]}")
    str(raised.value).encode()
