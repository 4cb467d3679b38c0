"""Types of new state, with PyFlink's names.

A type wraps the serializer snapshot that Flink writes for it, which determines the bytes and the
columns of values.

One table has the names for ``Types``, for types as text, and for the types of keys. Its Spark
types are for readers; a test compares them with those of the snapshots.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.layout import Opaque
from savepoint_formats.metadata import is_flink_2, release
from savepoint_formats.snapshots import (
    ClosedValues,
    WrittenKryo,
    constructed,
    named_row,
    parse_logical_type,
    row_data,
)
from savepoint_formats.values import OBJECT_TYPE, KryoVersion, arrow_type, spark_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from savepoint_formats.layout import KryoClass, Layout
    from savepoint_formats.snapshots import TypeSerializerSnapshot


@dataclass(frozen=True, slots=True)
class PlainType:
    """A type without inner types: its serializer's snapshot, and the type of its values in Spark.

    ``is_of_keys`` says whether keys in such a Spark column most likely have this type.
    """

    make: Callable[[], TypeSerializerSnapshot]
    column: str
    is_of_keys: bool = False


@dataclass(frozen=True, slots=True)
class CompoundType:
    """A type with ``count`` inner types; ``make`` takes the snapshots of their serializers."""

    make: Callable[..., TypeSerializerSnapshot]
    count: int = 1


PLAIN_TYPES = {
    "STRING": PlainType(constructed.string, "STRING", is_of_keys=True),
    "CHAR": PlainType(constructed.char, "STRING"),
    "BOOLEAN": PlainType(constructed.boolean, "BOOLEAN", is_of_keys=True),
    "BYTE": PlainType(constructed.byte, "TINYINT", is_of_keys=True),
    "SHORT": PlainType(constructed.short, "SMALLINT", is_of_keys=True),
    "INT": PlainType(constructed.integer, "INT", is_of_keys=True),
    "LONG": PlainType(constructed.long, "BIGINT", is_of_keys=True),
    "FLOAT": PlainType(constructed.single, "FLOAT", is_of_keys=True),
    "DOUBLE": PlainType(constructed.double, "DOUBLE", is_of_keys=True),
    "BIG_INT": PlainType(constructed.big_int, "STRING"),
    "BIG_DEC": PlainType(constructed.big_dec, "STRING"),
    "DATE": PlainType(constructed.date, "TIMESTAMP"),
    "SQL_DATE": PlainType(constructed.sql_date, "TIMESTAMP"),
    "SQL_TIME": PlainType(constructed.sql_time, "TIMESTAMP"),
    "SQL_TIMESTAMP": PlainType(constructed.sql_timestamp, "TIMESTAMP"),
    "INSTANT": PlainType(constructed.instant, "TIMESTAMP"),
    "LOCAL_DATE": PlainType(constructed.local_date, "DATE"),
    "LOCAL_TIME": PlainType(constructed.local_time, "STRING"),
    "LOCAL_DATE_TIME": PlainType(constructed.local_date_time, "TIMESTAMP_NTZ"),
    "VARIANT": PlainType(
        constructed.variant, "STRUCT<json: STRING, metadata: BINARY, value: BINARY>"
    ),
    "VOID": PlainType(constructed.void, "VOID"),
    "TIME_WINDOW": PlainType(constructed.time_window, "STRUCT<start: BIGINT, end: BIGINT>"),
    "GLOBAL_WINDOW": PlainType(constructed.global_window, "VOID"),
}

COMPOUND_TYPES = {
    "LIST": CompoundType(constructed.list_of),
    "SET": CompoundType(constructed.set_of),
    "NULLABLE": CompoundType(constructed.nullable),
    "PRIMITIVE_ARRAY": CompoundType(constructed.primitive_array),
    "BASIC_ARRAY": CompoundType(constructed.basic_array),
    "MAP": CompoundType(constructed.map_of, 2),
    "EITHER": CompoundType(constructed.either, 2),
}


@dataclass(frozen=True, slots=True, repr=False)
class TypeInformation:
    """The type of a state, a key or a namespace.

    Attributes:
        snapshot: Snapshot of its serializer.
        expression: The call that makes the type, or a description of it.
    """

    snapshot: TypeSerializerSnapshot
    expression: str = field(compare=False)

    def __repr__(self) -> str:
        return self.expression

    @classmethod
    def of(cls, snapshot: TypeSerializerSnapshot) -> TypeInformation:
        """The type of an existing state, by the snapshot of its serializer."""
        name = spark_type_name(arrow_type(snapshot.layout()))
        serializer = snapshot.class_name.rpartition(".")[2].rpartition("$")[2]
        return cls(snapshot, f"<{serializer.removesuffix('Snapshot')} of {name}>")

    @property
    def layout(self) -> Layout:
        """Layout of its values."""
        return self.snapshot.layout()

    @property
    def arrow_type(self) -> pa.DataType:
        """Arrow type of a column."""
        return arrow_type(self.layout)

    @property
    def spark_type(self) -> str:
        """Type of a column in Spark's DDL: ``MAP<STRING, BIGINT>``."""
        return spark_type_name(self.arrow_type)


