"""How often an object store is asked."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.hand_made import (
    MAX_PARALLELISM,
    STRING,
    canonical_base,
    encoded,
    group_of,
    header,
    meta_info,
    operator_of,
)

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.layout import Text
from savepoint_formats.metadata import (
    CheckpointMetadata,
    InlineStream,
    KeyGroupRangeOffsets,
    RelativeFile,
    SubtaskState,
)
from state_processor import ColumnNotFoundError, Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from support.s3_server import S3Server

LARGE = "x" * (100 << 10)
"""A file of such a value does not come as a whole with its header."""


@pytest.mark.parametrize(
    ("sample", "key", "requests"),
    [
        # The file of the first subtask, which is so small that it comes with its header.
        ("currency-2.2.1-hashmap-canonical", -2147483648, 1),
        # That and the file of the second subtask, which has the key.
        ("currency-2.2.1-hashmap-canonical", 42, 2),
        ("currency-2.2.1-hashmap-native", 42, 2),
        # The header, the manifest, and a table for each of two states.
        ("currency-2.2.1-rocksdb-native", -2147483648, 4),
    ],
)
def test_a_key_is_looked_up_without_asking_twice(
    samples: Path,
    s3_server: S3Server,
    caplog: pytest.LogCaptureFixture,
    sample: str,
    key: int,
    requests: int,
) -> None:
    bucket = s3_server.bucket(f"{sample}.{key}")
    for file in (samples / sample).iterdir():
        s3_server.put(bucket, f"sp/{file.name}", file.read_bytes())
    caplog.clear()
    with caplog.at_level(logging.INFO, "werkzeug"):
        savepoint = Savepoint.open(s3_server.uri(bucket, "sp"), uids=["summarize"])
        assert requests_in(caplog) == ["GET"]
        rows = savepoint.scan("summarize.keyed_state", keys=[key]).to_arrow().to_pylist()
    assert requests_in(caplog) == ["GET"] * (1 + requests)
    local = Savepoint.open(str(samples / sample), uids=["summarize"])
    all_rows = local.scan("summarize.keyed_state").to_arrow().to_pylist()
    assert rows == [row for row in all_rows if row["key"] == key] != []


@pytest.mark.parametrize("subtask", range(MAX_PARALLELISM))
def test_a_look_up_takes_four_requests_at_most(
    s3_server: S3Server, caplog: pytest.LogCaptureFixture, subtask: int
) -> None:
    uri = uploaded(s3_server, f"four-{subtask}", ["a"] * MAX_PARALLELISM)
    caplog.clear()
    with caplog.at_level(logging.INFO, "werkzeug"):
        scan = Savepoint.open(uri).scan("a.keyed_state", keys=[key_of(subtask)])
        assert scan.to_arrow().to_pylist() == [{"key": key_of(subtask), "a": LARGE}]
    # What lies there, the type of keys, the header of the subtask and the section of the key group.
    assert requests_in(caplog) == ["GET"] * (3 if subtask == 0 else 4)


class TestStatesThatOtherSubtasksHave:
    """The header of ``c`` is as long as that of ``a``, the one of ``more`` longer."""

    @pytest.fixture
    def savepoint(self, s3_server: S3Server, request: pytest.FixtureRequest) -> Savepoint:
        """The third subtask has another state than the others, and so has the fourth."""
        bucket = f"others-{request.node.name.replace('_', '-')}"[:60]
        return Savepoint.open(uploaded(s3_server, bucket, ["a", "a", "c", "more"]))

    def test_are_columns_if_their_headers_differ_in_length(self, savepoint: Savepoint) -> None:
        rows = savepoint.scan("a.keyed_state", keys=[key_of(1)]).to_arrow().to_pylist()
        assert rows == [{"key": key_of(1), "a": LARGE, "more": None}]

    def test_are_columns_if_they_are_asked_for(self, savepoint: Savepoint) -> None:
        scan = savepoint.scan("a.keyed_state", keys=[key_of(1)], columns=["c", "a"])
        assert scan.to_arrow().to_pylist() == [{"c": None, "a": LARGE}]
        with pytest.raises(ColumnNotFoundError, match="it has: key, a, c, more"):
            _ = savepoint.scan("a.keyed_state", keys=[key_of(1)], columns=["d"]).schema

    def test_are_columns_of_their_own_keys(self, savepoint: Savepoint) -> None:
        rows = savepoint.scan("a.keyed_state", keys=[key_of(2)]).to_arrow().to_pylist()
        assert rows == [{"key": key_of(2), "a": None, "c": LARGE, "more": None}]

    def test_are_columns_where_all_headers_were_read_already(self, savepoint: Savepoint) -> None:
        savepoint.describe()
        scan = savepoint.scan("a.keyed_state", keys=[key_of(1)])
        assert scan.schema.names == ["key", "a", "c", "more"]


def key_of(group: int) -> str:
    """A key of a key group, of which each subtask has one."""
    return next(key for key in map(str, range(100)) if group_of(key) == group)


def uploaded(server: S3Server, bucket: str, states: list[str]) -> str:
    """A savepoint in a store, of subtasks that have a state and a key each."""
    server.bucket(bucket)
    subtasks = []
    for group, state in enumerate(states):
        key = encoded(Text(), key_of(group)) + b"\0"
        head = header(meta_info(state, "VALUE", STRING))
        base = canonical_base(head, [(group, 0, key, encoded(Text(), LARGE))])
        assert isinstance(base.stream, InlineStream)
        server.put(bucket, f"sp/{group}", base.stream.data)
        groups = KeyGroupRangeOffsets(KeyGroupRange(group, group), (base.groups.offsets[group],))
        stream = RelativeFile(str(group), base.stream.size)
        handle = replace(base, groups=groups, stream=stream)
        subtasks.append(SubtaskState(group, managed_keyed_state=handle))
    view = DataOutputView()
    CheckpointMetadata.new((operator_of(*subtasks),)).write(view)
    server.put(bucket, "sp/_metadata", view.to_bytes())
    return server.uri(bucket, "sp")


def requests_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The methods of all requests."""
    lines = (record.getMessage() for record in caplog.records)
    return ["HEAD" if "HEAD " in line else "GET" for line in lines]
