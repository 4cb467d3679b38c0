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

A key of one column is this column, a key of several a struct of them, which goes by names, or by position
where the job calls its fields f0, f1…
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from savepoint_extensions.spark_streams.operator_kinds import StateForm
from savepoint_extensions.spark_streams.operator_tables import EVENT_TIME
from savepoint_extensions.spark_streams.stored_fields import quoted
from savepoint_formats.errors import ColumnTypeError, RefusedError
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files import StateKind
from savepoint_spark.bootstrapping import KeyedColumns
from savepoint_spark.writing import Key, NewState, StoredTypes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.spark_streams.checkpoint import SparkCheckpoint
    from savepoint_extensions.spark_streams.operator_tables import TimeoutDomain
    from savepoint_extensions.spark_streams.stream_operator import StreamOperator
    from savepoint_spark.writing import PlannedTransformation

_WINDOWS = ("window", "session_window")
_SESSION = "session_window"
_MERGING_SET = "merging-window-set"
_KEY = "key"
_ARGUMENTS = ("self", "operator", "key")
"""Other arguments of ``SparkCheckpoint.aggregation``, which takes aggregates by their names."""


@dataclass(frozen=True, slots=True)
class ImportWords:
    """What only the user knows of the query.

    Attributes:
        aggregates: Column -> aggregate, in the order of the query.
        timeout: The time domain of the timeouts of ``applyInPandasWithState``.
        ttl_ms: State variable -> its time to live in ms.
        allowed_lateness_ms: How long after its end the new job keeps a window.
    """

    aggregates: Mapping[str, str] = field(default_factory=dict)
    timeout: TimeoutDomain | None = None
    ttl_ms: Mapping[str, int] = field(default_factory=dict)
    allowed_lateness_ms: int = 0


def state_like(
    checkpoint: SparkCheckpoint, number: int | None, operator: Operator, words: ImportWords
) -> PlannedTransformation:
    """The state of a query's operator with the types of an operator of the new job.

    Raises:
        RefusedError: The state can't be carried, or its form is not that of the operator.
        SavepointError: As the tables of the checkpoint, and as ``like``.
    """
    described = checkpoint.operator(number)
    if not described.is_carried:
        raise RefusedError(
            f"operator {described.id} of {checkpoint.path} can't be carried: {described.reason}"
        )
    form, types = StateForm(described.kind), StoredTypes.of(operator)
    expect_words_of(form, words)
    table, keys = _table(checkpoint, described.id, form, words)
    states = [NewState(info, None) for info in types.states]
    timers = [state for state in states if state.kind is StateKind.TIMERS]
    values = [
        state
        for state in states
        if state.kind is not StateKind.TIMERS and state.name != _MERGING_SET
    ]
    window = next((name for name in _WINDOWS if name in keys), None)
    keys = [name for name in keys if name != window]
    if not keys:
        raise RefusedError(
            f"operator {described.id} has no key beside its window: in the new job key by a constant,"
            " and import the rows in Python, with that constant as a column"
        )
    columns = [name for name in table.columns if name not in (*keys, window)]
    timed = timer_columns(described, words)
    domains = {name: name for name in columns if name in timed}
    columns = [name for name in columns if name not in domains]
    named = {state.name: state for state in values}
    taken = columns_of_states(columns, [*named])
    parts = (_together(names).alias(name) for name, names in {_KEY: keys, **taken}.items())
    data = table.select(*parts, *quoted([*domains, *([window] if window else [])]))
    keyed = KeyedColumns(data, Key((_KEY,), operator.written(types.key)))
    for name in taken:
        state = replace(named[name], column=name)
        expect_windows(state, has_windows=window is not None)
        state.expect_times(data, None)
        keyed = keyed.with_new_state(state)
    if window is not None:
        return keyed.window(
            window,
            is_merging=window == _SESSION,
            allowed_lateness_ms=words.allowed_lateness_ms,
        )
    # Without a timer, too, the new job's service stays in the headers.
    return keyed.with_timers(**domains, **_service(timers)) if domains or timers else keyed


