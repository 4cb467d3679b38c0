"""The tables of one operator of a streaming query, through Spark's source ``statestore``.

| form                         | stores                                    | rows                           |
|------------------------------|-------------------------------------------|--------------------------------|
| aggregation                  | ``default``                               | key -> buffers                 |
| sessions                     | ``default``                               | key, start -> key, window,     |
|                              |                                           | buffers                        |
| join, format 1 to 3          | ``left-keyWithIndexToValue``, ``right-…`` | key, index -> row, ``matched`` |
| join, format 4               | ``left-keyWithTsToValues``, ``right-…``   | key, event time -> the same    |
| deduplication                | ``default``                               | key -> nothing                 |
| deduplication in a watermark | ``default``                               | key -> ``expiresAtMicros``     |
| state of a group             | ``default``                               | key -> state, timeout in ms    |
| state variables              | by ``stateVarName``                       | key -> value, list or map      |

The option ``joinSide`` hides ``matched``, and shows wrong event times for format 4: the stores are read by
their names, which ``state-metadata`` does not list for formats 3 and 4. Format 1 has no ``matched``; in others
it is the last field, and a column of the query may have that name, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructField, StructType

from savepoint_extensions.spark_streams.aggregate_buffers import (
    columns_of_aggregates,
    has_sketches,
)
from savepoint_extensions.spark_streams.collected_arrays import with_lists
from savepoint_extensions.spark_streams.operator_kinds import StateForm
from savepoint_extensions.spark_streams.stored_fields import StoredFields, quoted, selected
from savepoint_extensions.spark_streams.stream_operator import FIRST_VERSION
from savepoint_formats.errors import ColumnTypeError, RefusedError, StateNotFoundError
from savepoint_formats.printable import alternatives
from savepoint_spark.columns import spark_type_of
from savepoint_spark.session import typed_errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from savepoint_extensions.spark_streams.stream_operator import StateVariable, StoredOperator

TimeoutDomain: TypeAlias = Literal["event_time", "processing_time"]
EVENT_TIME, PROCESSING_TIME = "event_time", "processing_time"
SIDES = ("left", "right")

_AGGREGATIONS = (StateForm.AGGREGATION, StateForm.SESSIONS)
_REPLACED_FORMS = (StateForm.AGGREGATION, StateForm.GROUP_STATE)
"""Forms whose first version has other fields: values with the key, or with the fields of the state."""

_REPLACED = "its state has format 1, of Spark 2, which is not read: run the query anew, with a new checkpoint"
_NUMBERED_ROWS, _TIMED_ROWS = "keyWithIndexToValue", "keyWithTsToValues"
_WITH_EVENT_TIME = 4  # the version of a join's state whose keys have the event time
_WITH_MARK = 2  # the first version of a join's state whose rows end with the mark
_MATCHED = "matched"
_NO_TIMEOUT = -1


@dataclass(frozen=True, slots=True)
class StoreSize:
    """How many rows a store, or a state variable, has.

    Attributes:
        operator: The operator's number.
        store: Name of the store or state variable; ``timers`` for timers.
        rows: Number of rows: keys, elements of lists, entries of maps, rows of a join, timers.
        largest_partition: Number of rows in the partition that has the most.
    """

    operator: int
    store: str
    rows: int
    largest_partition: int


@dataclass(frozen=True)
class OperatorTables:
    """The state of an operator after a batch.

    Attributes:
        spark: The session.
        path: The checkpoint, as Spark can read it.
        batch_id: The committed batch.
        operator: The operator.
        version: The version of its form.
    """

    spark: SparkSession
    path: str
    batch_id: int
    operator: StoredOperator
    version: int

    def table(self) -> DataFrame:
        """The table of the operator's form, without anything that only the user knows."""
        match self.operator.form:
            case StateForm.AGGREGATION | StateForm.SESSIONS:
                return self.aggregation((), {})
            case StateForm.JOIN:
                return self.joined(())
            case StateForm.DEDUPLICATION | StateForm.DEDUPLICATION_WITHIN_WATERMARK:
                return self.deduplicated(())
            case StateForm.GROUP_STATE | StateForm.STATE_VARIABLES:
                return self.state((), None, {})
            case StateForm.OTHER:
                return self._read(storeName=self.operator.stores[0])

    def aggregation(self, key: Sequence[str], aggregates: Mapping[str, str]) -> DataFrame:
        """See ``SparkCheckpoint.aggregation``."""
        self._expect_known_form()
        stored = self._read()
        keys, buffers = self._grouped(stored)
        if not aggregates:
            return selected(stored, keys.named(key), buffers.named())
        columns, collected = columns_of_aggregates(buffers, aggregates)
        rows = selected(stored, keys.named(key), columns)
        if not collected:
            return rows
        types = {name: ArrayType(spark_type_of(it)) for name, it in collected.items()}
        schema = [
            StructField(field.name, types.get(field.name, field.dataType)) for field in rows.schema
        ]
        return rows.mapInArrow(with_lists(collected), StructType(schema))

    def joined(self, key: Sequence[str]) -> DataFrame:
        """See ``SparkCheckpoint.joined``."""
        sides = {side: self._read(storeName=f"{side}-{self._rows_of_join}") for side in SIDES}
        values = {side: StoredFields.of(stored, "value") for side, stored in sides.items()}
        rows = {side: without_mark(fields, self.version) for side, fields in values.items()}
        tables = []
        for side, stored in sides.items():
            mark = values[side].columns[len(rows[side].columns) :]
            structs = {
                it: _struct(fields)
                if it == side
                else F.lit(None).cast(StructType([*fields.fields]))
                for it, fields in rows.items()
            }
            columns = {
                "side": F.lit(side),
                **structs,
                _MATCHED: mark[0] if mark else F.lit(None).cast("boolean"),
            }
            # The last field of the key is the number of the row, or its event time.
            keys = StoredFields.of(stored, "key").between(0, -1)
            tables.append(selected(stored, keys.named(key), columns))
        return tables[0].unionByName(tables[1])

    def deduplicated(self, key: Sequence[str]) -> DataFrame:
        """See ``SparkCheckpoint.deduplicated``."""
        stored = self._read()
        columns = {}
        if self.operator.form is StateForm.DEDUPLICATION_WITHIN_WATERMARK:
            # The first whole millisecond that is not before the microseconds, as Spark compares.
            micros = F.col("value").getField("expiresAtMicros")
            columns["expires_at"] = F.ceil(micros / F.lit(1000)).cast("bigint")
        return selected(stored, StoredFields.of(stored, "key").named(key), columns)

    def state(
        self, key: Sequence[str], timeout: TimeoutDomain | None, ttl_ms: Mapping[str, int]
    ) -> DataFrame:
        """See ``SparkCheckpoint.state``."""
        with_ttl = [it.name for it in self.operator.variables if it.has_ttl]
        for name in ttl_ms:
            if name not in with_ttl:
                raise StateNotFoundError(
                    f"operator {self.operator.id} has no state {name!r} with a time to live;"
                    f" {alternatives(name, with_ttl)}"
                )
        if self.operator.form is StateForm.GROUP_STATE:
            return self._group_state(key, timeout)
        if timeout is not None:
            raise RefusedError(
                f"operator {self.operator.id} stores the domain of its timers: leave timeout out"
            )
        tables = [self._variable(it, key, ttl_ms) for it in self.operator.variables]
        if self.operator.has_timers:
            tables.append(self._timers(key))
        if not tables:
            raise RefusedError(f"operator {self.operator.id} has no state and no timers")
        return _by_key(tables)

    def reason(self) -> str:
        """Why its state can't be carried as it is; empty if it can."""
        if self._is_replaced:
            return _REPLACED
        if self.operator.form in _AGGREGATIONS and has_sketches(self._grouped(self._read())[1]):
            return "an approximate count has registers that no aggregate of Flink continues"
        return ""

    def key_names(self) -> list[str]:
        """The columns of the key in a table without names of the user."""
        if self.operator.form in _AGGREGATIONS:
            return list(self._grouped(self._read())[0].named())
        if self.operator.form is StateForm.STATE_VARIABLES:
            names = [it.name for it in self.operator.variables]
            read = {"stateVarName": names[0]} if names else {"readRegisteredTimers": "true"}
            return list(StoredFields.of(self._read(**read), "key").named())
        return list(StoredFields.of(self._read(), "key").named())

    def sizes(self) -> list[StoreSize]:
        """See ``SparkCheckpoint.sizes``."""
        match self.operator.form:
            case StateForm.STATE_VARIABLES:
                stores = {it.name: {"stateVarName": it.name} for it in self.operator.variables}
                if self.operator.has_timers:
                    stores["timers"] = {"readRegisteredTimers": "true"}
            case StateForm.JOIN:
                names = [f"{side}-{self._rows_of_join}" for side in SIDES]
                stores = {name: {"storeName": name} for name in names}
            case _:
                stores = {name: {"storeName": name} for name in self.operator.stores}
        return [self._size(name, options) for name, options in stores.items()]

    def described(self) -> tuple[str, tuple[str, ...]]:
        """The columns of the key as DDL, and the names of states or buffers."""
        match self.operator.form:
            case StateForm.OTHER:
                return "", ()
            case StateForm.STATE_VARIABLES:
                names = tuple(it.name for it in self.operator.variables)
                read = {"stateVarName": names[0]} if names else {"readRegisteredTimers": "true"}
                return StoredFields.of(self._read(**read), "key").words, names
            case StateForm.JOIN:
                stored = self._read(storeName=f"{SIDES[0]}-{self._rows_of_join}")
                return StoredFields.of(stored, "key").between(0, -1).words, SIDES
        stored = self._read()
        if self.operator.form in _AGGREGATIONS:
            keys, buffers = self._grouped(stored)
            return keys.words, buffers.names
        states = ("state",) if self.operator.form is StateForm.GROUP_STATE else ()
        return StoredFields.of(stored, "key").words, states

    @property
    def _rows_of_join(self) -> str:
        return _TIMED_ROWS if self.version >= _WITH_EVENT_TIME else _NUMBERED_ROWS

    def _size(self, name: str, options: Mapping[str, str]) -> StoreSize:
        counted = self._read(**options).groupBy("partition_id").count()
        with typed_errors():
            counts = [row["count"] for row in counted.collect()]
        return StoreSize(self.operator.id, name, sum(counts), max(counts, default=0))

    def _grouped(self, stored: DataFrame) -> tuple[StoredFields, StoredFields]:
        """The columns of an aggregation's key, and the buffers."""
        key, value = StoredFields.of(stored, "key"), StoredFields.of(stored, "value")
        if self.operator.form is StateForm.AGGREGATION:
            return key, value
        # The value repeats the key; where the key has the start of the session, it has the window.
        return value.between(0, len(key.fields)), value.between(len(key.fields))

    @property
    def _is_replaced(self) -> bool:
        return self.operator.form in _REPLACED_FORMS and self.version == FIRST_VERSION

    def _expect_known_form(self) -> None:
        if self._is_replaced:
            raise RefusedError(f"operator {self.operator.id} can't be read: {_REPLACED}")

    def _group_state(self, key: Sequence[str], timeout: TimeoutDomain | None) -> DataFrame:
        self._expect_known_form()
        stored = self._read()
        value = StoredFields.of(stored, "value").named()
        state = stored.schema["value"].dataType["groupState"].dataType  # type: ignore[index]  # a struct
        columns = {"state": _unwrapped(value["groupState"], state)}
        if "timeoutTimestamp" in value:
            at = value["timeoutTimestamp"]
            columns[timeout or "timeout"] = F.when(at != _NO_TIMEOUT, at)
        return selected(stored, StoredFields.of(stored, "key").named(key), columns)

    def _variable(
        self, state: StateVariable, key: Sequence[str], ttl_ms: Mapping[str, int]
    ) -> DataFrame:
        stored = self._read(stateVarName=state.name, flattenCollectionTypes="false")
        ttl = ttl_ms.get(state.name) if state.has_ttl else None
        column, data_type = stored.columns[1], stored.schema.fields[1].dataType
        value = _plain(F.col(column), data_type, has_ttl=state.has_ttl, ttl_ms=ttl)
        return selected(stored, StoredFields.of(stored, "key").named(key), {state.name: value})

    def _timers(self, key: Sequence[str]) -> DataFrame:
        stored = self._read(readRegisteredTimers="true")
        domain = EVENT_TIME if self.operator.timers == "event time" else PROCESSING_TIME
        keys = StoredFields.of(stored, "key").named(key)
        table = selected(stored, keys, {domain: F.col("expiration_timestamp_ms")})
        timestamps = F.sort_array(F.collect_list(domain)).alias(domain)
        return table.groupBy(*quoted([*keys])).agg(timestamps)

    def _read(self, **options: str) -> DataFrame:
        read = {"operatorId": str(self.operator.id), "batchId": str(self.batch_id), **options}
        with typed_errors():
            return self.spark.read.format("statestore").options(**read).load(self.path)


