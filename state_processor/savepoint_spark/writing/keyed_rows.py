"""Rows of a DataFrame, the keyed states that they become, and the job that encodes them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from savepoint_formats.errors import ColumnTypeError
from savepoint_formats.layout import Int
from savepoint_formats.python_state.stored_forms import KEY_FIELD, python_key
from savepoint_formats.values.arrow_types import ROW_KIND, ROW_KINDS
from savepoint_spark.columns.column_types import column_of, fits, fitted, spark_type
from savepoint_spark.session.task_errors import typed_errors
from savepoint_spark.writing.handed_runs import RunSource
from savepoint_spark.writing.run_encoding import KEY, KEY_GROUP, NAMESPACE, RunEncoding, StateColumn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Column, DataFrame, Row

    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_spark.writing.new_state import NewState


@dataclass(frozen=True)
class Key:
    """The key of rows; several columns are the fields of a tuple."""

    columns: tuple[str, ...]
    snapshot: TypeSerializerSnapshot
    key_groups: str | None = None
    hash_code: HashKeys | None = None

    def column(self, data: DataFrame) -> Column:
        """The keys, cast to their type."""
        layout = self.snapshot.layout()
        if len(self.columns) == 1 and (inner := python_key(layout)) is not None:
            own = fitted(data, self.columns[0], inner, "the key")
            return F.struct(own.alias(KEY_FIELD), F.lit(ROW_KINDS[0]).alias(ROW_KIND))
        if len(self.columns) == 1:
            return fitted(data, self.columns[0], layout, "the key")
        target = spark_type(layout)
        assert isinstance(target, StructType)  # several columns are the fields of a tuple
        fields = [column_of(data, name) for name in self.columns]
        names = [field.name for field in target]
        whole = F.struct(
            *(key_column.alias(name) for (key_column, _), name in zip(fields, names, strict=True))
        )
        for (_, data_type), field, name in zip(fields, target, self.columns, strict=True):
            if not fits(data_type, field.dataType):
                raise ColumnTypeError(
                    f"column {name!r} is {data_type.simpleString()}, but the key takes"
                    f" {field.dataType.simpleString()}: cast it first"
                )
        return whole.cast(target)


@dataclass(frozen=True)
class KeyedRows:
    """Rows of a DataFrame and their states; ``is_keyed_once`` allows a key only one row."""

    data: DataFrame
    key: Key
    states: tuple[NewState, ...]
    namespace: tuple[Column, TypeSerializerSnapshot] | None = None
    is_keyed_once: bool = True

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``."""
        columns, encoding = self.encoded_columns(ids, max_parallelism)
        selected = self.data.select(*(column.alias(name) for name, column in columns.items()))
        return RunSource(selected, encoding.run)

    def encoded_columns(
        self, ids: Mapping[str, int], max_parallelism: int
    ) -> tuple[dict[str, Column], RunEncoding]:
        """The columns to encode, by the names that the encoding knows."""
        states, columns = [], dict(self.of_keys())
        now_ms = time.time_ns() // 1_000_000
        for state in self.states:
            number = ids[state.name]
            values, times = state.values(self.data), state.times(self.data, now_ms)
            if values is None:
                continue
            columns[f"values {number}"] = values
            if times is not None:
                columns[f"times {number}"] = times
            states.append(
                StateColumn(
                    state.name,
                    number,
                    state.kind,
                    state.stored_in(self.data),
                    state.has_namespace,
                    f"values {number}",
                    None if times is None else f"times {number}",
                )
            )
        return columns, self._encoding(tuple(states), max_parallelism)

    def of_keys(self) -> Iterator[tuple[str, Column]]:
        """The columns that tell rows apart, and the key groups if they are given."""
        yield KEY, self.key.column(self.data)
        if self.namespace is not None:
            yield NAMESPACE, self.namespace[0]
        if self.key.key_groups is not None:
            yield KEY_GROUP, fitted(self.data, self.key.key_groups, Int(), "the key group")

    def _encoding(self, states: tuple[StateColumn, ...], max_parallelism: int) -> RunEncoding:
        return RunEncoding(
            self.key.snapshot.layout(),
            None if self.namespace is None else self.namespace[1].layout(),
            max_parallelism,
            states,
            self.key.hash_code,
            self.key.key_groups is not None,
            self.is_keyed_once,
        )

    def duplicates(self, limit: int) -> list[Row]:
        if not self.is_keyed_once:
            return []
        return self.repeated({}, limit)

    def repeated(self, others: Mapping[str, Column], limit: int) -> list[Row]:
        """Some of the keys that have several rows with equal values of other columns."""
        keys = {name: column for name, column in self.of_keys() if name != KEY_GROUP}
        columns = {**others, **keys}
        rows = self.data.select(*(column.alias(name) for name, column in columns.items()))
        counted = rows.groupBy(*columns).count()
        with typed_errors():
            return counted.where("count > 1").drop("count").limit(limit).collect()
