"""Each connector's committables and writers' states, told apart by their bytes."""

from __future__ import annotations

import struct

import pytest
from support.hand_made import i32, utf
from support.kafka_states import COMMITTABLE, WRITERS
from support.table_sinks import COMMITTABLES

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.sinks import connectors, kafka_sink
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import RefusedError


def versioned(version: int, data: bytes) -> bytes:
    view = DataOutputView()
    Versioned(version, data).write(view)
    return view.to_bytes()


def local_file(target: str, temporary: str, length: int, magic: int = 510937943) -> bytes:
    names = target.encode(), temporary.encode()
    return struct.pack("<iqii", magic, length, *map(len, names)) + b"".join(names)


def committable(*, bucket: str | None = "b", recoverable: bytes | None = None) -> Versioned:
    """A committable of a file sink that finishes a file; without a bucket of version 1."""
    file = versioned(1, local_file("/d/t", "/d/.t", 5) if recoverable is None else recoverable)
    if bucket is None:
        pending = versioned(1, i32(746929289) + file)
        return Versioned(1, i32(511073408) + b"\1" + pending + b"\0")
    path = b"\1" + utf("file:/d/t") + struct.pack(">q", 5)
    pending = versioned(2, i32(746929289) + path + file)
    return Versioned(2, i32(511073408) + utf(bucket) + b"\1" + pending + b"\0\0")


FILE = {"target": "/d/t", "temporary": "/d/.t", "length": 5}


def test_a_file_to_be_finished() -> None:
    name, facts, reason = connectors.read_committable(committable(), "state")
    assert (name, reason) == ("file", "")
    assert facts == {"bucket": "b", "path": "file:/d/t", "size": 5, **FILE}
    assert connectors.read_committable(committable(bucket=None), "state") == ("file", FILE, "")


def test_files_to_be_deleted() -> None:
    in_progress = versioned(
        2, i32(-1281095875) + b"\0" + versioned(1, local_file("/d/t", "/d/.t", 5, -683447202))
    )
    data = i32(511073408) + utf("b") + b"\0\1" + in_progress + b"\1" + utf("/d/old")
    _, facts, _ = connectors.read_committable(Versioned(2, data), "state")
    assert facts == {
        "bucket": "b",
        **{f"delete {name}": value for name, value in FILE.items()},
        "delete compacted": "/d/old",
    }


def test_a_file_system_that_is_not_known_is_shown_as_bytes() -> None:
    for recoverable in (b"\1\2", local_file("a", "b", 1, magic=5), local_file("a", "b", 1)[:-1]):
        found = connectors.read_committable(committable(recoverable=recoverable), "state")
        assert found[1]["recoverable"] == recoverable.hex()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_buckets_of_each_version(version: int) -> None:
    file = versioned(1, local_file("/d/t", "/d/.t", 5))
    if version > 1:
        file = versioned(1, i32(-1281095875) + file)
    pending = b"" if version == 3 else struct.pack(">iiqi", 1, 1, 7, 2) + i32(1) + b"x" + i32(0)
    name = versioned(1, struct.pack("<i", 1) + b"b")
    data = i32(511069049) + name + utf("file:/d") + bytes(8) + b"\1" + file + pending
    found, facts, _ = connectors.read_writer(Versioned(version, data), "state")
    assert found == "file"
    assert facts == {
        "bucket": "b",
        "path": "file:/d",
        **FILE,
        **({} if version == 3 else {"pending files": 2}),
    }


def test_transactions_of_kafka() -> None:
    whole = Versioned.whole(COMMITTABLE, "committable")
    facts = {"transactional_id": "prefix-0-1", "producer_id": 7, "epoch": 2}
    assert connectors.read_committable(whole, "state") == ("kafka", facts, "")
    for release, expected in (("3.4.0-1.20", {}), ("4.0.1-2.0", {"transactions": 1})):
        writer = Versioned.whole(WRITERS[release], "writer")
        assert connectors.read_writer(writer, "state") == (
            "kafka",
            {"prefix": "prefix", **expected},
            "",
        )


def test_another_prefix_of_transactional_ids() -> None:
    writer = Versioned.whole(WRITERS["3.4.0-1.20"], "writer")
    changed = kafka_sink.with_prefix(writer, "other-prefix", "writer")
    assert connectors.read_writer(changed, "state")[1] == {"prefix": "other-prefix"}
    assert kafka_sink.with_prefix(changed, "prefix", "writer") == writer
    with pytest.raises(RefusedError, match="remembers 1 transactions"):
        kafka_sink.with_prefix(Versioned.whole(WRITERS["4.0.1-2.0"], "w"), "other", "writer")


def test_manifests_of_iceberg() -> None:
    facts = {"job": "00ff", "operator": "files", "checkpoint": 9}
    for name, size in (("iceberg", 20), ("iceberg_empty", 0)):
        committable = Versioned.whole(COMMITTABLES[name], name)
        read = connectors.read_committable(committable, "state")
        assert read == ("iceberg", {**facts, "manifest bytes": size}, "")


FILES = {
    "identifier": 11,
    "messages": 2,
    "buckets": "3, 4",
    "new files": "data-0001.parquet",
    "compacted to files": "c, c",
}


def test_damaged_messages_of_paimon_are_bytes_with_the_reason() -> None:
    whole = Versioned.whole(COMMITTABLES["paimon_files"], "paimon")
    for data in (whole.data[:-1], whole.data + b"\0"):
        name, facts, reason = connectors.read_committable(Versioned(4, data), "state")
        assert (name, facts) == ("unknown", {})
        assert "paimon" in reason


def test_changes_of_paimon() -> None:
    for name, expected in (
        ("paimon", {"identifier": 9, "watermark": 77, "messages": 0}),
        ("paimon_without_watermark", {"identifier": 10, "messages": 0}),
        ("paimon_files", FILES),
    ):
        committable = Versioned.whole(COMMITTABLES[name], name)
        assert connectors.read_committable(committable, "state") == ("paimon", expected, "")
    # Up to version 3 there are no properties.
    data = struct.pack(">q?qi", 9, False, 77, 0) + i32(9) + b"messages"
    _, facts, _ = connectors.read_committable(Versioned(3, data), "state")
    assert facts == {"identifier": 9, "watermark": 77, "message bytes": 8}


def test_another_connector_is_unknown_with_the_reason() -> None:
    for read in (connectors.read_committable, connectors.read_writer):
        name, facts, reason = read(Versioned(77, b"abc"), "state")
        assert (name, facts) == ("unknown", {})
        assert reason.startswith("version 77, of none of the connectors file, kafka")