def without_mark(row: StoredFields, version: int) -> StoredFields:
    """A stored row of a join without the mark that it was matched, if that version has one."""
    is_marked = version >= _WITH_MARK and row.names[-1:] == (_MATCHED,)
    return row.between(0, -1) if is_marked else row


def _struct(fields: StoredFields) -> Column:
    pairs = zip(fields.names, fields.columns, strict=True)
    return F.struct(*(column.alias(name) for name, column in pairs))


def _plain(value: Column, data_type: DataType, *, has_ttl: bool, ttl_ms: int | None) -> Column:
    """A value of a state variable; structs with one field become this field."""
    match data_type:
        case ArrayType():
            inner = data_type.elementType
            return F.transform(value, lambda it: _element(it, inner, has_ttl, ttl_ms))
        case MapType():
            keys, values = data_type.keyType, data_type.valueType
            keyed = F.transform_keys(value, lambda it, _: _unwrapped(it, keys))
            return F.transform_values(keyed, lambda _, it: _element(it, values, has_ttl, ttl_ms))
        case _:
            return _element(value, data_type, has_ttl, ttl_ms)


def _element(value: Column, data_type: DataType, has_ttl: bool, ttl_ms: int | None) -> Column:
    if not has_ttl:
        return _unwrapped(value, data_type)
    assert isinstance(data_type, StructType)  # of the value and its end
    inner = _unwrapped(value.getField("value"), data_type["value"].dataType).alias("value")
    expires = value.getField("ttlExpirationMs")
    if ttl_ms is None:
        time = expires.alias("expires_at")
    else:
        time = F.timestamp_millis(expires - ttl_ms).alias("timestamp")
    return F.when(value.isNotNull(), F.struct(time, inner))


def _unwrapped(value: Column, data_type: DataType) -> Column:
    is_single = isinstance(data_type, StructType) and len(data_type) == 1
    return value.getField(data_type.names[0]) if is_single else value  # type: ignore[attr-defined]


def _by_key(tables: Sequence[DataFrame]) -> DataFrame:
    """Tables with one more column than their key has, as one table with a row per key."""
    if len(tables) == 1:
        return tables[0]
    keys, states = tables[0].columns[:-1], [table.columns[-1] for table in tables]
    if len(set(states)) < len(states):
        raise ColumnTypeError(f"two states or timers have one name: {', '.join(states)}")
    rows = reduce(lambda all_, table: all_.unionByName(table, allowMissingColumns=True), tables)
    values = [F.first(column, ignorenulls=True) for column in quoted(states)]
    named = [value.alias(name) for value, name in zip(values, states, strict=True)]
    return rows.groupBy(*quoted(keys)).agg(*named)
