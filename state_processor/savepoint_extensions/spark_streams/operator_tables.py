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

import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructField, StructType

from savepoint_extensions.spark_streams.aggregate_buffers import columns_of_aggregates, has_sketches
from savepoint_extensions.spark_streams.checkpoint_files import COPY
from savepoint_extensions.spark_streams.collected_arrays import with_lists
from savepoint_extensions.spark_streams.stored_fields import (
    StoredFields,
    by_key,
    selected,
    unwrapped,
    with_arrays,
)
from savepoint_extensions.spark_streams.stream_operator import (
    AGGREGATIONS,
    EVENT_TIME,
    FIRST_VERSION,
    PROCESSING_TIME,
    StateForm,
    StreamOperator,
    kind_of,
)
from savepoint_formats.errors import FormatError, JobError, RefusedError, StateNotFoundError
from savepoint_formats.printable import alternatives
from savepoint_spark.columns import spark_type_of
from savepoint_spark.session import typed_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from savepoint_extensions.spark_streams.checkpoint_files import CommittedBatch
    from savepoint_extensions.spark_streams.import_words import ImportWords
    from savepoint_extensions.spark_streams.stream_operator import (
        StateVariable,
        StoredOperator,
        TimeoutDomain,
    )

SIDES = ("left", "right")

_REPLACED_FORMS = (StateForm.AGGREGATION, StateForm.GROUP_STATE)
"""Forms whose first version has other fields: values with the key, or with the fields of the state."""

_REPLACED = "its state has format 1, of Spark 2, which is not read: run the query anew, with a new checkpoint"
_NUMBERED_ROWS, _TIMED_ROWS = "keyWithIndexToValue", "keyWithTsToValues"
_WITH_EVENT_TIME = 4  # the version of a join's state whose keys have the event time
_WITH_MARK = 2  # the first version of a join's state whose rows end with the mark
_MATCHED = "matched"
_NO_TIMEOUT = -1
_TIMERS = {"readRegisteredTimers": "true"}
_FILE_NAMES = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_TURN = Lock()
_UNREADABLE = re.compile(
    r"\[(?:CANNOT_LOAD_STATE_STORE|STDS_FAILED).*?(?=\.?(?: *SQLSTATE|$))", re.MULTILINE
)
_CAUSES = re.compile(r"^Caused by: (.*?)\.?$", re.MULTILINE)
_ONE_BY_ONE = (
    ": read them one by one by Spark's source statestore, with its option stateVarName or"
    " readRegisteredTimers, and import them in Python, by with_state(…) and with_timers(…)"
)


@dataclass(frozen=True, slots=True)
class StoreSize:
    """How many rows a store, or a state variable, has.

    Attributes:
        operator: The operator's number.
        store: Name of the store or state variable; ``timers`` for timers.
        rows: Keys, elements of lists, entries of maps, rows of a join, timers.
        largest_partition: Rows in the partition that has the most.
    """

    operator: int
    store: str
    rows: int
    largest_partition: int


