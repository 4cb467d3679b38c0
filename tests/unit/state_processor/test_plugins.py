"""The names that plug-ins rely on stay as they are."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest

from savepoint_formats.layout import Layout
from state_processor import plugins
from state_processor.plugins import DataInputView, DataOutputView

# A change here breaks packages of others: it needs a major release.
NAMES = {
    "BOOL": "Codec",
    "BYTES": "Codec",
    "BigDecimal": "()",
    "BigInteger": "()",
    "Boolean": "()",
    "Byte": "()",
    "Bytes": "()",
    "ChangeKind": ("(name, help, words, make, mistake=, needs_session=, of_command=, states=)"),
    "ChangeWord": "(name, help, is_required=)",
    "Char": "()",
    "Codec": "(read, write, only_in=)",
    "Coded": "(codec, class_name=, owner=, is_closed=)",
    "Double": "()",
    "Enum": "(class_name, constants, numbers=)",
    "Field": "GenericAlias",
    "FileWord": "(name, help, is_required=, rows=, is_checked=)",
    "FixedBytes": "(size)",
    "FlagWord": "(name, help, is_required=)",
    "Float": "()",
    "Following": "(codec)",
    "FormatError": "(message, path, offset)",
    "Framed": "(inner)",
    "INT": "Codec",
    "Instant": "()",
    "Int": "()",
    "JavaDate": "()",
    "JavaUtf": "()",
    "LONG": "Codec",
    "Layout": "type",
    "LocalDate": "()",
    "LocalDateTime": "()",
    "LocalTime": "()",
    "Long": "()",
    "MapOf": "(key, value)",
    "Marker": "(value=, text=)",
    "MaskedRepeated": "(element)",
    "MaskedStruct": "(names, fields, has_kind)",
    "Nullable": "(inner, is_null=, padding=)",
    "NumberWord": "(name, help, is_required=, low=, high=, is_fraction=)",
    "PLUG_IN_HEADING": "str",
    "PairsWord": "(name, help, is_required=, choices=)",
    "PlugInCommand": "(command, help, heading=)",
    "RefusedError": "type",
    "Repeated": "(element, is_array=, is_set=)",
    "Rows": "(values, sections)",
    "SERIALIZER": "Codec",
    "SNAPSHOT": "Codec",
    "Short": "()",
    "SinkConnector": "(name, committable, writer=)",
    "SnapshotKind": "(layout, body=, versions=, is_composite=, newest_outer=, parts=)",
    "SourceConnector": "(name, split, enumerator=, move=, without=)",
    "SplitFacts": "(connector, split, kind, position=, table=, state=, facts=)",
    "SqlTimestamp": "()",
    "Struct": "(names, fields)",
    "Tagged": "(tags, names, fields, length=)",
    "Text": "()",
    "TextWord": "(name, help, is_required=, choices=)",
    "TextsWord": "(name, help, is_required=, choices=)",
    "TypeSerializerSnapshot": "(class_name, version, values=, names=, shown=)",
    "UTF": "Codec",
    "UndecodableError": "(message, path, offset)",
    "Utf8": "()",
    "ValueCodec": "(read, write, type, length=, is_nullable=, is_strict=)",
    "Varying": "(inner)",
    "Versioned": "(version, data)",
    "Words": "GenericAlias",
    "simple": "(layout)",
}
READS = (
    *("position", "end", "remaining", "offset", "buffer", "read_bytes", "read_view", "read_rest"),
    *("read_byte", "read_unsigned_byte", "read_bool", "read_short", "read_unsigned_short"),
    *("read_int", "read_long", "read_float", "read_double", "read_count", "read_utf"),
    *("read_varint", "read_string_value", "expect_end", "error"),
)
WRITES = (
    *("position", "to_bytes", "write_bytes", "write_byte", "write_bool", "write_short"),
    *("write_unsigned_short", "write_int", "write_long", "write_float", "write_double"),
    *("write_utf", "write_varint", "write_string_value"),
)


def described(value: Any) -> str:
    """The parameters of a class or function; those with a default end with ``=``."""
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        nothing = dataclasses.MISSING
        names = [
            field.name
            + ("" if field.default is nothing and field.default_factory is nothing else "=")
            for field in dataclasses.fields(value)
        ]
        return f"({', '.join(names)})"
    if inspect.isfunction(value):
        return f"({', '.join(inspect.signature(value).parameters)})"
    return type(value).__name__


def test_the_public_names_and_their_parameters_are_frozen() -> None:
    shown = {
        name: described(getattr(plugins, name))
        for name in plugins.__all__
        if name not in ("DataInputView", "DataOutputView")
    }
    assert shown == NAMES


def test_the_names_are_listed_once_and_exist() -> None:
    assert len(plugins.__all__) == len(set(plugins.__all__))
    assert {"DataInputView", "DataOutputView", *NAMES} == set(plugins.__all__)


@pytest.mark.parametrize(("view", "names"), [(DataInputView, READS), (DataOutputView, WRITES)])
def test_the_methods_of_views_are_there(view: type, names: tuple[str, ...]) -> None:
    known = {*dir(view), *getattr(view, "__slots__", ())}
    assert [name for name in names if name not in known] == []


def test_each_name_is_documented() -> None:
    classes = [getattr(plugins, name) for name in plugins.__all__]
    assert [one for one in classes if isinstance(one, type) and not inspect.getdoc(one)] == []


def test_each_layout_that_the_face_names_is_one() -> None:
    layouts = [getattr(plugins, name) for name, text in NAMES.items() if text.startswith("(")]
    known = [one for one in layouts if isinstance(one, type) and issubclass(one, Layout)]
    assert len(known) > 30
