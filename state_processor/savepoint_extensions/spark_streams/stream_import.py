"""The state of an operator of a streaming query as the state of an operator of a Flink job.

A savepoint of the new job, taken before it has read anything, has all types: of keys, states, timers. The
columns of the query's table go into the states of their names:

| form of the query's state | key            | states                                            | timers        |
|---------------------------|----------------|---------------------------------------------------|---------------|
| aggregation               | its columns    | a column per aggregate, or all in the only state  |               |
| windows, sessions         | the others     | the contents of windows                           | end of window |
| deduplication             | its columns    | ``true`` in the only state; within a watermark    | that time     |
|                           |                | the time of expiry                                |               |
| state of a group          | its columns    | as a whole in the only state, or in ``state``     | its timeout   |
| state variables           | its columns    | those of the same names                           | its timers    |
| join                      | its columns    | the rows of each side, in the state of its name   |               |

A key of one column is this column, a key of several a struct of them, which goes by names, or by position
where the job calls its fields f0, f1…
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from savepoint_extensions.spark_streams.aggregate_buffers import unscaled_sums
from savepoint_extensions.spark_streams.joined_states import joined_states
from savepoint_extensions.spark_streams.new_types import UNNAMED, NamedField, NewTypes, whole_value
from savepoint_extensions.spark_streams.operator_tables import state_errors
from savepoint_extensions.spark_streams.stored_fields import expect_distinct, quoted
from savepoint_extensions.spark_streams.stream_operator import (
    AGGREGATIONS,
    EVENT_TIME,
    PROCESSING_TIME,
    StateForm,
)
from savepoint_formats.errors import ColumnTypeError, RefusedError, StateNotFoundError
from savepoint_formats.printable import alternatives
from savepoint_formats.savepoint_warnings import LostStateWarning
from savepoint_formats.snapshots import constructed
from savepoint_formats.values import ROW_KIND
from savepoint_spark.bootstrapping import KeyedColumns
from savepoint_spark.columns import spark_type
from savepoint_spark.writing import Key, PlannedTransformation

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.spark_streams.import_words import ImportWords
    from savepoint_extensions.spark_streams.new_types import EmptyOperator
    from savepoint_extensions.spark_streams.operator_tables import OperatorTables
    from savepoint_extensions.spark_streams.stream_operator import StreamOperator
    from savepoint_formats.metadata import OperatorState
    from savepoint_spark.writing import NewState, OperatorPlan, WriteContext

_WINDOWS = ("window", "session_window")
_SESSION = "session_window"
_TIMEOUT = "timeout"
_KEY, _WINDOW = "$key", "$window"  # no state of a job is called so; one may be called key
_OR_PLAN = (
    "or load the savepoint with the plan of the job (plan=…) if the names are those of its query"
)
_ORDER = f"Name the columns in the order of the new job's key by key=[…] (--key COLUMN), {_OR_PLAN}"
_NAMES = f"Call the aggregates as the new job does by aggregates= (--aggregate), {_OR_PLAN}"


@dataclass(frozen=True, slots=True)
class CarriedState(PlannedTransformation):
    """State of the checkpoint at a path; jobs read it when it is written, and may find damage."""

    planned: PlannedTransformation
    path: str

    def plan(self) -> OperatorPlan:
        """See ``PlannedTransformation``."""
        return self.planned.plan()

    def write(self, context: WriteContext) -> OperatorState:
        """See ``StateTransformation``."""
        with state_errors(self.path):
            return self.planned.write(context)


def state_like(
    described: StreamOperator,
    tables: OperatorTables,
    like: Operator | EmptyOperator,
    words: ImportWords,
) -> PlannedTransformation:
    """The state of a query's operator with the types of an operator of the new job.

    Raises:
        RefusedError: The state can't be carried, or its form is not that of the operator.
        SavepointError: As the tables of the checkpoint, and as ``like``.
    """
    if not described.is_carried:
        raise RefusedError(
            f"operator {described.id} of {tables.batch.path} can't be carried: {described.reason}"
        )
    form, types = StateForm(described.kind), NewTypes.of(like, tables.spark)
    words.expect_form(form)
    # A column of the key that no state is called like -> its name in the query.
    keys = {f"{_KEY} {place}": name for place, name in enumerate(tables.key_names())}
    table = _table(tables, [*keys], types, words)
    values = [name for name in table.columns if name not in keys]
    buffers = [table.schema[name] for name in values if form in AGGREGATIONS]
    unscaled = unscaled_sums(buffers, words.aggregates)
    window = _window(table, keys, types)
    is_session = keys.pop(window, "") == _SESSION or form is StateForm.SESSIONS
    if not keys:
        raise RefusedError(
            f"operator {described.id} has no key{' beside its window' if window else ''}: in the new job key by"
            " a constant, and import the rows in Python, with that constant as a column"
        )
    domains = [name for name in timer_columns(described, words) if name in values]
    values = [name for name in values if name not in domains]
    named = {state.name: state for state in types.values}
    filled = columns_of_states(values, [*named])
    stored = {name: spark_type(named[name].stored) for name in filled}
    ordered, way = keys_in_order([*keys.values()], words.key)
    by_name = {name: NamedField.of(table, column) for column, name in keys.items()}
    fields = [replace(by_name[name], name=name) for name in ordered]
    parts = [whole_value(fields, types.key_type, "the query's key", way).alias(_KEY)]
    for name, columns in filled.items():
        ordered, way = values_in_order(columns, stored[name], words.aggregates)
        fields = [NamedField.of(table, column, unscaled) for column in ordered]
        value = whole_value(fields, stored[name], f"the query's state of {name!r}", way)
        parts.append(value.alias(name))
    parts += [F.col(domain).alias(f"${domain}") for domain in domains]
    parts += [column.alias(_WINDOW) for column in quoted([window] if window else [])]
    data = table.select(*parts)
    _expect_distinct_fields(data.schema, tables.spark)
    keyed = KeyedColumns(data, Key((_KEY,), types.key))
    for name in filled:
        state = replace(named[name], column=name)
        expect_windows(state, has_windows=bool(window))
        state.expect_times(data, None)
        keyed = keyed.with_new_state(state)
    for state in beginning_empty(types, filled, words.begin_empty):
        keyed = keyed.with_new_state(state)
    if window:
        return keyed.window(
            _WINDOW,
            is_merging=is_session,
            is_processing_time=words.window_time == PROCESSING_TIME,
            allowed_lateness_ms=words.allowed_lateness_ms,
        )
    words.expect_no_windows(described.id)
    # Without a timer, too, the new job's service stays in the headers.
    timers = types.timers
    times = {domain: f"${domain}" for domain in domains}
    return keyed.with_timers(**times, **_service(timers)) if domains or timers else keyed


def keys_in_order(keys: Sequence[str], wanted: Sequence[str]) -> tuple[Sequence[str], str]:
    """The columns of a key as the user orders them; and how to say their order, if that is not said.

    Raises ``ColumnTypeError`` unless the user names all of them.
    """
    if not wanted:
        return keys, _ORDER
    if sorted(wanted) != sorted(keys):
        raise ColumnTypeError(f"key={list(wanted)!r}, but the query's key has {', '.join(keys)}")
    return wanted, ""


def values_in_order(
    columns: Sequence[str], wanted: DataType, aggregates: Collection[str]
) -> tuple[Sequence[str], str]:
    """The columns of a state in the order of its fields; and how to say that, if it is not said.

    The user says it by aggregates: by f0, f1… as positions, or without a name of the job. Without
    aggregates, the order of the query goes into a job without names.
    """
    names = [it for it in wanted.names if it != ROW_KIND] if isinstance(wanted, StructType) else []
    is_unnamed = all(map(UNNAMED.fullmatch, names))
    if is_unnamed and sorted(columns) == sorted(names):
        return names, ""
    # An average has two fields, such as mean_sum and mean_count.
    of_job = {part for name in names for part in (name.lower(), name.lower().removesuffix("_sum"))}
    is_said = bool(aggregates) or is_unnamed
    return columns, "" if is_said and not {it.lower() for it in columns} & of_job else _NAMES


def beginning_empty(
    types: NewTypes, filled: Collection[str], wanted: Collection[str]
) -> list[NewState]:
    """The states that are wanted to begin empty; others without a column get a ``LostStateWarning``.

    Raises ``StateNotFoundError`` for a name that is none of a state without a column.
    """
    empty = {state.name: state for state in types.values if state.name not in filled}
    for name in wanted:
        if name not in empty:
            raise StateNotFoundError(
                f"begin_empty={name!r}, but operator {types.name} has no such state without a column of"
                f" the query; {alternatives(name, empty)}"
            )
    unnamed = [name for name in empty if name not in wanted]
    if unnamed:
        message = (
            f"operator {types.name} begins without {', '.join(unnamed)}: no column of the query has that"
            " state. Name the columns like the states, or say by begin_empty (--begin-empty STATE) that"
            " this is wanted"
        )
        warnings.warn(message, LostStateWarning, stacklevel=4)
    return [empty[name] for name in wanted]


def timer_columns(described: StreamOperator, words: ImportWords) -> tuple[str, ...]:
    """The columns of an operator's table that are timers; states and aggregates may have such names, too."""
    match StateForm(described.kind):
        case StateForm.DEDUPLICATION_WITHIN_WATERMARK | StateForm.STATE_VARIABLES:
            return (described.timers.replace(" ", "_"),) if described.timers else ()
        case StateForm.GROUP_STATE:
            return () if words.timeout is None else (words.timeout,)
        case _:
            return ()


