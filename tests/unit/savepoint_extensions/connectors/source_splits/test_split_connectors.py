"""Splits of connectors, and where they can go on; ``tests/flink`` has bytes of real ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.cdc_sources import begun, enumerator, snapshot, stream
from support.kafka_states import BOUNDED_SPLIT, SPLIT

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.source_splits.cdc_splits import CdcForm, split_bytes
from savepoint_extensions.connectors.source_splits.file_splits import FileSplit
from savepoint_extensions.connectors.source_splits.shard_splits import KinesisSplit, PulsarSplit
from savepoint_extensions.connectors.source_splits.split_connectors import (
    connector_of,
    read_enumerator,
)
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import RefusedError

if TYPE_CHECKING:
    from typing import Any

SHARD = "shardId-000000000001"


def kinesis(version: int, iterator: str, marker: int | str | None) -> Versioned:
    view = DataOutputView()
    for text in ("arn:aws:kinesis:eu:1:stream/orders", SHARD, iterator):
        view.write_utf(text)
    view.write_bool(marker is not None)
    if isinstance(marker, int):
        view.write_bytes(b"\1" + marker.to_bytes(8, "big") + b"\0")
    elif marker is not None:
        view.write_bytes(b"\0\1")
        view.write_utf(marker)
    if version:
        view.write_int(1)
        for text in ("shardId-000000000000", "-1", "0"):
            view.write_utf(text)
    if version == 2:
        view.write_bool(True)
    return Versioned(version, view.to_bytes())


def pulsar(version: int, consumed: bytes | None) -> Versioned:
    view = DataOutputView()
    view.write_utf("persistent://a/b/orders")
    view.write_int(3)
    if version:
        view.write_int(1)
    view.write_longs([0xFFFF])
    if version == 1:
        view.write_int(1)
    view.write_bytes(b"\0\0\0\2ab")
    view.write_bool(consumed is not None)
    if consumed is not None:
        view.write_int(len(consumed))
        view.write_bytes(consumed)
    view.write_bool(True)
    view.write_longs([1, 2])
    return Versioned(version, view.to_bytes())


def file(position: tuple[int, int] | None) -> Versioned:
    head = DataOutputView()
    head.write_utf("0000000001")
    head.write_bool(True)
    for text in ("hdfs", None, "node"):
        head.write_bool(text is not None)
        if text is not None:
            head.write_string_value(text)
    head.write_int(8020)
    head.write_bool(True)
    head.write_string_value("/a b/orders.csv")
    head.write_bytes(b"\0\0")
    head.write_longs([100, 50, 17, 200])
    head.write_int(1)
    head.write_utf("localhost")
    return FileSplit("", "", 0, 0, position, head.to_bytes()).to_versioned()


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize(
    ("iterator", "marker", "position"),
    [
        ("TRIM_HORIZON", None, {}),
        ("AT_TIMESTAMP", 1700000000000, {"timestamp": 1700000000000}),
        ("AFTER_SEQUENCE_NUMBER", "4950", {"sequence_number": "4950"}),
    ],
)
def test_kinesis(
    version: int, iterator: str, marker: int | str | None, position: dict[str, Any]
) -> None:
    data = kinesis(version, iterator, marker)
    split = KinesisSplit.of(data, "split")
    assert split.to_versioned() == data
    assert split.position() == {"type": iterator, **position}
    connector, facts = connector_of(data, "split")
    assert connector is not None
    assert connector.move is not None
    assert (facts.connector, facts.split, facts.kind) == ("kinesis", SHARD, "shard")
    assert facts.state == ("finished" if version == 2 else "reading")
    later = {"type": "AT_SEQUENCE_NUMBER", "sequence_number": "9"}
    assert connector.move(data, later, "split") == kinesis(version, "AT_SEQUENCE_NUMBER", "9")
    assert connector.move(data, "LATEST", "split") == kinesis(version, "LATEST", None)
    for wrong in ({"type": "SOON"}, {"type": "AT_TIMESTAMP"}, {"type": "LATEST", "timestamp": 1}):
        with pytest.raises(RefusedError, match="expected a type"):
            connector.move(data, wrong, "split")


@pytest.mark.parametrize("version", [0, 1, 2])
def test_pulsar(version: int) -> None:
    split = PulsarSplit.of(pulsar(version, b"\x08\x07"), "split")
    assert split == PulsarSplit("persistent://a/b/orders", 3, "0807", True)
    connector, facts = connector_of(pulsar(version, None), "split")
    assert connector is not None
    assert connector.move is None
    assert (facts.split, facts.position) == ("persistent://a/b/orders-3", "")
    assert facts.facts == {"open transaction": "yes"}


def test_files() -> None:
    split = FileSplit.of(file((120, 3)), "split")
    assert (split.path, split.offset, split.length) == ("hdfs://node:8020/a b/orders.csv", 100, 50)
    assert split.position == (120, 3)
    connector, facts = connector_of(file(None), "split")
    assert connector is not None
    assert connector.move is not None
    assert (facts.split, facts.kind, facts.position) == ("0000000001", "file", "")
    assert connector.move(file(None), {"offset": 120, "records": 3}, "split") == file((120, 3))
    assert connector.move(file((120, 3)), 100, "split") == file((100, 0))
    for wrong in (99, 151, {"offset": 120, "records": -1}):
        with pytest.raises(RefusedError, match="has offsets 100 to 150"):
            connector.move(file(None), wrong, "split")
    for no_number in (1.5, True, "soon", {"offset": 120, "records": 1 << 63}):
        with pytest.raises(RefusedError, match="a whole number"):
            connector.move(file(None), no_number, "split")
    with pytest.raises(RefusedError, match="has no size"):
        connector.move(file(None), {"offset": 120, "size": 3}, "split")


def test_kafka() -> None:
    data = Versioned.whole(SPLIT, "split")
    connector, facts = connector_of(data, "split")
    assert connector is not None
    assert connector.move is not None
    assert (facts.connector, facts.split, facts.table) == ("kafka", "orders-3", "orders")
    assert json.loads(facts.position) == {"offset": 42}
    bounded = connector.move(data, {"offset": 42, "stopping_offset": 99}, "split")
    assert bounded.to_bytes() == BOUNDED_SPLIT
    assert json.loads(connector_of(connector.move(data, "earliest", "split"), "")[1].position) == {
        "offset": "earliest"
    }
    with pytest.raises(RefusedError, match="has no lsn"):
        connector.move(data, {"offset": 4, "lsn": "3"}, "split")
    for wrong in (1.5, True, 1 << 63, "soon"):
        with pytest.raises(ValueError):  # noqa: PT011 - of Python's, or ours
            connector.move(data, wrong, "split")
    with pytest.raises(RefusedError, match="has no offset"):
        connector.move(data, {"stopping_offset": 4}, "split")


def test_change_data_capture() -> None:
    for form, name in ((CdcForm(False, 4), "mysql-cdc"), (CdcForm(True, 6), "postgres-cdc")):
        split = stream(form, 30, {"orders": [10, 20]}, "")
        connector, facts = connector_of(Versioned(form.version, split_bytes(split, form)), "split")
        assert connector is not None
        assert (facts.connector, facts.kind, facts.position) == (name, "stream", split.start)
        assert facts.facts == {"finished splits": "2 of 2", "tables": 1}
        read = Versioned(form.version, split_bytes(snapshot("orders", 1, form, 12), form))
        assert connector_of(read, "split")[1].state == "finished"
        version = 8 if form.is_base else 5
        _, rows = read_enumerator(begun(version, form).to_versioned(), "", connector)
        assert [(row.kind, row.state, row.split or row.table) for row in rows] == [
            ("enumerator", "initial_assigning", ""),
            ("table", "divided", "shop.orders"),
            ("table", "waiting", "shop.payments"),
            ("snapshot", "waiting", "shop.orders:1"),
            ("snapshot", "finished", "shop.orders:0"),
        ]
        state = enumerator(version, form, {"orders": [10]}).to_versioned()
        assert read_enumerator(state, "", None)[1][0].connector == name


def test_unknown_connectors() -> None:
    connector, facts = connector_of(Versioned(77, b"abc"), "split")
    assert (connector, facts.connector) == (None, "unknown")
    assert "of none of the connectors" in str(facts.facts["reason"])
    assert read_enumerator(Versioned(77, b"abc"), "enumerator", None) == (None, [])
