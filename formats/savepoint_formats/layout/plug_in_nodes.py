"""Nodes of values that the serializers of plug-ins write."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from savepoint_formats.layout.node import Layout, node

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

UNKNOWN_LENGTH = -1


@node
class ValueCodec:
    """Reads and writes values in plain Python, for bytes that no layout describes.

    Both functions must be at the top level of a module, because a task of Spark imports them there.

    Attributes:
        read: Reads the value at the position of a ``DataInputView``, and moves the position to its end.
            The view ends with the bytes that may belong to the value, which may include values behind it. Any
            error says that the bytes are no value.
        write: Writes a value to a ``DataOutputView``. Its bytes must be read as the same value again.
        type: The Arrow type of values. ``read`` returns what ``pyarrow.scalar`` takes for it, and ``write``
            gets what ``as_py`` returns.
        length: Bytes of each value, as ``TypeSerializer.getLength`` returns it; -1 if they vary.
        is_nullable: Whether null is a value that has bytes.
        is_strict: Whether a value that is not read is an error of the whole read. If not, its bytes are
            shown with the reason: a struct gets a field ``$undecoded``, and any other type becomes a
            struct of ``value`` and ``$undecoded``.

    Raises:
        ValueError: No column has the type, or the length is below -1.
    """

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], None]
    type: pa.DataType
    length: int = UNKNOWN_LENGTH
    is_nullable: bool = False
    is_strict: bool = False

    def __post_init__(self) -> None:
        """Raises ``ValueError`` for a type that no column has, or for a negative length."""
        _expect_column(self.type)
        if self.length < UNKNOWN_LENGTH:
            raise ValueError(f"a length of {self.length} bytes, expected -1 or more")


@cache
def _single_types() -> frozenset[pa.DataType]:
    import pyarrow as pa  # noqa: PLC0415  # many modules import layouts, and few Arrow

    return frozenset(
        [
            *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32()),
            *(pa.float64(), pa.utf8(), pa.binary(), pa.date32(), pa.time32("ms"), pa.time64("us")),
            pa.duration("ms"),
            *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us") for zone in (None, "UTC")),
        ]
    )


def _expect_column(data_type: pa.DataType) -> None:
    import pyarrow as pa  # noqa: PLC0415  # as above

    is_collection = pa.types.is_list(data_type) or pa.types.is_map(data_type)
    if pa.types.is_struct(data_type) or is_collection:
        for index in range(data_type.num_fields):
            _expect_column(data_type.field(index).type)
    elif data_type not in _single_types() and not pa.types.is_decimal128(data_type):
        known = ", ".join(sorted(map(str, _single_types())))
        raise ValueError(
            f"a codec of {data_type}, which no column has; expected decimal128, list, map, struct or"
            f" one of {known}"
        )


@node
class Coded(Layout):
    """A value that a codec of a plug-in reads and writes.

    Attributes:
        class_name: The snapshot class that a plug-in has registered.
        owner: Distribution and version of the plug-in.
        is_closed: Whether columns have no place for bytes that are not decoded.
    """

    codec: ValueCodec
    class_name: str = ""
    owner: str = ""
    is_closed: bool = False

    @property
    def is_open(self) -> bool:
        """Whether columns have a place for bytes that are not decoded."""
        return not (self.is_closed or self.codec.is_strict)


@node
class OfClass(Layout):
    """The bytes of ``inner``, of a class that computes its own hash code.

    ``class_name`` is the snapshot class that a plug-in has registered.
    """

    inner: Layout
    class_name: str