def _plain_type(name: str) -> TypeInformation:
    return TypeInformation(PLAIN_TYPES[name].make(), f"Types.{name}()")


def _compound(name: str, *parts: TypeInformation) -> TypeInformation:
    snapshots = [expect_type(part).snapshot for part in parts]
    expression = f"Types.{name}({', '.join(map(repr, parts))})"
    return TypeInformation(COMPOUND_TYPES[name].make(*snapshots), expression)


def expect_type(value: object, what: str = "") -> TypeInformation:
    """The value, or ``TypeError`` if it is not a type; ``what`` names its owner."""
    if isinstance(value, TypeInformation):
        return value
    name = getattr(value, "__qualname__", "").removeprefix("Types.")
    if isinstance(value, partial) and value.func is _plain_type:
        name = value.args[0]
    if isinstance(value, str):
        name = value.upper()
    is_known = name.isupper() and hasattr(Types, name)
    is_call = is_known and not isinstance(value, str)
    given = f"Types.{name}" if is_call else "a " + type(value).__name__
    call = f"Types.{name}()" if name in PLAIN_TYPES else f"Types.{name}(…)"
    expected = call if is_known else "Types.LONG()"
    where = f"{what}: " if what else ""
    raise TypeError(f"{where}{given} is no type, expected a call such as {expected}")


def _plain(name: str) -> staticmethod[[], TypeInformation]:
    return staticmethod(partial(_plain_type, name))


