"""The state of a join of two streams as the states of a join of the new job.

A join of SQL has a map per side, and a function of the user a list:

| side of the new job                | state                                                 |
|------------------------------------|-------------------------------------------------------|
| inner                              | map: row -> how many equal rows there are             |
| outer, whose rows come without a   | map: row -> how many equal rows there are, and how    |
| match, too                         | many rows of the other side match each                |
| of a function                      | list of rows                                          |

A row of such an outer side that has no match counts as emitted with nulls: SQL takes that back when a
match comes. Spark emits it only when it leaves the state.

Flink: ``JoinRecordStateViews.InputSideHasNoUniqueKey``, ``OuterJoinRecordStateViews``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, MapType, StructType

from savepoint_extensions.spark_streams.new_types import NamedField, is_sql_row, row_of
from savepoint_extensions.spark_streams.operator_tables import SIDES
from savepoint_extensions.spark_streams.stored_fields import (
    StoredFields,
    by_key,
    quoted,
    sql_errors,
)
from savepoint_formats.errors import ColumnTypeError, RefusedError
from savepoint_spark.columns import spark_type
from savepoint_spark.session import typed_errors
from savepoint_spark.writing import Grouping

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from savepoint_extensions.spark_streams.import_words import ImportWords
    from savepoint_extensions.spark_streams.new_types import NewTypes
    from savepoint_spark.writing import NewState

_OTHER = dict(zip(SIDES, reversed(SIDES), strict=True))
_ROW, _STORED, _MATCHED = "$row", "$stored", "$matched"
_TIMES, _MATCHES = "$times", "$matches"
_OF_INTERVALS = ("IntervalJoinLeftCache", "LEFT_BUFFER")  # of SQL, and of intervalJoin
_ORDER = "Name the columns in the order of the new job's input by {0}=[…] (--{0} COLUMN)"


def joined_states(
    table: DataFrame, keys: Sequence[str], types: NewTypes, words: ImportWords
) -> DataFrame:
    """A row per key of ``SparkCheckpoint.joined`` with the states of both sides.

    The columns of the key have names that no column of a side has.

    Raises:
        ColumnTypeError: The operator doesn't have a state for each side, or an expression is wrong.
        RefusedError: A state of it is not made from a query, or matches can't be counted without ``on``.
    """
    states = {side: _state_of(side, types) for side in SIDES}
    sides = {side: _rows(table, keys, side, words) for side in SIDES}
    parts = []
    for side, state in states.items():
        wanted = spark_type(state.stored)
        rows = sides[side]
        if _has_matches(wanted):
            rows = with_matches(rows, sides[_OTHER[side]], keys, side, words.on)
        way = "" if _columns(words, side) else _ORDER.format(side)
        parts.append(_grouped(rows, keys, state, wanted, way))
    return by_key(parts, keys)


def _columns(words: ImportWords, side: str) -> tuple[str, ...]:
    return words.left if side == SIDES[0] else words.right


def _state_of(side: str, types: NewTypes) -> NewState:
    """The state of a side: the only one that begins with the side's name."""
    if any(state.name in _OF_INTERVALS for state in types.values):
        raise RefusedError(
            f"operator {types.name} joins by intervals of time. Its timers depend on bounds that neither a"
            " checkpoint nor a savepoint has, so its state is not made. In SQL, cast the times to"
            " TIMESTAMP(3) in front of the join: that makes it a Join, with table.exec.state.ttl for old"
            " rows. In a DataStream job, take a KeyedCoProcessFunction with the list states left and right"
        )
    states = [it for it in types.values if it.name.partition("-")[0].partition("_")[0] == side]
    if len(states) != 1:
        known = ", ".join(it.name for it in types.values) or "none"
        raise ColumnTypeError(
            f"operator {types.name} has {len(states)} states whose name is {side!r} or begins with"
            f" {side!r} and - or _, expected one; it has {known}. Choose the join of the new job, or"
            " import the rows of checkpoint.joined() in Python, by with_state(descriptor, column)"
        )
    return states[0]


def _rows(table: DataFrame, keys: Sequence[str], side: str, words: ImportWords) -> DataFrame:
    """The rows of a side: key, mark, the row as Spark has it and as the new job has it."""
    own = [*quoted(keys), F.col("matched").alias(_MATCHED), F.col(side).alias(_STORED)]
    plain = table.where(F.col("side") == side).select(*own, f"{side}.*")
    names, chosen = plain.columns[len(own) :], _columns(words, side)
    known = f". The query's {side} side has {', '.join(names)}"
    with sql_errors(ColumnTypeError, f"{side}={list(chosen)!r}: ", known):
        fields = [F.expr(text) for text in chosen] if chosen else quoted(names)
        return plain.select(*quoted(keys), _MATCHED, _STORED, F.struct(*fields).alias(_ROW))


