"""Changes of the values of a state: other values, other or fewer fields."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from savepoint_database.types import TypeInformation, parse_type
from savepoint_formats.errors import FieldNotFoundError, SchemaChangeError, within
from savepoint_formats.printable import alternatives
from savepoint_formats.snapshots import (
    Edit,
    StructEdit,
    added_field,
    edited_by_names,
    is_row,
    parse_logical_type,
    retyped_field,
    row_data,
    shown_names,
)
from savepoint_formats.state_files import StateKind
from savepoint_spark.changing import type_at
from savepoint_spark.columns import fits, fitting, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import State
    from savepoint_spark.changing import ChangedOperator, ChangedTable
    from state_processor.savepoint.writer import SavepointWriter


@dataclass(frozen=True)
class ValueChanges:
    """The values of a state, by its present name; each method returns a writer of changed ones.

    Without a session only the types of fields can change.
    """

    writer: SavepointWriter
    spark: SparkSession | None
    uid: str
    name: str

    def with_values(
        self,
        expression: Column | str,
        where: Column | str | None,
        last_access: Column | str | None,
    ) -> SavepointWriter:
        """See ``StateChanges.update_state``."""
        new = F.expr(expression) if isinstance(expression, str) else expression
        condition = F.expr(where) if isinstance(where, str) else where
        times = F.expr(last_access) if isinstance(last_access, str) else last_access
        return self._changed(lambda table, state: table.with_values(state, new, condition, times))

    def with_field(
        self,
        name: str,
        field_type: TypeInformation | str,
        value: Column | Any,
        before: str | None,
    ) -> SavepointWriter:
        """See ``StateChanges.add_field``."""
        place: list[int] = []

        def edit(values: TypeSerializerSnapshot, path: str) -> StructEdit:
            serializer = _serializer(values, path, field_type)
            is_sql = is_row(values, path)
            if value is None and is_sql and not parse_logical_type(str(field_type)).is_nullable:
                raise SchemaChangeError(
                    f"field {name!r} of {field_type} cannot be null: give a value"
                )
            return added_field(values, path, serializer, *place)

        def placed(values: TypeSerializerSnapshot, path: str) -> None:
            names = shown_names(values, path)
            if before is not None and before not in names:
                raise FieldNotFoundError(
                    f"no field {before!r} has a place in a row of the query; {alternatives(before, names)}"
                )
            place[:] = [] if before is None else [names.index(before)]

        new = {}
        if value is not None:
            column = value if isinstance(value, Column) else F.lit(value)
            new[name.rpartition(".")[2]] = column
        return self.edited(name, edit, new, placed)

    def with_widened_field(self, name: str, field_type: TypeInformation | str) -> SavepointWriter:
        """See ``StateChanges.widen_field``."""

        def edit(values: TypeSerializerSnapshot, path: str) -> StructEdit:
            widened = retyped_field(values, path, _serializer(values, path, field_type))
            last = path.rpartition(".")[2]
            before = _field_type(replace(widened, snapshot=values), last)
            after = _field_type(widened, last)
            if not fits(before, after):
                raise SchemaChangeError(
                    f"field {name!r} of state {self.name!r} is {before.simpleString()}, and"
                    f" {after.simpleString()} does not hold all values of it: add a field, and drop this one"
                )
            return widened

        return self.edited(name, edit)

    def edited(
        self,
        path: str,
        edit: Edit,
        new: Mapping[str, Column] | None = None,
        check: Callable[[TypeSerializerSnapshot, str], None] | None = None,
    ) -> SavepointWriter:
        """The writer with other fields of the values; ``new`` has the values of new ones.

        ``check`` looks at the place of a new field.
        """

        def change(table: ChangedTable, state: State) -> ChangedTable:
            with within(f"state {self.name!r}", f"operator {table.operator.name}"):
                stored = table.snapshot(state)
                if check is not None:
                    check(stored, path)
                edited = edited_by_names(stored, path, edit, adds=check is not None)
            values = {
                name: _fitted(table.data(), column, _field_type(edited, name), name)
                for name, column in (new or {}).items()
            }
            return table.with_fields(state, edited, values)

        return self._changed(change)

    def _changed(self, change: Callable[[ChangedTable, State], ChangedTable]) -> SavepointWriter:
        def changed(operator: ChangedOperator) -> ChangedOperator:
            state = operator.state(self.name)
            if state.kind is StateKind.TIMERS:
                raise SchemaChangeError(
                    f"state {self.name!r} holds timers, which have no values: delete their keys, or"
                    " write them anew"
                )
            table = operator.table_of(self.spark, state)
            shown = table.shown(**self.writer.forms.options())
            return operator.with_table(change(shown, state))

        return self.writer.changed(self.uid, changed)


def _field_type(edit: StructEdit, name: str) -> DataType:
    return type_at(spark_type(edit.snapshot.layout()), (*edit.steps, name))


def _fitted(data: DataFrame, column: Column, wanted: DataType, name: str) -> Column:
    data_type = data.select(column.alias(name)).schema[name].dataType
    return fitting(column, data_type, wanted, f"the value of field {name!r}", "its type")


def _serializer(
    state: TypeSerializerSnapshot, name: str, field_type: TypeInformation | str
) -> TypeSerializerSnapshot:
    """The serializer of a new field, as ``added_field`` takes it."""
    if is_row(state, name):
        if not isinstance(field_type, str):
            raise TypeError(f"field {name!r} of a row of SQL needs a type in words: 'BIGINT'")
        return row_data([parse_logical_type(field_type)])
    if isinstance(field_type, str):
        return parse_type(field_type).snapshot
    if not isinstance(field_type, TypeInformation):
        raise TypeError(f"field {name!r} needs a type such as Types.LONG(), not {field_type!r}")
    return field_type.snapshot
