"""Values that a codec of a plug-in reads and writes, in plain Python.

A codec must take exactly the bytes of its value. It is not believed if it raises any error, returns a
value of another type, takes no byte, or leaves bytes where none belong: then the bytes are shown with
the reason, which names the plug-in. What a codec writes is read again before it is believed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.values.coded_columns import (
    codec_value,
    column_value,
    is_same,
    undecoded_value,
)
from savepoint_formats.values.kinds.codec import NullError
from savepoint_formats.values.kryo.object_values import DescribedObject
from savepoint_formats.values.kryo.structs import UNDECODED, has_others

if TYPE_CHECKING:
    from collections.abc import Container

    from savepoint_formats.layout import Coded
    from savepoint_formats.values.kinds.codec import Value


class CodedReader(Protocol):
    """Reader of the values around a value; see ``ValueReader``."""

    view: DataInputView
    described: DescribedObject | None
    distrusted: Container[int]
    undecoded_values: list[dict[str, Value]]

    def undecoded(self, reason: str) -> dict[str, Value]:
        """The remaining bytes, and the reason why they are not decoded."""


def read_coded(layout: Coded, reader: CodedReader) -> Value:
    """The next value.

    Raises:
        UndecodableError: The codec is strict, and did not read the value.
        TruncatedError: Fewer bytes are left than each value has.
    """
    view, start = reader.view, reader.view.position
    if layout.codec.length >= 0:
        return _read_sized(layout, reader, view.read_view(layout.codec.length))
    if view.base + start in reader.distrusted and layout.is_open:
        return _refused(layout, reader, "what lies behind its value does not fit")
    content = DataInputView(view.buffer[start : view.end], view.path, view.offset)
    value, problem = _attempt(layout, content)
    if problem:
        return _refused(layout, reader, problem)
    view.position = start + content.position
    if layout.is_open and value is not None:
        name = _name(layout)
        reader.described = DescribedObject(name, view, start, view.position, value)
    return value


def _read_sized(layout: Coded, reader: CodedReader, content: DataInputView) -> Value:
    """A value of a known size, whose end is certain even if the codec does not read it."""
    value, problem = _attempt(layout, content)
    if not problem and content.remaining:
        problem = f"{content.remaining} of {content.end} bytes are left behind its value"
    if not problem:
        return value
    if not layout.is_open:
        content.position = 0
        raise content.error(f"{_name(layout)}: {problem}", UndecodableError)
    shown: dict[str, Value] = {
        "bytes": bytes(content.buffer),
        "reason": f"{_name(layout)}: {problem}",
    }
    reader.undecoded_values.append(shown)
    return undecoded_value(layout, shown)


def _refused(layout: Coded, reader: CodedReader, problem: str) -> Value:
    reason = f"{_name(layout)}: {problem}"
    if not layout.is_open:
        raise reader.view.error(reason, UndecodableError)
    return undecoded_value(layout, reader.undecoded(reason))


def _attempt(layout: Coded, view: DataInputView) -> tuple[Value, str]:
    """The value at the beginning of a view, and the reason why it is not read."""
    codec = layout.codec
    try:
        read = codec.read(view)
        if read is None and not codec.is_nullable:
            return None, "its codec returned None, and is not nullable"
        value = column_value(layout, read)
    except MemoryError:
        raise
    except FormatError as error:
        return None, error.message
    except Exception as error:  # a plug-in may raise anything
        return None, f"its codec failed: {type(error).__name__}: {error}"
    if not isinstance(view.position, int) or not 0 <= view.position <= view.end:
        return None, f"its codec moved to position {view.position!r} of {view.end}"
    if not view.position and codec.length:
        return None, "its codec read no bytes"
    return value, ""


def _name(layout: Coded) -> str:
    return f"{layout.class_name} (plug-in {layout.owner})" if layout.owner else layout.class_name


def write_coded(layout: Coded, value: Value, view: DataOutputView) -> bool:
    """The mirror of ``read_coded``.

    Returns:
        Whether the bytes of a value that was not read were written, with those of other values in them.

    Raises:
        ValueError: The codec does not write the value, or does not read it again.
    """
    codec = layout.codec
    if layout.is_open and value is not None and value.get(UNDECODED) is not None:
        view.write_bytes(value[UNDECODED]["bytes"])
        return has_others(value[UNDECODED])
    given = codec_value(layout, value)
    if given is None and not codec.is_nullable:
        raise NullError(f"null, which {_name(layout)} cannot be")
    content = DataOutputView()
    try:
        codec.write(content, given)
        data = content.to_bytes()
    except MemoryError:
        raise
    except Exception as error:  # as above
        raise ValueError(f"{_name(layout)}: {type(error).__name__}: {error}") from error
    _expect_again(layout, data, given)
    view.write_bytes(data)
    return False


def _expect_again(layout: Coded, data: bytes, given: Value) -> None:
    """Raises ``ValueError`` unless the bytes are read as the value that was written."""
    codec, view = layout.codec, DataInputView(data)
    if codec.length not in (-1, len(data)):
        raise ValueError(f"{_name(layout)}: wrote {len(data)} bytes, expected {codec.length}")
    again, problem = _attempt(layout, view)
    if not problem and view.remaining:
        problem = f"{view.remaining} of {len(data)} bytes are left behind its value"
    if not problem and not is_same(layout, codec_value(layout, again), given):
        problem = f"it is read as {codec_value(layout, again)!r}"
    if problem:
        raise ValueError(f"{_name(layout)}: {given!r} was written, but not read again: {problem}")
