"""Reading is the mirror of writing, for any layout and any of its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.any_layout import ANY
from support.nightly import examples

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import SavepointError
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.value_writer import write_value
from savepoint_formats.values.values import read_value

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout


@st.composite
def layouts_with_a_value(draw: st.DrawFn) -> tuple[Layout, Any]:
    """A layout, and one of its values."""
    layout, values = draw(ANY)
    return layout, draw(values)


def written(layout: Layout, value: Any) -> bytes:
    view = DataOutputView()
    write_value(layout, value, view)
    return view.to_bytes()


OFTEN = settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))


@OFTEN
@given(layouts_with_a_value())
def test_a_written_value_is_read_again(case: tuple[Layout, Any]) -> None:
    layout, value = case
    data = written(layout, value)
    view = DataInputView(data)
    again = read_value(layout, view)
    view.expect_end()
    assert again == value
    assert written(layout, again) == data


@OFTEN
@given(layouts_with_a_value())
def test_arrow_takes_every_value(case: tuple[Layout, Any]) -> None:
    layout, value = case
    data_type = arrow_type(layout)
    column = pa.array([value, value], data_type)
    column.validate(full=True)
    assert column.type == data_type


@OFTEN
@given(layouts_with_a_value(), st.data())
def test_what_remains_of_a_cut_value_is_an_error(
    case: tuple[Layout, Any], data: st.DataObject
) -> None:
    layout, value = case
    whole = written(layout, value)
    if not whole:
        return
    view = DataInputView(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(SavepointError):
        read_value(layout, view)


@OFTEN
@given(layouts_with_a_value(), st.data())
def test_damage_is_an_error_or_another_value(case: tuple[Layout, Any], data: st.DataObject) -> None:
    layout, value = case
    damaged = bytearray(written(layout, value) or b"\0")
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = read_value(layout, DataInputView(bytes(damaged)))
    except SavepointError:
        return
    pa.array([read], arrow_type(layout))
