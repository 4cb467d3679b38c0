"""Every layout is in every table that dispatches on layouts."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pytest
from support.every_layout import EXAMPLES

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import FormatError, UndecodableError, UnstableHashError
from savepoint_formats.hashing.key_hash import key_hashes
from savepoint_formats.layout import Layout
from savepoint_formats.layout.layout_facts import serializer_length
from savepoint_formats.program.assembly import program
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.arrow_types import arrow_type, spark_type_name
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.sizes import least_size
from savepoint_formats.values.values import read_value

KRYO = KryoDialect(KryoVersion.V5_6)

# Their bytes, if any, are shown with a reason where nobody decodes them.
_GENERAL = layouts.Kryo | layouts.JavaObject | layouts.Opaque | layouts.Coded


def name(layout: Layout) -> str:
    return type(layout).__name__


each = pytest.mark.parametrize("layout", EXAMPLES, ids=name)


def test_there_is_an_example_of_every_layout() -> None:
    classes = [one for one in vars(layouts).values() if isinstance(one, type)]
    known = {one.__name__ for one in classes if issubclass(one, Layout) and one is not Layout}
    assert known == set(map(name, EXAMPLES))


@each
def test_it_has_an_arrow_type_and_a_name_in_spark(layout: Layout) -> None:
    assert isinstance(arrow_type(layout), pa.DataType)
    assert spark_type_name(arrow_type(layout))


@each
def test_its_size_is_known(layout: Layout) -> None:
    assert least_size(layout) >= 0
    assert isinstance(serializer_length(layout), int)


@each
def test_the_general_path_reads_it(layout: Layout) -> None:
    # A layout that the path does not know would be a TypeError.
    try:
        read_value(layout, DataInputView(b""), KRYO)
    except FormatError:
        return
    assert least_size(layout) == 0 or isinstance(layout, _GENERAL)


@each
def test_it_can_be_laid_flat_and_encoded(layout: Layout) -> None:
    assert program(layout, KRYO).columns
    try:
        encoded = Encoder(layout).encode(pa.nulls(0, arrow_type(layout)))
    except UndecodableError:
        return
    assert len(encoded) == 0


@each
def test_it_has_a_hash_code_or_a_reason_why_it_has_none(layout: Layout) -> None:
    column = pa.nulls(0, arrow_type(layout))
    with suppress(UnstableHashError):
        assert key_hashes(layout, column).tolist() == []