def expect_windows(state: NewState, *, has_windows: bool) -> None:
    """Raises ``RefusedError`` unless a state is kept per window where the query has windows, and only there.

    Otherwise several windows of a key would become several values of one key.
    """
    kept_by = None if state.namespace is None else state.namespace.layout()
    if kept_by == (constructed.time_window().layout() if has_windows else None):
        return
    mistake = (
        f"the query has windows of time, but state {state.name!r} of the new job is not kept per window"
        if has_windows
        else f"the query has no windows, but state {state.name!r} of the new job is kept per window"
    )
    raise RefusedError(
        f"{mistake}: choose another operator of the job, or import the rows of checkpoint.aggregation()"
        " in Python, by with_state(…)"
    )


def _table(
    tables: OperatorTables, keys: Sequence[str], types: NewTypes, words: ImportWords
) -> DataFrame:
    """The table of an operator: the columns of its key by other names, those of its states and timers."""
    table = tables.table(keys, words)
    match tables.operator.form:
        case StateForm.DEDUPLICATION:
            return table.withColumn("seen", F.lit(True))
        case StateForm.DEDUPLICATION_WITHIN_WATERMARK:
            return table.withColumn(EVENT_TIME, F.col("expires_at"))
        case StateForm.GROUP_STATE if _TIMEOUT in table.columns:
            _expect_domain(table, tables.operator.id)
            return table.drop(_TIMEOUT)
        case StateForm.JOIN:
            return joined_states(table, keys, types, words)
        case _:
            return table