class Types:
    """Types for new state.

    | type                              | column in Spark                                   |
    |-----------------------------------|---------------------------------------------------|
    | STRING, CHAR                      | STRING                                            |
    | BOOLEAN                           | BOOLEAN                                           |
    | BYTE, SHORT, INT, LONG            | TINYINT, SMALLINT, INT, BIGINT                    |
    | FLOAT, DOUBLE                     | FLOAT, DOUBLE                                     |
    | BIG_INT, BIG_DEC                  | STRING: they have no bounds                       |
    | DATE, of ``java.util``            | TIMESTAMP                                         |
    | SQL_DATE, SQL_TIME, SQL_TIMESTAMP | TIMESTAMP, as Java keeps them                     |
    | INSTANT, LOCAL_DATE_TIME          | TIMESTAMP, TIMESTAMP_NTZ                          |
    | LOCAL_DATE, LOCAL_TIME            | DATE, STRING                                      |
    | VOID; VARIANT, of Flink 2.x       | VOID; STRUCT of json, metadata and value          |
    | ENUM                              | STRING, the constant's name                       |
    | PRIMITIVE_ARRAY                   | ARRAY; of BYTE: BINARY                            |
    | BASIC_ARRAY, OBJECT_ARRAY         | ARRAY                                             |
    | LIST, SET; MAP                    | ARRAY; MAP                                        |
    | TUPLE; ROW, ROW_NAMED; POJO       | STRUCT                                            |
    | EITHER                            | STRUCT of left and right, one of which is null    |
    | ROW_DATA                          | STRUCT                                            |
    | AVRO                              | that of its schema                                |
    | KRYO                              | STRUCT, or the column of a class of the JDK       |
    | NULLABLE                          | that of the inner type                            |
    | custom, of a plug-in              | that of its codec or layout                       |
    | TIME_WINDOW; GLOBAL_WINDOW        | STRUCT of start and end; VOID                     |

    Example:
        >>> Types.MAP(Types.STRING(), Types.LIST(Types.LONG()))
    """

    STRING = _plain("STRING")
    BOOLEAN = _plain("BOOLEAN")
    BYTE = _plain("BYTE")
    SHORT = _plain("SHORT")
    INT = _plain("INT")
    LONG = _plain("LONG")
    FLOAT = _plain("FLOAT")
    DOUBLE = _plain("DOUBLE")
    CHAR = _plain("CHAR")
    BIG_INT = _plain("BIG_INT")
    BIG_DEC = _plain("BIG_DEC")
    SQL_DATE = _plain("SQL_DATE")
    SQL_TIME = _plain("SQL_TIME")
    SQL_TIMESTAMP = _plain("SQL_TIMESTAMP")
    INSTANT = _plain("INSTANT")
    LOCAL_DATE = _plain("LOCAL_DATE")
    LOCAL_TIME = _plain("LOCAL_TIME")
    LOCAL_DATE_TIME = _plain("LOCAL_DATE_TIME")
    DATE = _plain("DATE")
    VARIANT = _plain("VARIANT")
    VOID = _plain("VOID")
    TIME_WINDOW = _plain("TIME_WINDOW")
    GLOBAL_WINDOW = _plain("GLOBAL_WINDOW")

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """An array of a primitive of Java, such as ``long[]``."""
        return _compound("PRIMITIVE_ARRAY", element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """An array of a box of Java or of strings, such as ``Long[]``; elements may be null."""
        return _compound("BASIC_ARRAY", element_type)

    @staticmethod
    def OBJECT_ARRAY(
        element_type: TypeInformation, component_class: str | None = None
    ) -> TypeInformation:
        """An array of objects of this Java class; elements may be null.

        Of strings and boxes Flink's ``Types.OBJECT_ARRAY`` needs no class: it is ``BASIC_ARRAY``.
        """
        if component_class is None:
            return _compound("BASIC_ARRAY", element_type)
        snapshot = constructed.object_array(component_class, expect_type(element_type).snapshot)
        return TypeInformation(
            snapshot, f"Types.OBJECT_ARRAY({element_type!r}, {component_class!r})"
        )

    @staticmethod
    def LIST(element_type: TypeInformation) -> TypeInformation:
        """A ``java.util.List``."""
        return _compound("LIST", element_type)

    @staticmethod
    def SET(element_type: TypeInformation) -> TypeInformation:
        """A ``java.util.Set``, which only Flink 2.x restores."""
        return _compound("SET", element_type)

    @staticmethod
    def MAP(key_type: TypeInformation, value_type: TypeInformation) -> TypeInformation:
        """A ``java.util.Map``; values may be null."""
        return _compound("MAP", key_type, value_type)

    @staticmethod
    def NULLABLE(value_type: TypeInformation) -> TypeInformation:
        """A value that may be null, with a flag in front."""
        return _compound("NULLABLE", value_type)

    @staticmethod
    def EITHER(left_type: TypeInformation, right_type: TypeInformation) -> TypeInformation:
        """Flink's ``Either``."""
        return _compound("EITHER", left_type, right_type)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation]) -> TypeInformation:
        """A tuple of up to 25 fields, none of which is null."""
        snapshots = [expect_type(field_type).snapshot for field_type in field_types]
        return TypeInformation(constructed.tuple_of(snapshots), f"Types.TUPLE({list(field_types)})")

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation]) -> TypeInformation:
        """A ``Row`` whose columns are ``f0``, ``f1``...; fields may be null."""
        snapshots = [expect_type(field_type).snapshot for field_type in field_types]
        return TypeInformation(constructed.row_of(snapshots), f"Types.ROW({list(field_types)})")

    @staticmethod
    def ROW_NAMED(
        field_names: Sequence[str], field_types: Sequence[TypeInformation]
    ) -> TypeInformation:
        """A ``Row`` whose columns have names, which the savepoint does not store."""
        row = Types.ROW(field_types)
        return TypeInformation(
            named_row(row.snapshot, field_names),
            f"Types.ROW_NAMED({list(field_names)}, {list(field_types)})",
        )

    @staticmethod
    def ROW_DATA(fields: Sequence[tuple[str, str]]) -> TypeInformation:
        """A row of Flink SQL: names, which the savepoint does not store, and SQL types.

        Example:
            >>> Types.ROW_DATA([("id", "BIGINT NOT NULL"), ("tags", "ARRAY<STRING>")])
        """
        row = row_data([parse_logical_type(text) for _, text in fields])
        return TypeInformation(
            named_row(row, [name for name, _ in fields]), f"Types.ROW_DATA({list(fields)})"
        )

    @staticmethod
    def POJO(class_name: str, field_types: Mapping[str, TypeInformation]) -> TypeInformation:
        """A POJO: the Java class, and the types of its fields, which may be null."""
        snapshots = {name: expect_type(given).snapshot for name, given in field_types.items()}
        return TypeInformation(
            constructed.pojo(class_name, snapshots),
            f"Types.POJO({class_name!r}, {dict(field_types)})",
        )

    @staticmethod
    def AVRO(
        schema: str, class_name: str = "org.apache.avro.generic.GenericRecord"
    ) -> TypeInformation:
        """Records of Avro: the schema as JSON, and the class of a generated record.

        Raises:
            ValueError: The schema can't be read.
        """
        snapshot = constructed.avro(class_name, schema)
        if isinstance(snapshot.layout(), Opaque):
            raise ValueError(f"a schema that can't be read: {snapshot.layout()!r}")
        return TypeInformation(snapshot, f"Types.AVRO({schema!r}, {class_name!r})")

    @staticmethod
    def KRYO(
        class_name: str, *classes: KryoClass, flink: str, registered: Sequence[str] = ()
    ) -> TypeInformation:
        """A class that Flink gives to Kryo, like all classes that are not POJOs.

        Args:
            class_name: The class of the state's type.
            classes: Results of ``kryo_class`` for it and for the classes of its fields. A final class of
                the JDK that has a column of its own, such as ``java.util.UUID``, needs none.
            flink: The release of Flink that restores the state: 1.x and 2.x have different versions
                        of Kryo, and neither detects the other's bytes.
            registered: The classes that the job registers, in its order.

        Raises:
            ValueError: No class describes the values, or there is no such Flink.

        Example:
            >>> order = kryo_class("com.acme.Order", {"id": "long", "since": "java.time.Instant"})
            >>> Types.KRYO("com.acme.Order", order, flink="2.2")
        """
        version = KryoVersion.V5_6 if is_flink_2(release(flink)) else KryoVersion.V2_24
        snapshot = constructed.kryo(class_name, registered)
        whole = replace(snapshot, shown=WrittenKryo(tuple(classes), version.value, is_open=False))
        if arrow_type(whole.layout()) == OBJECT_TYPE:
            raise ValueError(
                f"the content of a {class_name} is unknown: describe it by kryo_class({class_name!r},"
                " {…}); a collection is written as the field of a class"
            )
        described = "".join(f", {known!r}" for known in classes)
        return TypeInformation(whole, f"Types.KRYO({class_name!r}{described}, flink={flink!r})")

    @staticmethod
    def custom(
        snapshot_class: str, *nested: TypeInformation, version: int | None = None, **fields: object
    ) -> TypeInformation:
        """A type whose serializer a plug-in knows.

        Args:
            snapshot_class: The class of the serializer's snapshot, as the plug-in registers it.
            nested: Types of the nested serializers of a composite.
            version: Version of the snapshot; the newest that the plug-in knows by default.
            fields: Values of the other fields of the snapshot's body, by name.

        Raises:
            MissingPackageError: No plug-in knows the class.
            ValueError: The body has other fields.

        Example:
            >>> Types.custom("com.acme.MoneySerializer$MoneySerializerSnapshot")
        """
        parts = [expect_type(part).snapshot for part in nested]
        snapshot = constructed.custom(snapshot_class, parts, dict(fields), version)
        arguments = [repr(snapshot_class), *map(repr, nested)]
        arguments += [f"version={version}"] if version is not None else []
        arguments += [f"{name}={value!r}" for name, value in fields.items()]
        return TypeInformation(
            replace(snapshot, shown=ClosedValues()), f"Types.custom({', '.join(arguments)})"
        )

    @staticmethod
    def ENUM(class_name: str, constants: Sequence[str]) -> TypeInformation:
        """An enum: the Java class and its constants, in the order of their declaration."""
        return TypeInformation(
            constructed.enum_of(class_name, constants),
            f"Types.ENUM({class_name!r}, {list(constants)})",
        )
