"""What a cluster answers is bounded, checked and told; a real Flink is asked in ``tests/flink``."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from savepoint_extensions.live_jobs import flink_rest
from savepoint_extensions.live_jobs.flink_rest import RestInterface
from savepoint_extensions.live_jobs.live_jobs import live_snapshots
from state_processor import (
    ClusterError,
    DescriptionError,
    Savepoint,
    SavepointNotFoundError,
    UnreachableError,
    kubernetes_snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def answering(data: bytes, code: int = 200, headers: dict[str, str] | None = None) -> Iterator[str]:
    """A server that answers everything alike; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"flink://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "data",
    [
        b"<html>",
        b"[]",
        b"",
        b"\xff",
        b"[" * 100_000,
        b'{"jobs": [3]}',
        b'{"jobs": [{"jid": "../x"}]}',
    ],
)
def test_what_is_no_answer_of_flink_is_told(data: bytes) -> None:
    with (
        answering(data) as address,
        pytest.raises(ClusterError, match="does not answer like Flink"),
    ):
        live_snapshots(address)


def test_numbers_that_are_none_are_refused() -> None:
    job = {"jid": "0" * 32, "name": "orders", "state": "RUNNING"}
    told = {"status": "COMPLETED", "id": -1, "trigger_timestamp": 1}
    answer = {"jobs": [job], "history": [told]}
    with answering(json.dumps(answer).encode()) as address, pytest.raises(ClusterError, match="-1"):
        live_snapshots(address)


def test_a_long_answer_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flink_rest, "_MAX_ANSWER", 100)
    with answering(b" " * 101) as address, pytest.raises(ClusterError, match="more than 100 bytes"):
        live_snapshots(address)


def test_a_redirection_is_not_followed_with_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(flink_rest.TOKEN, "secret")
    with answering(b"{}") as other:
        there = {"Location": other.replace("flink:", "http:")}
        with answering(b"", 302, there) as address, pytest.raises(ClusterError, match="302"):
            live_snapshots(address)


def test_a_server_without_tls_is_told() -> None:
    with answering(b"{}") as address, pytest.raises(UnreachableError, match="flinks:// is HTTPS"):
        Savepoint.open(address.replace("flink:", "flinks:") + "/orders")


@pytest.mark.parametrize(
    "address",
    ["flink:///orders", "flink://host/orders?x=1", "flink://user:word@host/orders", "s3://jobs"],
)
def test_an_address_without_meaning_is_a_wrong_call(address: str) -> None:
    with pytest.raises(ValueError, match="is not the address of a"):
        live_snapshots(address)


def test_an_address_may_have_a_path_and_escapes() -> None:
    rest, job = RestInterface.of("flinks://proxy/flink/a/my%20job")
    assert (rest.base, job) == ("https://proxy/flink/a", "my job")


def snapshot(name: str, state: str, at: str, job: str = "orders") -> dict[str, object]:
    status = {"state": state, "path": f"s3://jobs/{name}", "resultTimestamp": at}
    spec = {"jobReference": {"kind": "FlinkDeployment", "name": job}}
    return {
        "kind": "FlinkStateSnapshot",
        "metadata": {"name": name},
        "spec": spec,
        "status": status,
    }


OLD = snapshot("old", "COMPLETED", "2026-01-01T00:00:00Z")
NEW = snapshot("new", "COMPLETED", "2026-02-01T00:00:00Z")
FAILED = snapshot("failed", "FAILED", "2026-03-01T00:00:00Z")


def listed(*snapshots: object) -> str:
    return json.dumps({"kind": "List", "items": snapshots})


def test_the_newest_completed_snapshot_of_kubernetes_is_taken() -> None:
    assert kubernetes_snapshot(listed(NEW, OLD, FAILED)) == "s3://jobs/new"
    assert kubernetes_snapshot(json.dumps(OLD)) == "s3://jobs/old"
    with pytest.raises(SavepointNotFoundError, match="failed: FAILED"):
        kubernetes_snapshot(listed(FAILED))


OTHERS: tuple[object, ...] = ({}, None, "a")


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"kind": "List", "items": 3}', listed(), "[" * 100_000),
        *(listed(FAILED | {"metadata": other}) for other in OTHERS),
    ],
)
def test_other_texts_are_not_what_kubectl_prints(text: str) -> None:
    with pytest.raises(DescriptionError, match="kubectl get flinkstatesnapshot -o json"):
        kubernetes_snapshot(text)


def test_snapshots_of_several_jobs_are_not_chosen_from() -> None:
    with pytest.raises(
        DescriptionError, match="several jobs, FlinkDeployment a, FlinkDeployment b"
    ):
        kubernetes_snapshot(
            listed(snapshot("x", "COMPLETED", "1", "a"), snapshot("y", "COMPLETED", "2", "b"))
        )
