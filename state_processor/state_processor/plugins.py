"""Every name that the author of a plug-in needs.

A plug-in is a package with entry points in these groups:

| group                   | an entry is                                                                  |
|-------------------------|------------------------------------------------------------------------------|
| savepoint.serializers   | a mapping: class of a serializer snapshot -> ``SnapshotKind``                |
| savepoint.connectors    | a ``SourceConnector`` or a ``SinkConnector``, or a list of them              |
| savepoint.commands      | a ``PlugInCommand``; the name of the entry is the word behind ``savepoint``  |
| savepoint.changes       | a ``ChangeKind``, or a list of them: entries of files for ``savepoint apply``|

The kind of a serializer whose snapshot stores nothing is ``simple(layout)``. Other kinds name the fields of
the body, and make the layout of them. A layout is made of the nodes below; ``Coded`` is the node for bytes
that no other describes, read and written by a ``ValueCodec`` in plain Python.

The tables of this project use the same names. They stay as they are within a major release.

Example:
    >>> KINDS = {"com.acme.PointSnapshot": simple(Struct(("x", "y"), (Long(), Long())))}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from savepoint_extensions.change_files.change_kinds import ChangeKind
from savepoint_extensions.change_files.change_words import (
    ChangeWord,
    FileWord,
    FlagWord,
    NumberWord,
    PairsWord,
    Rows,
    TextsWord,
    TextWord,
    Words,
)
from savepoint_extensions.connectors.connector_rows import (
    SinkConnector,
    SourceConnector,
    SplitFacts,
)
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_formats.bytes import (
    BOOL,
    BYTES,
    INT,
    LONG,
    UTF,
    Codec,
    DataInputView,
    DataOutputView,
)
from savepoint_formats.errors import FormatError, RefusedError, UndecodableError
from savepoint_formats.layout import (
    BigDecimal,
    BigInteger,
    Boolean,
    Byte,
    Bytes,
    Char,
    Coded,
    Double,
    Enum,
    FixedBytes,
    Float,
    Framed,
    Instant,
    Int,
    JavaDate,
    JavaUtf,
    Layout,
    LocalDate,
    LocalDateTime,
    LocalTime,
    Long,
    MapOf,
    Marker,
    MaskedRepeated,
    MaskedStruct,
    Nullable,
    Repeated,
    Short,
    SqlTimestamp,
    Struct,
    Tagged,
    Text,
    Utf8,
    ValueCodec,
    Varying,
)
from savepoint_formats.snapshots import (
    SERIALIZER,
    SNAPSHOT,
    Field,
    Following,
    SnapshotKind,
    TypeSerializerSnapshot,
    simple,
)

PLUG_IN_HEADING = "Plug-ins"
"""The heading in ``savepoint --help`` of commands that name no other."""


@dataclass(frozen=True, slots=True)
class PlugInCommand:
    """A command of ``savepoint``.

    Attributes:
        command: A ``click.Command``, which may be a group.
        help: One line for ``savepoint --help``.
        heading: The heading that it stands under: one of those in ``savepoint --help``, or a new one.
    """

    command: Any
    help: str
    heading: str = PLUG_IN_HEADING


__all__ = [
    "BOOL",
    "BYTES",
    "INT",
    "LONG",
    "PLUG_IN_HEADING",
    "SERIALIZER",
    "SNAPSHOT",
    "UTF",
    "BigDecimal",
    "BigInteger",
    "Boolean",
    "Byte",
    "Bytes",
    "ChangeKind",
    "ChangeWord",
    "Char",
    "Codec",
    "Coded",
    "DataInputView",
    "DataOutputView",
    "Double",
    "Enum",
    "Field",
    "FileWord",
    "FixedBytes",
    "FlagWord",
    "Float",
    "Following",
    "FormatError",
    "Framed",
    "Instant",
    "Int",
    "JavaDate",
    "JavaUtf",
    "Layout",
    "LocalDate",
    "LocalDateTime",
    "LocalTime",
    "Long",
    "MapOf",
    "Marker",
    "MaskedRepeated",
    "MaskedStruct",
    "Nullable",
    "NumberWord",
    "PairsWord",
    "PlugInCommand",
    "RefusedError",
    "Repeated",
    "Rows",
    "Short",
    "SinkConnector",
    "SnapshotKind",
    "SourceConnector",
    "SplitFacts",
    "SqlTimestamp",
    "Struct",
    "Tagged",
    "Text",
    "TextWord",
    "TextsWord",
    "TypeSerializerSnapshot",
    "UndecodableError",
    "Utf8",
    "ValueCodec",
    "Varying",
    "Versioned",
    "Words",
    "simple",
]
