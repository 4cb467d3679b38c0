"""Serializer snapshots: Java's descriptions of types, read into a tree and written back.

Importing this package fills the table of known snapshot classes.
"""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names
from savepoint_formats.snapshots import (  # they register what they know
    avro,
    basic,
    composite,
    flinkx,
    kryo,
    legacy,
    pojo,
)
from savepoint_formats.snapshots.resynchronised import read_resynchronised
from savepoint_formats.snapshots.snapshot import (
    SERIALIZER,
    OpaqueSnapshot,
    SnapshotView,
    TypeSerializerSnapshot,
    read_serializer,
    write_serializer,
)
from savepoint_formats.snapshots.sql import row_serializers

if TYPE_CHECKING:
    from savepoint_formats.snapshots.avro import full_name, with_full_names
    from savepoint_formats.snapshots.basic import (
        BASE,
        OBJECTS,
        PRIMITIVES,
        RUNTIME,
        SCALA,
        inner,
        simple,
    )
    from savepoint_formats.snapshots.extracted import Elements as Elements
    from savepoint_formats.snapshots.extracted import Extraction, elements_of, has_own_serializer
    from savepoint_formats.snapshots.fields import Field, Following, JavaBytes, OptionalEntry
    from savepoint_formats.snapshots.flinkx import FLINKX, UUID_MAPPER
    from savepoint_formats.snapshots.kryo import KRYO, NO_SERIALIZER, SERIALIZER_CLASS
    from savepoint_formats.snapshots.legacy import LEGACY_VERSION
    from savepoint_formats.snapshots.named_rows import Edit, edited_by_names, shown_names
    from savepoint_formats.snapshots.nested import (
        all_snapshots,
        framed_snapshot,
        snapshot_bytes,
        with_nested,
    )
    from savepoint_formats.snapshots.plug_in_kinds import plug_in_serializers
    from savepoint_formats.snapshots.pojo import (
        POJO,
        kryo_in,
        layouts_with_subclasses,
        with_described_subclasses,
        with_subclasses,
    )
    from savepoint_formats.snapshots.renamed_classes import ClassRename, class_names, is_named_in
    from savepoint_formats.snapshots.shown import ClosedValues, ShownAs, WrittenKryo, named_row
    from savepoint_formats.snapshots.snapshot import KINDS, SNAPSHOT, SnapshotKind, known_kind
    from savepoint_formats.snapshots.sql.constructed_sql import internal, row_data
    from savepoint_formats.snapshots.sql.logical_type import DATA_VIEW, LogicalTypeObjects
    from savepoint_formats.snapshots.sql.logical_type_text import parse_logical_type
    from savepoint_formats.snapshots.sql.sql_classes import (
        OBJECT_ARRAY,
        SQL_CLASSES,
        TEXT,
        TYPE,
        TYPE_ARRAY,
        java_array,
        java_class,
    )
    from savepoint_formats.snapshots.sql.wider_types import holds, type_text
    from savepoint_formats.snapshots.struct_edit import (
        ELEMENT,
        MAP_KEY,
        MAP_VALUE,
        StructEdit,
        added_field,
        dropped_field,
        is_row,
        renamed_field,
        retyped_field,
    )
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "BASE",
    "DATA_VIEW",
    "ELEMENT",
    "FLINKX",
    "KINDS",
    "KRYO",
    "LEGACY_VERSION",
    "MAP_KEY",
    "MAP_VALUE",
    "NO_SERIALIZER",
    "OBJECTS",
    "OBJECT_ARRAY",
    "POJO",
    "PRIMITIVES",
    "RUNTIME",
    "SCALA",
    "SERIALIZER",
    "SERIALIZER_CLASS",
    "SNAPSHOT",
    "SQL_CLASSES",
    "TEXT",
    "TYPE",
    "TYPE_ARRAY",
    "UUID_MAPPER",
    "ClassRename",
    "ClosedValues",
    "Edit",
    "Extraction",
    "Field",
    "Following",
    "JavaBytes",
    "LogicalTypeObjects",
    "OpaqueSnapshot",
    "OptionalEntry",
    "ShownAs",
    "SnapshotKind",
    "SnapshotView",
    "StructEdit",
    "TypeSerializerSnapshot",
    "WrittenKryo",
    "added_field",
    "all_snapshots",
    "class_names",
    "dropped_field",
    "edited_by_names",
    "elements_of",
    "framed_snapshot",
    "full_name",
    "has_own_serializer",
    "holds",
    "inner",
    "internal",
    "is_named_in",
    "is_row",
    "java_array",
    "java_class",
    "known_kind",
    "kryo_in",
    "layouts_with_subclasses",
    "named_row",
    "parse_logical_type",
    "plug_in_serializers",
    "read_resynchronised",
    "read_serializer",
    "renamed_field",
    "retyped_field",
    "row_data",
    "shown_names",
    "simple",
    "snapshot_bytes",
    "type_text",
    "with_described_subclasses",
    "with_full_names",
    "with_nested",
    "with_subclasses",
    "write_serializer",
]