@dataclass(frozen=True)
class OperatorTables:
    """The state of an operator after a batch; ``path`` is the checkpoint as Spark can read it."""

    spark: SparkSession
    path: str
    batch: CommittedBatch
    operator: StoredOperator

    @cached_property
    def version(self) -> int:
        """The version of the form of state."""
        return self.operator.format_version(self.batch.settings)

    def table(self, key: Sequence[str], words: ImportWords) -> DataFrame:
        """The table of the operator's form, with names for its key, and what else only the user knows."""
        match self.operator.form:
            case StateForm.AGGREGATION | StateForm.SESSIONS:
                return self.aggregation(key, words.aggregates)
            case StateForm.JOIN:
                return self.joined(key)
            case StateForm.DEDUPLICATION | StateForm.DEDUPLICATION_WITHIN_WATERMARK:
                return self.deduplicated(key)
            case StateForm.GROUP_STATE | StateForm.STATE_VARIABLES:
                return self.state(key, words.timeout, words.ttl_ms)
            case StateForm.OTHER:
                return self._first

    def aggregation(self, key: Sequence[str], aggregates: Mapping[str, str]) -> DataFrame:
        """See ``SparkCheckpoint.aggregation``."""
        self._expect_known_form()
        stored = self._first
        keys, buffers = self._keys(stored), self._buffers(stored)
        if not aggregates:
            named = keys.named(key)
            return selected(stored, named, buffers.named(after=named))
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
        stores = [self._read_by(options) for _, options in self._stores]
        sides = dict(zip(SIDES, stores, strict=True))
        values = {side: StoredFields.of(stored, "value") for side, stored in sides.items()}
        rows = {side: without_mark(fields, self.version) for side, fields in values.items()}
        tables = []
        for side, stored in sides.items():
            mark = values[side].columns[len(rows[side].columns) :]
            columns = {"side": F.lit(side)}
            for it, fields in rows.items():
                nothing = F.lit(None).cast(StructType([*fields.fields]))
                columns[it] = fields.struct if it == side else nothing
            columns[_MATCHED] = mark[0] if mark else F.lit(None).cast("boolean")
            tables.append(selected(stored, self._keys(stored).named(key), columns))
        return tables[0].unionByName(tables[1])

    def deduplicated(self, key: Sequence[str]) -> DataFrame:
        """See ``SparkCheckpoint.deduplicated``."""
        columns = {}
        if self.operator.form is StateForm.DEDUPLICATION_WITHIN_WATERMARK:
            # The first whole millisecond that is not before the microseconds, as Spark compares.
            micros = F.col("value").getField("expiresAtMicros")
            columns["expires_at"] = F.ceil(micros / F.lit(1000)).cast("bigint")
        return selected(self._first, self._keys(self._first).named(key), columns)

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
        return by_key(tables, tables[0].columns[:-1], _ONE_BY_ONE)

    def reason(self) -> str:
        """Why its state can't be carried as it is; empty if it can."""
        if self._is_replaced:
            return _REPLACED
        if self.operator.form in AGGREGATIONS and has_sketches(self._buffers(self._first)):
            return "an approximate count has registers that no aggregate of Flink continues"
        return ""

    def key_names(self) -> list[str]:
        """The columns of the key in a table without names of the user."""
        return list(self._keys(self._first).named())

    def sizes(self) -> list[StoreSize]:
        """See ``SparkCheckpoint.sizes``."""
        sizes = []
        for name, options in self._stores:
            counted = self._read_by(options).groupBy("partition_id").count()
            with state_errors(self.batch.path):
                counts = [row["count"] for row in counted.collect()]
            sizes.append(StoreSize(self.operator.id, name, sum(counts), max(counts, default=0)))
        return sizes

    def described(self) -> StreamOperator:
        """The operator in words."""
        stored = self.operator
        key = "" if stored.form is StateForm.OTHER else self._keys(self._first).words
        reason = kind_of(stored.name).reason or self.reason()
        names = stored.id, stored.name, stored.form.value, key, self._names, stored.timers
        return StreamOperator(*names, self.version, stored.partitions, not reason, reason)

    @property
    def _names(self) -> tuple[str, ...]:
        """The names of states or buffers."""
        match self.operator.form:
            case StateForm.STATE_VARIABLES:
                return tuple(it.name for it in self.operator.variables)
            case StateForm.JOIN:
                return SIDES
            case StateForm.AGGREGATION | StateForm.SESSIONS:
                return self._buffers(self._first).names
            case StateForm.GROUP_STATE:
                return ("state",)
            case _:
                return ()

    @cached_property
    def _stores(self) -> Sequence[tuple[str, Mapping[str, str]]]:
        """The stores or state variables: name, and the options that read it. A variable may be called timers."""
        match self.operator.form:
            case StateForm.STATE_VARIABLES:
                names = [it.name for it in self.operator.variables]
                timers = [("timers", _TIMERS)] if self.operator.has_timers or not names else []
                return [*((name, {"stateVarName": name}) for name in names), *timers]
            case StateForm.JOIN:
                rows = _TIMED_ROWS if self.version >= _WITH_EVENT_TIME else _NUMBERED_ROWS
                stores = tuple(f"{side}-{rows}" for side in SIDES)
            case _:
                stores = self.operator.stores
        return [(name, {"storeName": name}) for name in stores]

    @cached_property
    def _first(self) -> DataFrame:
        """The rows of its first store."""
        return self._read_by(self._stores[0][1])

    def _keys(self, stored: DataFrame) -> StoredFields:
        """The columns of the key of stored rows."""
        key = StoredFields.of(stored, "key")
        match self.operator.form:
            case StateForm.JOIN:
                # The last field is the number of the row, or its event time.
                return key.between(0, -1)
            case StateForm.SESSIONS:
                # The value repeats the key; where the key has the start of the session, it has the window.
                return StoredFields.of(stored, "value").between(0, len(key.fields))
            case _:
                return key

    def _buffers(self, stored: DataFrame) -> StoredFields:
        """The buffers of an aggregation; those of sessions are behind the key."""
        is_session = self.operator.form is StateForm.SESSIONS
        start = len(StoredFields.of(stored, "key").fields) if is_session else 0
        return StoredFields.of(stored, "value").between(start)

    @property
    def _is_replaced(self) -> bool:
        return self.operator.form in _REPLACED_FORMS and self.version == FIRST_VERSION

    def _expect_known_form(self) -> None:
        if self._is_replaced:
            raise RefusedError(f"operator {self.operator.id} can't be read: {_REPLACED}")

    def _group_state(self, key: Sequence[str], timeout: TimeoutDomain | None) -> DataFrame:
        self._expect_known_form()
        stored = self._first
        value = StoredFields.of(stored, "value").named()
        state = stored.schema["value"].dataType["groupState"].dataType  # type: ignore[index]  # a struct
        columns = {"state": unwrapped(value["groupState"], state)}
        if "timeoutTimestamp" in value:
            at = value["timeoutTimestamp"]
            columns[timeout or "timeout"] = F.when(at != _NO_TIMEOUT, at)
        return selected(stored, self._keys(stored).named(key), columns)

    def _variable(
        self, state: StateVariable, key: Sequence[str], ttl_ms: Mapping[str, int]
    ) -> DataFrame:
        stored = self._read_by({"stateVarName": state.name, "flattenCollectionTypes": "false"})
        ttl = ttl_ms.get(state.name) if state.has_ttl else None
        column, data_type = stored.columns[1], stored.schema.fields[1].dataType
        value = _plain(F.col(column), data_type, has_ttl=state.has_ttl, ttl_ms=ttl)
        return selected(stored, self._keys(stored).named(key), {state.name: value})

    def _timers(self, key: Sequence[str]) -> DataFrame:
        stored = self._read_by(_TIMERS)
        domain = EVENT_TIME if self.operator.timers == "event time" else PROCESSING_TIME
        keys = self._keys(stored).named(key)
        table = selected(stored, keys, {domain: F.col("expiration_timestamp_ms")})
        return with_arrays(table, [*keys], domain)

    def _read_by(self, options: Mapping[str, str]) -> DataFrame:
        place = {"operatorId": str(self.operator.id), "batchId": str(self.batch.batch_id)}
        read = {**place, **options}
        with state_errors(self.batch.path), _naming_files(self.spark, has_ids=self.batch.has_ids):
            return self.spark.read.format("statestore").options(**read).load(self.path)


