"""The general path: one value of any layout, and its Arrow type."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_formats.values.arrow_types import (
        ROW_KIND,
        ROW_KINDS,
        arrow_type,
        is_nullable_key,
        spark_type_name,
        visible_key_type,
    )
    from savepoint_formats.values.coded_columns import VALUE
    from savepoint_formats.values.element_rows import Collections
    from savepoint_formats.values.kinds.precise_times import (
        Nanoseconds,
        as_precise,
        checked_nanoseconds,
        is_precise,
        mapped,
        precise_times,
        precise_type,
        seconds_and_nanos,
        texts_of,
        times_of_day,
        timestamps_of,
        zone_of,
    )
    from savepoint_formats.values.kinds.scalars import SCALARS
    from savepoint_formats.values.kinds.times import (
        NANOS,
        NANOS_PER_SECOND,
        SECONDS,
        from_timestamp,
        to_precise,
        to_timestamp,
    )
    from savepoint_formats.values.kryo.class_files import UndescribableError, described_class
    from savepoint_formats.values.kryo.classes import names_of
    from savepoint_formats.values.kryo.collections import COLLECTIONS
    from savepoint_formats.values.kryo.descriptions import (
        PRIMITIVE_CODES,
        kryo_class,
        kryo_class_members,
        kryo_classes_json,
        kryo_classes_of,
    )
    from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion, written_dialect
    from savepoint_formats.values.kryo.input import KryoInput
    from savepoint_formats.values.kryo.known_classes import DECLARED_TYPES, FINAL_CLASSES
    from savepoint_formats.values.kryo.structs import (
        CONSTANT,
        OBJECT_TYPE,
        UNDECODED,
        UNDECODED_TYPE,
    )
    from savepoint_formats.values.kryo_collections import (
        CollectionPlace,
        collection_places,
        is_generic,
    )
    from savepoint_formats.values.named_values import may_name_classes, with_new_names
    from savepoint_formats.values.patience import Patience
    from savepoint_formats.values.plain_columns import plain_values, values_with
    from savepoint_formats.values.pojo_fields import CLASS, has_subclasses, pojo_columns
    from savepoint_formats.values.recoding import element_classes, unknown_class
    from savepoint_formats.values.scala_values import SCALA_LAYOUTS
    from savepoint_formats.values.state_entries import (
        Delimited,
        EntryReader,
        EntryWriter,
        NullableRest,
    )
    from savepoint_formats.values.subclass_values import Subclass
    from savepoint_formats.values.undecoded import notes
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "CLASS",
    "COLLECTIONS",
    "CONSTANT",
    "DECLARED_TYPES",
    "FINAL_CLASSES",
    "NANOS",
    "NANOS_PER_SECOND",
    "OBJECT_TYPE",
    "PRIMITIVE_CODES",
    "ROW_KIND",
    "ROW_KINDS",
    "SCALARS",
    "SCALA_LAYOUTS",
    "SECONDS",
    "UNDECODED",
    "UNDECODED_TYPE",
    "VALUE",
    "CollectionPlace",
    "Collections",
    "Delimited",
    "EntryReader",
    "EntryWriter",
    "KryoDialect",
    "KryoInput",
    "KryoVersion",
    "Nanoseconds",
    "NullableRest",
    "Patience",
    "Subclass",
    "UndescribableError",
    "arrow_type",
    "as_precise",
    "checked_nanoseconds",
    "collection_places",
    "described_class",
    "element_classes",
    "from_timestamp",
    "has_subclasses",
    "is_generic",
    "is_nullable_key",
    "is_precise",
    "kryo_class",
    "kryo_class_members",
    "kryo_classes_json",
    "kryo_classes_of",
    "mapped",
    "may_name_classes",
    "names_of",
    "notes",
    "plain_values",
    "pojo_columns",
    "precise_times",
    "precise_type",
    "seconds_and_nanos",
    "spark_type_name",
    "texts_of",
    "times_of_day",
    "timestamps_of",
    "to_precise",
    "to_timestamp",
    "unknown_class",
    "values_with",
    "visible_key_type",
    "with_new_names",
    "written_dialect",
    "zone_of",
]
