"""The types of an operator of the new job: from a savepoint of the job, or from the plan of its query."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DatetimeType,
    DecimalType,
    MapType,
    NumericType,
    StringType,
    StructType,
)

from savepoint_extensions.spark_streams.stored_fields import quoted
from savepoint_formats.errors import ColumnTypeError
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files import StateKind
from savepoint_formats.values import ROW_KIND
from savepoint_spark.columns import spark_type
from savepoint_spark.writing import NewState, StoredTypes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from savepoint_database.snapshot import Operator
    from savepoint_formats.snapshots import TypeSerializerSnapshot

_MERGING_SET = "merging-window-set"
UNNAMED = re.compile(r"f\d+")
_FAMILIES = (NumericType, DatetimeType, StringType, BinaryType, BooleanType, ArrayType, MapType)
"""Values of one family could be those of another field of it."""


@runtime_checkable
class EmptyOperator(Protocol):
    """An operator of a plan, which knows the types of its state without a savepoint."""

    @property
    def uid(self) -> str:
        """Its uid."""

    def named_types(self, spark: SparkSession) -> StoredTypes:
        """The types of its keys, states and timers, with the names of the query's columns."""


@dataclass(frozen=True, slots=True)
class NewTypes:
    """The types of an operator of the new job: its key, and states and timers without columns."""

    name: str
    key: TypeSerializerSnapshot
    states: tuple[NewState, ...]

    @classmethod
    def of(cls, like: Operator | EmptyOperator, spark: SparkSession) -> Self:
        """The types of an operator of a savepoint, or of a plan."""
        if isinstance(like, EmptyOperator):
            types = like.named_types(spark)
            name, key = like.uid, types.key
        else:
            types = StoredTypes.of(like)
            name, key = like.name, like.written(types.key)
        return cls(name, key, tuple(NewState(info, None) for info in types.states))

    @property
    def timers(self) -> tuple[NewState, ...]:
        """The states of its timers."""
        return tuple(state for state in self.states if state.kind is StateKind.TIMERS)

    @property
    def values(self) -> tuple[NewState, ...]:
        """The states that columns can fill: neither timers nor the set of merging windows."""
        others = [state for state in self.states if state.kind is not StateKind.TIMERS]
        return tuple(state for state in others if state.name != _MERGING_SET)

    @property
    def has_windows(self) -> bool:
        """Whether a state is kept per window of time."""
        window = constructed.time_window().layout()
        spaces = (state.namespace for state in self.values)
        return any(space is not None and space.layout() == window for space in spaces)

    @property
    def key_type(self) -> DataType:
        """Spark's type of its keys."""
        return spark_type(self.key.layout())


@dataclass(frozen=True, slots=True)
class NamedField:
    """A field of a value; decimals that may lack their point are not ``is_scaled``."""

    name: str
    column: Column
    type: DataType
    is_scaled: bool = True

    @classmethod
    def of(cls, data: DataFrame, name: str, unscaled: Collection[str] = ()) -> Self:
        """A column of a table; ``unscaled`` has those that may lack the point of their decimals."""
        return cls(name, quoted([name])[0], data.schema[name].dataType, name not in unscaled)

    def flat(self) -> list[NamedField]:
        """The fields of a struct, or the field itself."""
        if not isinstance(self.type, StructType):
            return [self]
        return [
            NamedField(f"{self.name}_{it.name}", self.column.getField(it.name), it.dataType)
            for it in self.type
        ]

    def placed(self, wanted: DataType) -> Column:
        """Its values for a field of a type.

        Raises ``ColumnTypeError`` for decimals that may lack their point.
        """
        if isinstance(wanted, DecimalType) and not self.is_scaled:
            raise ColumnTypeError(
                f"{self.name} becomes {wanted.simpleString()}, and Spark stores sums of whole numbers and"
                " of decimals of few digits alike, without the point: name the type of the query's"
                f" column, as {self.name}='sum DECIMAL(5, 2)' or {self.name}='sum BIGINT'"
            )
        return self.column


def whole_value(fields: Sequence[NamedField], wanted: DataType, what: str, way: str = "") -> Column:
    """Columns as one value of a type: a column itself, or a struct of several.

    A row of SQL has its fields side by side, so a single column becomes a row, too, and a column that is a
    struct, such as ``sum`` and ``count`` of an average, becomes several fields.

    Raises ``ColumnTypeError`` if fields would go by position alone; see ``row_of``.
    """
    if not is_sql_row(wanted):
        return fields[0].placed(wanted) if len(fields) == 1 else row_of(fields, wanted, what, way)
    assert isinstance(wanted, StructType)  # as a row of SQL is
    if len(fields) != len(wanted) - 1:  # without the kind of the row
        fields = [inner for field in fields for inner in field.flat()]
    return row_of(fields, wanted, what, way)


def row_of(fields: Sequence[NamedField], wanted: DataType, what: str, way: str = "") -> Column:
    """Fields as a struct: by name if all have those of the job, in any order, else by position.

    A savepoint has the names of its plan only if it is loaded with it; f0, f1… of tuples are positions.

    Raises ``ColumnTypeError`` if neither names nor types tell the order, nor the user, who could by ``way``;
    or if the user says another order than the names.
    """
    plain = F.struct(*(it.column.alias(it.name) for it in fields))
    if not isinstance(wanted, StructType):
        return plain
    names = [name for name in wanted.names if name != ROW_KIND]
    # Names that differ by case alone are different ones if the job has them so.
    fold = str if sorted(names) == sorted(it.name for it in fields) else str.lower
    lower, own = [fold(name) for name in names], {fold(it.name): it for it in fields}
    is_unnamed = all(map(UNNAMED.fullmatch, names))
    has_names = len(fields) == len(names) and sorted(own) == sorted(lower)
    both = (
        f"{what} has the fields {', '.join(it.name for it in fields)}, and the new job calls them"
    )
    if has_names and not is_unnamed:
        if not way and is_sql_row(wanted) and [*own] != lower:
            raise ColumnTypeError(
                f"{both} {', '.join(names)}: the order that you say contradicts the names. Say theirs, or"
                " give the columns other names in a table of the query, and import that in Python"
            )
        fields = [own[name] for name in lower]
    elif len(fields) != len(names) or not (is_sql_row(wanted) or is_unnamed):
        return plain  # which does not fit, as the writer says
    elif way and [*own] != lower:
        types = [it.type for it in fields], [wanted[name].dataType for name in names]
        if any(len({*map(_family, each)}) < len(each) for each in types):
            raise ColumnTypeError(
                f"{both} {', '.join(names)}: by position alone, fields of one type may be swapped. {way}"
            )
    pairs = zip(fields, names, strict=True)
    return F.struct(*(it.placed(wanted[name].dataType).alias(name) for it, name in pairs))


def _family(data_type: DataType) -> type[DataType]:
    return next((it for it in _FAMILIES if isinstance(data_type, it)), type(data_type))


def is_sql_row(data_type: DataType) -> bool:
    """Whether a type is that of a row of SQL, which has a kind."""
    return isinstance(data_type, StructType) and ROW_KIND in data_type.names
