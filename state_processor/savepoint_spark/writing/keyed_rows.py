"""States that will be written, the columns with their values, and the job that encodes rows of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StructType

from savepoint_formats.errors import ColumnTypeError
from savepoint_formats.layout import Int, Long, VoidNamespace, as_records, without_ttl
from savepoint_formats.python_state.stored_forms import KEY_FIELD, python_key
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files import (
    KEYED_STATE_TYPE,
    NAMESPACE_SERIALIZER,
    VALUE_SERIALIZER,
    BackendStateType,
    KeyedStateType,
    StateKind,
    StateMetaInfo,
)
from savepoint_formats.values import ROW_KIND, ROW_KINDS
from savepoint_spark.columns import column_of, fits, fitted, fitting, shown_layout, spark_type
from savepoint_spark.session.tasks import typed_errors
from savepoint_spark.writing.run_encoding import KEY, KEY_GROUP, NAMESPACE, RunEncoding, StateColumn
from savepoint_spark.writing.shuffled_runs import RunSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Column, DataFrame, Row

    from savepoint_database.types import StateDescriptor
    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.layout import Layout
    from savepoint_formats.snapshots import TypeSerializerSnapshot

# Flink: InternalTimeServiceManagerImpl.
_TIMERS = "_timer_state/"


@dataclass(frozen=True)
class NewState:
    """A state, and the column with its values; timers that are not set need none.

    ``last_access`` is the column of the times of last access, of a state with TTL.
    """

    info: StateMetaInfo
    column: str | None
    last_access: str | None = None

    @classmethod
    def of(
        cls,
        descriptor: StateDescriptor,
        column: str,
        last_access: str | None,
        namespace: TypeSerializerSnapshot | None = None,
    ) -> Self:
        kind = KeyedStateType[descriptor.kind.name]
        void = constructed.void_namespace()
        info = StateMetaInfo.of_keys(descriptor.name, kind, namespace or void, descriptor.stored)
        return cls(info, column, last_access)

    @classmethod
    def of_timers(
        cls,
        service: str,
        domain: str,
        column: str | None,
        key: TypeSerializerSnapshot,
        namespace: TypeSerializerSnapshot,
    ) -> Self:
        """The timers of a service in one time domain: ``event`` or ``processing``."""
        timer = constructed.timer(key, namespace)
        return cls(StateMetaInfo.of_timers(f"{_TIMERS}{domain}_{service}", timer), column)

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def kind(self) -> StateKind:
        if self.info.type is BackendStateType.PRIORITY_QUEUE:
            return StateKind.TIMERS
        return StateKind[self.info.option(KEYED_STATE_TYPE)]

    @property
    def stored(self) -> Layout:
        """The layout of its serializer."""
        snapshot = self.info.serializer(VALUE_SERIALIZER)
        assert snapshot is not None  # every state has one
        return snapshot.layout()

    @property
    def namespace(self) -> TypeSerializerSnapshot | None:
        """The serializer of its namespaces; None for the void one."""
        snapshot = self.info.serializer(NAMESPACE_SERIALIZER)
        if self.kind is StateKind.TIMERS:
            timer = self.info.serializer(VALUE_SERIALIZER)
            # Flink: TimerSerializerSnapshot nests the serializers of key and namespace.
            snapshot = timer.nested[1] if timer is not None and len(timer.nested) > 1 else None
        return (
            None if snapshot is None or isinstance(snapshot.layout(), VoidNamespace) else snapshot
        )

    @property
    def has_namespace(self) -> bool:
        return self.namespace is not None

    def stored_in(self, data: DataFrame) -> Layout:
        """The layout of its serializer as the column shows it: perhaps with bytes of POJOs."""
        if self.column is None or self.kind is StateKind.TIMERS:
            return self.stored
        return shown_layout(data, self.column, self.stored)

    def has_times(self, data: DataFrame) -> bool:
        """Whether its values need a time of last access that the column lacks."""
        stored = self.stored_in(data)
        if self.column is None or without_ttl(stored) == stored:
            return False
        return self.last_access is not None or not fits(
            column_of(data, self.column)[1], spark_type(as_records(stored))
        )

    def expect_times(self, data: DataFrame, ttl_times: str | None) -> None:
        """Raises ``ValueError`` if times of last access would be lost without ``ttl_times``."""
        if ttl_times not in (None, "now"):
            raise ValueError(f"ttl_times is {ttl_times!r}, expected 'now', or nothing")
        if ttl_times is None and self.has_times(data):
            self.values(data)  # another type is the first error
            raise ValueError(
                f"state {self.name!r} has a time to live, and column {self.column!r} no times of"
                " last access: read it with with_times=True to keep them, or write it with"
                " ttl_times='now' to use the time of writing instead"
            )

    def values(self, data: DataFrame) -> Column | None:
        """The column, if there is one, cast to the type of the state."""
        what = f"state {self.name!r}"
        if self.column is None:
            return None
        if self.kind is StateKind.TIMERS:
            return _timestamps(data, self.column, what)
        stored = self.stored_in(data)
        wanted = without_ttl(stored) if self.has_times(data) else stored
        return fitted(data, self.column, as_records(wanted), what)

    def times(self, data: DataFrame, now_ms: int) -> Column | None:
        """The times of last access in ms, if its values need them."""
        if not self.has_times(data):
            return None
        if self.last_access is None:
            return F.lit(now_ms)
        column = fitted(data, self.last_access, Long(), f"the last access of state {self.name!r}")
        return F.coalesce(column, F.lit(now_ms))

    def check(self, data: DataFrame) -> None:
        """Raises the errors of ``values``; ``ValueError`` for times of a state without TTL."""
        self.values(data)
        self.times(data, 0)
        if self.last_access is not None and without_ttl(self.stored) == self.stored:
            raise ValueError(
                f"state {self.name!r} has no time to live, so no time of last access:"
                " add .with_ttl() to its descriptor"
            )


def _timestamps(data: DataFrame, name: str, what: str) -> Column:
    column, data_type = column_of(data, name)
    if fits(data_type, LongType()):
        return F.when(column.isNotNull(), F.array(column.cast(LongType())))
    if fits(data_type, ArrayType(LongType())):
        timestamps = column.cast(ArrayType(LongType()))
        # Flink: timers are a set.
        return F.array_distinct(F.filter(timestamps, lambda timestamp: timestamp.isNotNull()))
    raise ColumnTypeError(
        f"column {name!r} is {data_type.simpleString()}, but {what} takes timestamps in ms:"
        " bigint, or an array of them"
    )


@dataclass(frozen=True)
class Key:
    """The key of rows; several columns are the fields of a tuple.

    The key groups in a column are checked by the keys' hash codes if these are known, unless they
    are those of the savepoint that is changed.
    """

    columns: tuple[str, ...]
    snapshot: TypeSerializerSnapshot
    key_groups: str | None = None
    hash_code: HashKeys | None = None
    are_stored: bool = False

    def column(self, data: DataFrame) -> Column:
        """The keys, cast to their type."""
        layout = self.snapshot.layout()
        inner = python_key(layout)
        if inner is None:
            return self._own(data, layout)
        own = self._own(data, inner)
        return F.struct(own.alias(KEY_FIELD), F.lit(ROW_KINDS[0]).alias(ROW_KIND))

    def _own(self, data: DataFrame, layout: Layout) -> Column:
        if len(self.columns) == 1:
            return fitted(data, self.columns[0], layout, "the key")
        target = spark_type(layout)
        inner = list(target) if isinstance(target, StructType) else []
        taken = [field for field in inner if field.name != ROW_KIND]
        if len(taken) != len(self.columns):
            raise ColumnTypeError(
                f"the key is {target.simpleString()}, which takes {len(taken) or 1} columns:"
                f" key_by was given {', '.join(map(repr, self.columns))}"
            )
        fields = []
        for name, field in zip(self.columns, taken, strict=True):
            column, data_type = column_of(data, name)
            fitted_column = fitting(
                column, data_type, field.dataType, f"column {name!r}", "the key"
            )
            fields.append(fitted_column.alias(field.name))
        if len(taken) < len(inner):
            fields.append(F.lit(ROW_KINDS[0]).alias(ROW_KIND))
        return F.struct(*fields).cast(target)


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
        encoding = RunEncoding(
            self.key.snapshot.layout(),
            None if self.namespace is None else self.namespace[1].layout(),
            max_parallelism,
            tuple(states),
            self.key.hash_code,
            self.key.key_groups is not None,
            self.is_keyed_once,
            checks_key_groups=not self.key.are_stored,
        )
        return columns, encoding

    def of_keys(self) -> Iterator[tuple[str, Column]]:
        """The columns that tell rows apart, and the key groups if they are given."""
        yield KEY, self.key.column(self.data)
        if self.namespace is not None:
            yield NAMESPACE, self.namespace[0]
        if self.key.key_groups is not None:
            yield KEY_GROUP, fitted(self.data, self.key.key_groups, Int(), "the key group")

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