def expect_words_of(form: StateForm, words: ImportWords) -> None:
    """Raises ``RefusedError`` for a word that only state of another form needs: it would do nothing.

    Raises ``ColumnTypeError`` for an aggregate with the name of an argument.
    """
    aggregations = (StateForm.AGGREGATION, StateForm.SESSIONS)
    needed = (
        ("aggregates", words.aggregates, aggregations),
        ("allowed_lateness_ms", words.allowed_lateness_ms, aggregations),
        ("timeout", words.timeout, (StateForm.GROUP_STATE,)),
        ("ttl_ms", words.ttl_ms, (StateForm.STATE_VARIABLES,)),
    )
    for name, given, forms in needed:
        if given and form not in forms:
            kinds = " or ".join(it.value for it in forms)
            raise RefusedError(
                f"{name} is for an operator of the kind {kinds}, but this one is a {form.value}: leave"
                f" {name} out, or choose another operator"
            )
    if clash := next((name for name in _ARGUMENTS if name in words.aggregates), None):
        raise ColumnTypeError(
            f"an aggregate can't be called {clash!r}: give it another name in checkpoint.aggregation(),"
            " and import the rows in Python, by with_state(descriptor, column)"
        )


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
    checkpoint: SparkCheckpoint, number: int, form: StateForm, words: ImportWords
) -> tuple[DataFrame, list[str]]:
    """The table of an operator, and the columns of its key."""
    match form:
        case StateForm.AGGREGATION | StateForm.SESSIONS:
            table = checkpoint.aggregation(number, key=(), **words.aggregates)
        case StateForm.DEDUPLICATION:
            table = checkpoint.deduplicated(number).withColumn("seen", F.lit(True))
        case StateForm.DEDUPLICATION_WITHIN_WATERMARK:
            seen = checkpoint.deduplicated(number)
            table = seen.withColumn(EVENT_TIME, F.col("expires_at"))
        case StateForm.GROUP_STATE:
            table = checkpoint.state(number, timeout=words.timeout)
            _expect_domain(table, number)
            table = table.drop("timeout")
        case StateForm.STATE_VARIABLES:
            table = checkpoint.state(number, ttl_ms=words.ttl_ms)
        case _:
            raise RefusedError(
                f"operator {number} is a {form.value}, whose rows go into several states or inputs:"
                " import them in Python, from checkpoint.joined(), by with_state(…), or by"
                " OperatorTransformation.for_plan for a join of SQL"
            )
    return table, checkpoint.key_columns(number)


def _expect_domain(table: DataFrame, number: int) -> None:
    if "timeout" in table.columns and not table.where("timeout IS NOT NULL").isEmpty():
        raise RefusedError(
            f"operator {number} has timeouts, and Spark does not store whether these are in event time or"
            " in processing time: say it by --timeout event_time or --timeout processing_time"
        )


def columns_of_states(columns: Sequence[str], states: Sequence[str]) -> dict[str, Sequence[str]]:
    """State -> its columns: that of its name; or all, in the only state, if none has its name.

    Raises:
        ColumnTypeError: A column has no state, or a state has the name that is used for the key.
    """
    if _KEY in states:
        raise ColumnTypeError(
            f"a state of the new job is called {_KEY!r} like the column of keys: import the rows in"
            " Python, by with_state(descriptor, column)"
        )
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


def _together(names: Sequence[str]) -> Column:
    columns = quoted(names)
    return columns[0] if len(columns) == 1 else F.struct(*columns)


def _service(timers: Sequence[NewState]) -> dict[str, str]:
    """The only service of timers of the new job; nothing if there is another number of them."""
    services = {state.name.partition("_timer_state/")[2].partition("_")[2] for state in timers}
    return {"service": services.pop()} if len(services) == 1 else {}
