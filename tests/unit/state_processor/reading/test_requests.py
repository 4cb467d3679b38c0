"""How often an object store is asked."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from support.s3_server import S3Server

SAMPLE = "currency-2.2.1-hashmap-canonical"


def test_a_key_is_looked_up_without_asking_twice(
    samples: Path, s3_server: S3Server, caplog: pytest.LogCaptureFixture
) -> None:
    bucket = s3_server.bucket("look-up")
    for file in (samples / SAMPLE).iterdir():
        s3_server.put(bucket, f"sp/{file.name}", file.read_bytes())
    caplog.clear()
    with caplog.at_level(logging.INFO, "werkzeug"):
        savepoint = Savepoint.open(s3_server.uri(bucket, "sp"), uids=["summarize"])
        opening = len(caplog.records)
        rows = savepoint.scan("summarize.keyed_state", keys=[42]).to_arrow().to_pylist()
    assert rows == [{"key": 42, "total": 978340.375, "count": 11}]
    requests = [record.getMessage() for record in caplog.records]
    methods = ["HEAD" if "HEAD " in request else "GET" for request in requests]
    assert methods[:opening] == ["GET"]
    # The files of two subtasks, which are so small that they come with their headers.
    assert methods[opening:] == ["GET", "GET"]