@contextmanager
def state_errors(path: str) -> Iterator[None]:
    """Raises ``FormatError`` for state of a checkpoint that Spark can't read, other errors as ``typed_errors``."""
    try:
        with typed_errors():
            yield
    except (PySparkException, JobError) as error:
        text = f"{error}\n{error.__cause__}"
        if (reason := _UNREADABLE.search(text)) is None:
            raise
        reasons = dict.fromkeys([reason[0], *_CAUSES.findall(text)[-1:]])
        way = "in Python load another batch: SparkCheckpoint.load(…, batch_id=…)"
        message = f"Spark can't read its state: {'; '.join(reasons)}. {COPY}, or {way}"
        raise FormatError(message, path, -1) from error


@contextmanager
def _naming_files(spark: SparkSession, *, has_ids: bool) -> Iterator[None]:
    """Lets a session find files with ids in their names, or without, when it loads a table.

    The names of files are those of the session, not of the query. So threads take turns.
    """
    with _TURN:
        before = spark.conf.get(_FILE_NAMES, None)
        spark.conf.set(_FILE_NAMES, "2" if has_ids else "1")
        try:
            yield
        finally:
            if before is None:
                spark.conf.unset(_FILE_NAMES)
            else:
                spark.conf.set(_FILE_NAMES, before)


def without_mark(row: StoredFields, version: int) -> StoredFields:
    """A stored row of a join without the mark that it was matched, if that version has one."""
    is_marked = version >= _WITH_MARK and row.names[-1:] == (_MATCHED,)
    return row.between(0, -1) if is_marked else row


def _plain(value: Column, data_type: DataType, *, has_ttl: bool, ttl_ms: int | None) -> Column:
    """A value of a state variable; structs with one field become this field."""
    match data_type:
        case ArrayType():
            inner = data_type.elementType
            return F.transform(value, lambda it: _element(it, inner, has_ttl, ttl_ms))
        case MapType():
            keys, values = data_type.keyType, data_type.valueType
            keyed = F.transform_keys(value, lambda it, _: unwrapped(it, keys))
            return F.transform_values(keyed, lambda _, it: _element(it, values, has_ttl, ttl_ms))
        case _:
            return _element(value, data_type, has_ttl, ttl_ms)


def _element(value: Column, data_type: DataType, has_ttl: bool, ttl_ms: int | None) -> Column:
    if not has_ttl:
        return unwrapped(value, data_type)
    assert isinstance(data_type, StructType)  # of the value and its end
    inner = unwrapped(value.getField("value"), data_type["value"].dataType).alias("value")
    expires = value.getField("ttlExpirationMs")
    if ttl_ms is None:
        time = expires.alias("expires_at")
    else:
        time = F.timestamp_millis(expires - ttl_ms).alias("timestamp")
    return F.when(value.isNotNull(), F.struct(time, inner))
