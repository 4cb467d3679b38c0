"""Objects of Kryo as values of a column: structs, texts and numbers, or JSON and their bytes.

The column of an undescribed class has JSON of the known objects, beside the bytes, which are
written again. If an object inside has an unknown class, its end is unknown: the column then has the
bytes and the reason.

An object that does not fit the user's description of its class is a struct with its bytes and the
reason in ``$undecoded``. So is an object that leaves bytes where none belong: its description lacks
fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.graph import NULL, UnregisteredClassError, read_kryo
from savepoint_formats.values.kryo.named import named_objects
from savepoint_formats.values.kryo.objects import json_text
from savepoint_formats.values.kryo.structs import (
    UNDECODED,
    has_others,
    is_described,
    struct_column_type,
    undecoded_struct,
)
from savepoint_formats.values.kryo.writer import write_nodes

if TYPE_CHECKING:
    from collections.abc import Container

    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
    from savepoint_formats.layout import Kryo
    from savepoint_formats.values.kinds.codec import Value


class ObjectReader(Protocol):
    """Reader of the values around an object; see ``ValueReader``."""

    view: DataInputView
    kryo: KryoDialect | None
    described: DescribedObject | None
    distrusted: Container[int]
    is_damaged: bool
    is_ambiguous: bool

    def known_end(self, position: int) -> int | None:
        """The end of the value at a position of the view, if it is known."""

    def undecoded(self, reason: str) -> dict[str, Value]:
        """The remaining bytes, and the reason why they are not decoded."""


@dataclass(frozen=True, slots=True)
class DescribedObject:
    """A value that the user, or a plug-in, described: its name, its place, and its columns."""

    name: str
    view: DataInputView
    start: int
    end: int
    value: dict[str, Value]


def read_kryo_value(layout: Kryo, reader: ObjectReader) -> Value:
    """The next object."""
    view, kryo = reader.view, reader.kryo
    start, column = view.position, struct_column_type(layout)
    if column is None:
        return _read_undescribed(layout, reader)
    # The bytes of a class of the JDK are known, not told by a description.
    if is_described(layout) and view.base + start in reader.distrusted:
        reason = f"{layout.class_name}: what lies behind its fields does not fit"
        return undecoded_struct(layout, reader.undecoded(reason))
    try:
        graph = read_kryo(layout, view, kryo)
        end = view.position
        value = column.value(layout.class_name, graph, start, view)
    except FormatError as error:
        if not is_described(layout):
            raise
        view.position = start
        reader.is_damaged |= _is_unlike(error)
        return undecoded_struct(layout, reader.undecoded(f"{layout.class_name}: {error.message}"))
    if is_described(layout) and value is not None:
        reader.described = DescribedObject(layout.class_name, view, start, end, value)
    return value


def _read_undescribed(layout: Kryo, reader: ObjectReader) -> dict[str, Value]:
    view, start = reader.view, reader.view.position
    try:
        graph = read_kryo(layout, view, reader.kryo)
    except FormatError as error:
        view.position = start
        reason = error.message
        if isinstance(error, UndecodableError):
            text, ways = _read_named(layout, reader)
            if text is not None:
                return {"json": text, "bytes": _read_bytes(view, start), "reason": None}
            reason += f"; what its serializer tells fits in {ways} ways" if ways else ""
        reader.is_damaged |= _is_unlike(error)
        undecoded = reader.undecoded(f"{layout.class_name}: {reason}")
        undecoded["json"] = None
        return undecoded
    data = _read_bytes(view, start)
    try:
        return {"json": json_text(graph), "bytes": data, "reason": None}
    except ValueError as error:
        return {"json": None, "bytes": data, "reason": f"{layout.class_name}: {error}"}


def _read_named(layout: Kryo, reader: ObjectReader) -> tuple[str | None, int]:
    """JSON of an object that fits the names of serializers in one way, and the number of ways."""
    view, start = reader.view, reader.view.position
    if not layout.named or reader.kryo is None:
        return None, 0
    fitting = named_objects(layout, view, reader.kryo)
    view.position, end = start, reader.known_end(start)
    ways = [(place, text) for place, text in fitting if end in (None, place)]
    if len(ways) == 1:
        ((view.position, text),) = ways
        return text, 1
    reader.is_ambiguous |= len(ways) > 1
    return None, len(ways)


def _is_unlike(error: FormatError) -> bool:
    """Whether the bytes are most likely no object at all."""
    is_unregistered = isinstance(error, UnregisteredClassError)
    return is_unregistered or not isinstance(error, UndecodableError)


def _read_bytes(view: DataInputView, start: int) -> bytes:
    return bytes(view.buffer[start : view.position])


def write_kryo_value(layout: Kryo, value: Value, view: DataOutputView) -> bool:
    """The mirror of ``read_kryo_value``, for columns with their own type.

    Returns:
        Whether the bytes of an undecoded object were written, with those of other values in them.

    Raises:
        ValueError: The class has no such object, or the version of Kryo is not known.
    """
    column = struct_column_type(layout)
    assert column is not None  # the column has a type of its own
    if value is None:
        view.write_byte(NULL)
        return False
    if is_described(layout) and layout.is_open and value.get(UNDECODED) is not None:
        view.write_bytes(value[UNDECODED]["bytes"])
        return has_others(value[UNDECODED])
    if not layout.version:
        raise ValueError(f"a {layout.class_name} for a Kryo whose version is not known")
    try:
        node = column.node(layout.class_name, value)
    except ValueError as error:
        raise ValueError(f"{layout.class_name}: {error}") from error
    dialect = KryoDialect(KryoVersion(layout.version), layout.classes)
    write_nodes(layout, node, view, dialect)
    return False


def take_rest(reader: ObjectReader) -> bool:
    """Gives the remaining bytes to the described value right in front of them, if there is one."""
    last, view = reader.described, reader.view
    if not view.remaining or last is None or last.view is not view or last.end != view.position:
        return False
    reason = f"{last.name}: {view.remaining} bytes are left behind its fields"
    view.position = last.start
    last.value.update(dict.fromkeys(last.value) | {UNDECODED: reader.undecoded(reason)})
    return True