def _window(table: DataFrame, keys: Mapping[str, str], types: NewTypes) -> str:
    """The column of the key that is a window, or "".

    A query may give the window another name, and call any other column so.
    """
    kinds = {column: table.schema[column].dataType for column in keys}
    windows = [
        column
        for column, kind in kinds.items()
        if isinstance(kind, StructType) and kind.names == ["start", "end"]
    ]
    named = [column for name in _WINDOWS for column in windows if keys[column] == name]
    renamed = windows if types.has_windows and len(windows) == 1 else []
    return next(iter([*named, *renamed]), "")


def _expect_distinct_fields(data_type: DataType, spark: SparkSession) -> None:
    """Raises ``ColumnTypeError`` for states, or fields of a struct, whose names are one to a session."""
    match data_type:
        case StructType():
            expect_distinct(data_type.names, spark, "states or fields of the new job")
            for field in data_type:
                _expect_distinct_fields(field.dataType, spark)
        case ArrayType():
            _expect_distinct_fields(data_type.elementType, spark)
        case MapType():
            _expect_distinct_fields(data_type.keyType, spark)
            _expect_distinct_fields(data_type.valueType, spark)


def _expect_domain(table: DataFrame, number: int) -> None:
    if not table.where(F.col(_TIMEOUT).isNotNull()).isEmpty():
        raise RefusedError(
            f"operator {number} has timeouts, and Spark does not store whether these are in event time or"
            " in processing time: say it by --timeout event_time or --timeout processing_time"
        )


def columns_of_states(columns: Sequence[str], states: Sequence[str]) -> dict[str, Sequence[str]]:
    """State -> its columns: that of its name; or all, in the only state, if none has its name.

    Raises ``ColumnTypeError`` for a column without a state.
    """
    if len(states) == 1 and columns and states[0] not in columns:
        return {states[0]: columns}
    unknown = [name for name in columns if name not in states]
    if unknown:
        raise ColumnTypeError(
            f"the new job's operator has no state {unknown[0]!r}; it has {', '.join(states) or 'none'},"
            f" and the query has {', '.join(columns)}: name the aggregates like the states by"
            " --aggregate NAME=AGGREGATE, in the order of the query"
        )
    return {name: (name,) for name in columns}


def _service(timers: Sequence[NewState]) -> dict[str, str]:
    """The only service of timers of the new job; nothing if there is another number of them."""
    services = {state.name.partition("_timer_state/")[2].partition("_")[2] for state in timers}
    return {"service": services.pop()} if len(services) == 1 else {}
