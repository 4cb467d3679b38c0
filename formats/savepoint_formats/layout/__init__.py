"""Layouts of the bytes of values: the treaty between serializer snapshots and columns.

A snapshot (which knows Java) returns a layout; the columns (which know Arrow) read and write by it.
A layout is a frozen tree of the nodes below: hashable, comparable and small to pickle. All numbers are
big endian, except in binary rows.

A null flag in front of a value is a node of its own, ``Nullable``. If an encoding has a null of its
own, the docstring of the node names it.
"""

from savepoint_formats.layout.composites import (
    BinaryArray,
    BinaryMap,
    BinaryRow,
    BlockMap,
    BlockRepeated,
    Framed,
    IndexedUnion,
    LogicalType,
    MapOf,
    MaskedRepeated,
    MaskedStruct,
    Nullable,
    NullCount,
    Packed,
    PackedTexts,
    Pojo,
    Repeated,
    Struct,
    Tagged,
    Ttl,
    Varying,
)
from savepoint_formats.layout.general import (
    FLINK_2_COLLECTIONS,
    JavaObject,
    Kryo,
    KryoClass,
    KryoField,
    KryoRegistration,
    NamedClass,
    Opaque,
    TypeArgument,
)
from savepoint_formats.layout.layout_facts import (
    VARIABLE,
    as_records,
    has_open_values,
    holds_kryo,
    nodes_of,
    parts,
    rebuilt,
    serializer_length,
    stream_record,
    timer_namespace,
    varying,
    with_kryo,
    with_kryo_classes,
    with_named_classes,
    with_open_objects,
    with_open_pojos,
    without_ttl,
    written_kryo,
)
from savepoint_formats.layout.node import Layout, node
from savepoint_formats.layout.plug_in_nodes import Coded, OfClass, ValueCodec
from savepoint_formats.layout.scala_nodes import CaseClass, Coproduct, OfScala, ScalaValue
from savepoint_formats.layout.single_values import (
    BigDecimal,
    BigInteger,
    Boolean,
    Byte,
    Bytes,
    Char,
    DecimalData,
    Double,
    Enum,
    FixedBytes,
    Float,
    Instant,
    Int,
    JavaDate,
    JavaUtf,
    LocalDate,
    LocalDateTime,
    LocalTime,
    Long,
    Marker,
    MutableText,
    Pickle,
    Short,
    SqlDate,
    SqlTime,
    SqlTimestamp,
    Text,
    TimerTimestamp,
    TimestampData,
    Utf8,
    Variant,
    VoidNamespace,
)
