"""Bytes of Kafka's connector are read, and written as the same bytes."""

from __future__ import annotations

import struct

import pytest
from support.kafka_states import (
    BOUNDED_SPLIT,
    EARLIEST_SPLIT,
    ENUMERATOR,
    PARTITIONS_1,
    SPLIT,
    WRITERS,
    coordinator,
)

from savepoint_extensions.connectors.kafka.kafka_source import (
    AssignmentStatus,
    KafkaEnumerator,
    KafkaPartition,
    KafkaSplit,
)
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.sinks.kafka_sink import (
    CheckpointTransaction,
    KafkaWriter,
)
from savepoint_formats.errors import FormatError, UnsupportedVersionError

ORDERS = KafkaPartition("orders", 3, AssignmentStatus.ASSIGNED)


@pytest.mark.parametrize(
    ("data", "split"),
    [
        (SPLIT, KafkaSplit("orders", 3, 42)),
        (BOUNDED_SPLIT, KafkaSplit("orders", 3, 42, 99)),
        (EARLIEST_SPLIT, KafkaSplit("orders", 3, -2)),
    ],
)
def test_splits(data: bytes, split: KafkaSplit) -> None:
    assert KafkaSplit.of(data, "split") == split
    assert split.to_bytes() == data


def test_a_coordinator_of_the_present_version() -> None:
    payments = KafkaPartition("payments", 0, AssignmentStatus.UNASSIGNED)
    found = KafkaEnumerator.of(coordinator(ENUMERATOR), "coordinator")
    assert (found.version, found.is_discovered) == (2, True)
    assert set(found.partitions) == {ORDERS, payments}


def test_coordinators_of_former_versions() -> None:
    first = struct.pack(">ii", 1, len(PARTITIONS_1)) + PARTITIONS_1
    assert KafkaEnumerator.of(coordinator(first), "one") == KafkaEnumerator(1, (ORDERS,), True)
    split = Versioned.whole(SPLIT, "split").data
    assignments = struct.pack(">iiiii", 0, 1, 5, 1, len(split)) + split
    zeroth = struct.pack(">iii", 0, 0, len(assignments)) + assignments + b"readers"
    assert KafkaEnumerator.of(zeroth, "zero") == KafkaEnumerator(0, (ORDERS,), True)


def _writer(element: bytes, path: str) -> KafkaWriter:
    return KafkaWriter.of(Versioned.whole(element, path), path)


def test_writers_of_each_release() -> None:
    assert _writer(WRITERS["3.4.0-1.20"], "writer") == KafkaWriter("prefix")
    assert _writer(WRITERS["4.0.1-2.0"], "writer") == KafkaWriter(
        "prefix", (CheckpointTransaction("prefix-0-5", 5),)
    )


@pytest.mark.parametrize("size", range(0, len(SPLIT), 5))
def test_what_is_cut_is_an_error(size: int) -> None:
    for read, whole in (
        (KafkaSplit.of, SPLIT),
        (_writer, WRITERS["4.0.1-2.0"]),
        (KafkaEnumerator.of, coordinator(ENUMERATOR)),
    ):
        with pytest.raises(FormatError):
            read(whole[:size], "cut")
        with pytest.raises(FormatError):
            read(whole + b"\0", "longer")


def test_what_is_no_name_of_a_topic_is_an_error() -> None:
    with pytest.raises(FormatError, match="not a topic name"):
        KafkaSplit.of(KafkaSplit("a b", 0, 0).to_bytes(), "split")
    with pytest.raises(FormatError, match="partition -1"):
        KafkaSplit.of(KafkaSplit("a", -1, 0).to_bytes(), "split")


def test_versions_that_are_not_known() -> None:
    for read, data in (
        (KafkaSplit.of, b"\0\0\0\x07" + SPLIT[4:]),
        (_writer, b"\0\0\0\x07" + WRITERS["4.0.1-2.0"][4:]),
        (KafkaEnumerator.of, b"\0\0\0\x07" + ENUMERATOR),
        (KafkaEnumerator.of, coordinator(b"\0\0\0\x07" + ENUMERATOR[4:])),
    ):
        with pytest.raises(UnsupportedVersionError):
            read(data, "unknown")