def with_matches(
    rows: DataFrame, others: DataFrame, keys: Sequence[str], side: str, on: str | None
) -> DataFrame:
    """The different rows, how often each comes, and the number of rows of the other side that match it.

    Rows of the other side that have left the query's state are not counted, but Spark has marked
    that there was one.
    """
    other = _OTHER[side]
    own, named = quoted(keys), [f"{other} {name}" for name in keys]
    of_others = [column.alias(name) for column, name in zip(own, named, strict=True)]
    right = others.select(*of_others, F.col(_STORED).alias(other))
    of_row = (*keys, _STORED, _ROW)
    counted = Grouping.of(rows, of_row).aggregated(
        F.count(F.lit(1)).alias(_TIMES), F.max(_MATCHED).alias(_MATCHED)
    )
    # As in SQL, no row matches by a key that is null.
    same = [column == its for column, its in zip(own, quoted(named), strict=True)]
    if on is None:
        _expect_no_condition(counted.where(~F.coalesce(_MATCHED, F.lit(False))), right, same, side)
    left = counted.withColumn(side, F.col(_STORED))
    with sql_errors(ColumnTypeError, f"on={on!r}: ", ". Put left. or right. before each column"):
        joined = left.join(right, [*same, F.expr("true" if on is None else on)], "left")
    matches = F.greatest(F.count(other), F.max(F.col(_MATCHED).cast("bigint")))
    return Grouping.of(joined, of_row).aggregated(
        F.first(_TIMES).alias(_TIMES), matches.cast("int").alias(_MATCHES)
    )


def _expect_no_condition(
    unmatched: DataFrame, others: DataFrame, same: Sequence[Column], side: str
) -> None:
    """Raises ``RefusedError`` if rows of equal keys may not match, and nothing says which do."""
    with typed_errors():
        is_clear = unmatched.join(others, [*same], "semi").isEmpty()
    if not is_clear:
        raise RefusedError(
            f"rows of the {side} side have a row of the other side with their key, and Spark has not"
            " marked them as matched: its form of state has no marks, or the join has a further"
            ' condition. Say it by on=…, such as "right.ts > left.ts"; on="true" says that there is none'
        )


def _grouped(
    rows: DataFrame, keys: Sequence[str], state: NewState, wanted: DataType, way: str
) -> DataFrame:
    """A row per key with the state of a side; ``way`` is how to say the order of its columns."""
    row_fields = StoredFields.of(rows, _ROW)
    pairs = zip(row_fields.named().items(), row_fields.fields, strict=True)
    fields = [NamedField(name, column, field.dataType) for (name, column), field in pairs]
    what = f"the query's side of {state.name!r}"
    if isinstance(wanted, ArrayType):
        row = row_of(fields, wanted.elementType, what, way)
        return Grouping.of(rows, tuple(keys)).aggregated(F.collect_list(row).alias(state.name))
    has_matches = _has_matches(wanted)
    if (
        not isinstance(wanted, MapType)
        or not is_sql_row(wanted.keyType)
        or not (has_matches or wanted.valueType == IntegerType())
    ):
        raise RefusedError(
            f"state {state.name!r} is a {state.kind.value} of {wanted.simpleString()}, which is not made"
            " from a query's join: expected a list of rows, or a join of SQL without a unique key. With a"
            " unique key, give the rows of checkpoint.joined() to OperatorTransformation.for_plan(…)"
            ".bootstrap_with(left, right, order_by=…)"
        )
    number = F.sum(_TIMES) if has_matches else F.count(F.lit(1))
    most = [F.max(_MATCHES).alias(_MATCHES)] if has_matches else []
    counted = Grouping.of(rows, (*keys, _ROW)).aggregated(number.cast("int").alias(_TIMES), *most)
    times = F.col(_TIMES)
    value = F.struct(times.alias("f0"), F.col(_MATCHES).alias("f1")) if most else times
    row = row_of(fields, wanted.keyType, what, way)
    entry = F.struct(row.alias("key"), value.alias("value"))
    entries = F.map_from_entries(F.collect_list(entry))
    return Grouping.of(counted, tuple(keys)).aggregated(entries.alias(state.name))


def _has_matches(wanted: DataType) -> bool:
    """Whether the rows of a state have their number, and that of their matches."""
    if not isinstance(wanted, MapType) or not isinstance(wanted.valueType, StructType):
        return False
    return [field.dataType for field in wanted.valueType] == [IntegerType(), IntegerType()]
