"""Nodes that hold other nodes."""

from __future__ import annotations

from dataclasses import field

from savepoint_formats.layout.general import KryoField, Opaque
from savepoint_formats.layout.node import Layout, node
from savepoint_formats.layout.single_values import Variant


@node
class LogicalType:
    """A SQL type; the layout of binary rows and arrays follows from it.

    Attributes:
        root: The constant of ``LogicalTypeRoot``: ``BIGINT``, ``VARCHAR``, ``ROW``...
        length: Length of CHAR, VARCHAR, BINARY and VARBINARY.
        precision: Digits of DECIMAL, fractional digits of times and timestamps.
        names: Field names of ROW and STRUCTURED_TYPE.
        children: Fields of rows, element of ARRAY and MULTISET, key and value of MAP, source of
            DISTINCT_TYPE.
        class_name: Class of RAW and STRUCTURED_TYPE, if it is known.
        raw: Layout of RAW, if the type tells it.
        kind: Kind of timestamps; rows have null in a column of ``PROCTIME``, even if it is not null.
            For STRUCTURED_TYPE, its comparison: ``NONE`` before Flink 2.1, then ``EQUALS``.
    """

    root: str
    is_nullable: bool = True
    length: int = 0
    precision: int = 0
    scale: int = 0
    names: tuple[str, ...] = ()
    children: tuple[LogicalType, ...] = ()
    class_name: str = ""
    raw: Layout | None = None
    kind: str = field(default="REGULAR", compare=False, repr=False)

    @property
    def embedded(self) -> Layout | None:
        """The layout of values that another serializer writes into a row; None for other types."""
        match self.root:
            case "RAW":
                return self.raw or Opaque(self.class_name, "a RAW value of SQL")
            case "VARIANT":
                return Variant(in_row=True)
            case _:
                return None


@node
class BinaryRow(Layout):
    """A ``BinaryRowData``: kind byte and null bits, an 8-byte slot per field, variable part."""

    names: tuple[str, ...]
    types: tuple[LogicalType, ...]


@node
class BinaryArray(Layout):
    """A ``BinaryArrayData``: count, null bits, elements, variable part."""

    element: LogicalType


@node
class BinaryMap(Layout):
    """A ``BinaryMapData``: i32 size of the key array, key array, value array."""

    key: LogicalType
    value: LogicalType


@node
class Nullable(Layout):
    """A flag byte, then the value if there is one.

    A flag of 1 means null if ``is_null``, else present. ``padding`` zero bytes follow a null.
    """

    inner: Layout
    is_null: bool = True
    padding: int = 0


@node
class Repeated(Layout):
    """i32 count, then the elements.

    A Java array (``is_array``) has another hash code than a list with the same bytes. The elements
    of a set (``is_set``) come in any order.
    """

    element: Layout
    is_array: bool = False
    is_set: bool = False


@node
class MaskedRepeated(Layout):
    """i32 count, a null bit per element (first = highest bit), then the elements not null."""

    element: Layout


@node
class PackedTexts(Layout):
    """i32 count, i32 size of the rest, then each text as ``MutableText``."""


@node
class NullCount(Layout):
    """i32 count of nulls, and nothing else."""


@node
class MapOf(Layout):
    """i32 count, then key and value of each entry, in the order of the Java map."""

    key: Layout
    value: Layout


@node
class Struct(Layout):
    """The fields, one after the other."""

    names: tuple[str, ...]
    fields: tuple[Layout, ...]


@node
class MaskedStruct(Layout):
    """Mask bits, first = highest, in whole bytes; then the fields that are not null.

    With ``has_kind`` two bits of the row kind (low, high) precede a null bit per field.
    """

    names: tuple[str, ...]
    fields: tuple[Layout, ...]
    has_kind: bool


@node
class Tagged(Layout):
    """u8 tag, then the alternative of that tag. One column per alternative; all but one are null.

    ``length`` is the size that the serializer claims; see ``serializer_length``.
    """

    tags: tuple[int, ...]
    names: tuple[str, ...]
    fields: tuple[Layout, ...]
    length: int = -1


@node
class Pojo(Layout):
    """u8 flags, then by flag: 1 null; 2 the fields; 4 or 8 a value of a subclass.

    4 precedes the subclass' name (u16 size, modified UTF-8), 8 its u8 index in ``registered``; then
    comes the value in the subclass' own layout, with its own flags. All fields are ``Nullable``.

    Readers of an open POJO see undecodable bytes instead of an error. ``declared`` has all types that
    each field may be declared as; empty if they are not known.
    """

    class_name: str
    names: tuple[str, ...]
    fields: tuple[Layout, ...]
    registered: tuple[tuple[str, Layout], ...] = ()
    unregistered: tuple[tuple[str, Layout], ...] = ()
    is_open: bool = False
    declared: tuple[tuple[KryoField, ...], ...] = field(default=(), compare=False, repr=False)


@node
class Ttl(Layout):
    """i64 time of the last access in milliseconds since the epoch, then the value."""

    value: Layout


@node
class Framed(Layout):
    """i32 size, then exactly one value of that size."""

    inner: Layout


@node
class Packed(Layout):
    """Elements, one after the other, up to the end of the ``Framed`` value around them.

    With ``is_single`` there is exactly one, which has no list around it.
    """

    element: Layout
    is_single: bool = False


@node
class Varying(Layout):
    """The bytes of ``inner``, by a serializer that claims varying sizes.

    Avro's serializer does so, like serializers of classes that write themselves. The claim changes
    how keys are stored; see ``serializer_length``.
    """

    inner: Layout


# --- Avro, as Flink writes it


@node
class BlockRepeated(Layout):
    """Blocks of varint count and elements, up to a count of 0."""

    element: Layout


@node
class BlockMap(Layout):
    """Blocks of varint count and entries, up to a count of 0; keys are ``Utf8``."""

    value: Layout


@node
class IndexedUnion(Layout):
    """i32 index of the branch, then its value."""

    names: tuple[str, ...]
    branches: tuple[Layout, ...]
