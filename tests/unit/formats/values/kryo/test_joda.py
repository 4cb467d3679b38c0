"""Joda's times, which a job registered serializers for: bytes of the real ones, and any of their values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.joda_vectors import JODA_VECTORS
from support.scalar_layouts import ints

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError
from savepoint_formats.layout import Kryo, KryoRegistration
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.graph import read_kryo
from savepoint_formats.values.kryo.joda import JODA_SERIALIZERS
from savepoint_formats.values.kryo.objects import KryoNode, KryoObject
from savepoint_formats.values.kryo.writer import write_nodes

KRYO = KryoDialect(KryoVersion.V2_24)


def layout_of(short: str, serializer: str) -> Kryo:
    name = f"org.joda.time.{short}"
    return Kryo(name, (KryoRegistration(name, serializer),))


def written(layout: Kryo, fields: dict[str, Any]) -> bytes:
    view = DataOutputView()
    node = KryoNode(layout.class_name, KryoObject(layout.class_name, fields))
    write_nodes(layout, node, view, KRYO)
    return bytes(view.to_bytes())


def test_all_serializers_have_real_bytes() -> None:
    assert {serializer for _, serializer, _, _ in JODA_VECTORS.values()} == set(JODA_SERIALIZERS)


@pytest.mark.parametrize("vector", JODA_VECTORS)
def test_real_bytes_are_read_and_written_again(vector: str) -> None:
    short, serializer, data, fields = JODA_VECTORS[vector]
    layout = layout_of(short, serializer)
    stored = written(layout, fields)
    # In front is the number of the registered class.
    assert stored[1:] == bytes.fromhex(data)
    view = DataInputView(stored)
    assert read_kryo(layout, view, KRYO) == KryoObject(layout.class_name, fields)
    view.expect_end()


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("vector", JODA_VECTORS)
def test_columns_are_json(vector: str) -> None:
    short, serializer, _, fields = JODA_VECTORS[vector]
    layout = layout_of(short, serializer)
    record = written(layout, fields)
    borders = np.arange(4) * len(record)
    chunk = Chunk(np.frombuffer(record * 3, np.uint8))
    column = decode(program(layout, KRYO), chunk, borders[:-1], borders[1:])
    shown = {"$class": layout.class_name} | fields
    assert [json.loads(text) for text in column.field("json").to_pylist()] == [shown] * 3


@given(st.integers(0, 9999), st.integers(1, 12), st.integers(1, 31), st.integers(0, 86_399_999))
def test_any_date_and_time_comes_again(year: int, month: int, day: int, millis: int) -> None:
    date = {"year": year, "month": month, "day": day, "chronology": ""}
    for vector, fields in (("date", date), ("date_time", date | {"millisOfDay": millis})):
        layout = layout_of(*JODA_VECTORS[vector][:2])
        view = DataInputView(written(layout, fields))
        assert read_kryo(layout, view, KRYO) == KryoObject(layout.class_name, fields)


@given(ints(64), st.sampled_from(["", "COPTIC"]), st.text("abcZ/+:0", max_size=9))
def test_any_moment_comes_again(millis: int, chronology: str, zone: str) -> None:
    layout = layout_of(*JODA_VECTORS["utc"][:2])
    fields = {"millis": millis, "chronology": chronology, "zone": zone}
    view = DataInputView(written(layout, fields))
    assert read_kryo(layout, view, KRYO) == KryoObject(layout.class_name, fields)


@pytest.mark.parametrize("number", ["00", "8080808008", "a003", "20"])
def test_a_number_that_is_no_date_is_an_error(number: str) -> None:
    layout = layout_of(*JODA_VECTORS["date"][:2])
    lead = written(layout, JODA_VECTORS["date"][3])[:2]
    with pytest.raises(FormatError, match=r"as a org\.joda\.time\.LocalDate"):
        read_kryo(layout, DataInputView(lead + bytes.fromhex(number + "81")), KRYO)
