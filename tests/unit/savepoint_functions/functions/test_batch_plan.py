"""Batches of whole keys as a function gets them, and what is said of what it may not give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from savepoint_formats.errors import ColumnNotFoundError, ColumnTypeError
from savepoint_formats.snapshots import constructed
from savepoint_functions.functions.batch_plan import BatchFunctionTask
from savepoint_functions.functions.outputs import Outputs
from savepoint_functions.functions.result_table import FunctionState
from savepoint_functions.functions.rows_by_key import over_batches
from savepoint_functions.functions.sorted_inputs import KeyEncoding
from savepoint_spark.writing.run_encoding import RunEncoding
from state_processor import Types, ValueStateDescriptor

if TYPE_CHECKING:
    from savepoint_functions.functions.rows_by_key import KeyBatch, KeyBatchFunction

KEYS = 128
STATE = FunctionState.of(ValueStateDescriptor("total", Types.LONG()), constructed.string())
TYPES = pa.schema([("total", pa.int64())])


def task(
    function: KeyBatchFunction,
    batch_rows: int,
    schema: StructType | None = None,
    *,
    returns_all_keys: bool = True,
) -> Any:
    key = Types.STRING().layout
    encoding = RunEncoding(
        key,
        None,
        KEYS,
        (STATE.column(0),),
        has_key_groups=True,
        is_keyed_once=not returns_all_keys,
    )
    outputs = Outputs.dropped() if schema is None else Outputs.of(schema, function)
    return BatchFunctionTask(function, ("word", "id"), TYPES, encoding, batch_rows, outputs, None)


def rows(counts: dict[str, int], of_batch: int = 7) -> list[pa.RecordBatch]:
    """Rows of each word, sorted as they come to a task."""
    words = [word for word, count in counts.items() for _ in range(count)]
    columns = {"key": pa.array(words), "row 0 0": pa.array(words)}
    columns["row 0 1"] = pa.array(range(len(words)))
    encoding = KeyEncoding(Types.STRING().layout, KEYS, None)
    (encoded,) = encoding.ordered([pa.RecordBatch.from_pydict(columns)])
    ordered = encoded.sort_by([("order", "ascending"), ("key", "ascending")])
    return [ordered.slice(start, of_batch) for start in range(0, len(words), of_batch)]


def counted(batch: KeyBatch) -> tuple[None, pa.Table]:
    counts = np.bincount(batch.numbers, minlength=len(batch.state))
    return None, pa.table({"key": batch.state["key"], "total": counts})


@pytest.mark.parametrize("batch_rows", [1, 10, 1000])
def test_a_batch_has_all_rows_of_its_keys_and_no_more_of_them_than_it_must(batch_rows: int) -> None:
    counts = {f"word {number}": number % 5 + 1 for number in range(30)} | {"huge": 200}
    batches: list[dict[str, int]] = []

    def noted(batch: KeyBatch) -> tuple[None, pa.Table]:
        words = batch.rows["word"].to_pylist()
        assert [words[start] for start in batch.starts] == batch.state["key"].to_pylist()
        assert [batch.state["key"][number].as_py() for number in batch.numbers] == words
        assert batch.state["total"].null_count == len(batch.state)
        batches.append({word: words.count(word) for word in words})
        return counted(batch)

    assert list(task(noted, batch_rows).run(rows(counts)))
    assert {word: count for batch in batches for word, count in batch.items()} == counts
    assert sum(map(len, batches)) == len(counts)
    for batch in batches:
        *others, _ = batch.values()
        # Seven rows come at once.
        assert sum(others) < batch_rows + 7


def test_keys_that_come_back_in_another_order_go_to_their_key_groups() -> None:
    def turned(batch: KeyBatch) -> tuple[None, pa.Table]:
        return None, counted(batch)[1].take(np.arange(len(batch.state))[::-1])

    # Each of another key group, so that no run has two keys.
    counts = {"a": 1, "b": 2, "c": 3, "d": 4}
    wanted, given = (
        {
            (row["key_group"], row["run"])
            for batch in task(function, 100).run(rows(counts))
            for row in batch.to_pylist()
        }
        for function in (counted, turned)
    )
    assert len({key_group for key_group, _ in wanted}) == len(counts)
    assert given == wanted


def of_state(**columns: Any) -> KeyBatchFunction:
    return lambda _: (None, pa.table(columns))


TWO = ["a", "b"]


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (of_state(total=[1, 2]), ColumnNotFoundError, "no column 'key'; it gave: total"),
        (of_state(key=TWO), ColumnNotFoundError, "no column 'total'; it gave: key"),
        (of_state(key=TWO, total=["x", "y"]), ColumnTypeError, "'total' as string, expected int64"),
        (of_state(key=TWO, total=[1.5, 2.0]), ColumnTypeError, "'total' as double"),
        (of_state(key=[1, None], total=[1, 2]), ValueError, "state of key '1', which"),
        (of_state(key=TWO, total=[1, 2], count=[1, 2]), ValueError, "a column 'count'; expected"),
        (of_state(key=["a"], total=[1]), ValueError, "0 rows of state for key 'b'"),
        (of_state(key=["a", "b", "a"], total=[1, 2, 3]), ValueError, "2 rows of state for key 'a'"),
        (of_state(key=["a", "c"], total=[1, 2]), ValueError, "state of key 'c', which the batch"),
        (lambda _: pa.table({"key": TWO}), TypeError, "gave a Table, expected a tuple of two"),
        (lambda _: (1, None), TypeError, "gave a tuple of int, NoneType, expected"),
        (lambda batch: (batch.rows, batch.state), ValueError, "add schema="),
    ],
)
def test_what_is_no_state_is_refused(
    function: KeyBatchFunction, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        list(task(function, 100).run(rows({"a": 2, "b": 3})))


def state_of_table(made: Any) -> list[dict[str, Any]]:
    """The runs of state of a function over tables that gives this for two rows of a and three of b."""
    function = over_batches(lambda _: made, ["total"])
    batches = task(function, 100, returns_all_keys=False).run(rows({"a": 2, "b": 3}))
    runs = pa.Table.from_batches(batches).select(["key_group", "run"]).to_pylist()
    return [row for row in runs if row["run"] is not None]


def test_a_function_over_tables_leaves_keys_without_state_and_has_columns_of_its_own() -> None:
    (of_b,) = state_of_table(pa.table({"key": ["b"], "total": [1]}))
    assert state_of_table(pa.table({"other": [7], "total": [1], "key": ["b"]})) == [of_b]
    both = state_of_table(pa.table({"key": ["b", "a"], "total": [1, 2]}))
    assert len(both) == len(TWO)
    assert of_b in both
    with pytest.raises(ValueError, match="state of key 'c', which the batch does not have"):
        state_of_table(pa.table({"key": ["c"], "total": [1]}))
    with pytest.raises(TypeError, match=r"gave a NoneType, expected a pyarrow\.Table"):
        state_of_table(None)


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"id": [1]}, ColumnNotFoundError, "no column 'word'"),
        ({"word": ["a"], "id": ["x"]}, ColumnTypeError, "column 'id' as string"),
        ({"word": ["a"], "id": [1], "at": [1]}, ValueError, "gave rows with a column 'at'"),
        ({"word": ["a"], "id": [None]}, ValueError, "null in column 'id', which is not nullable"),
    ],
)
def test_rows_that_are_not_as_the_schema_says_are_refused(
    columns: dict[str, list[Any]], error: type[Exception], message: str
) -> None:
    def function(batch: KeyBatch) -> tuple[pa.Table, pa.Table]:
        return pa.table(columns), counted(batch)[1]

    of_task = task(
        function,
        100,
        StructType(
            [StructField("word", StringType()), StructField("id", LongType(), nullable=False)]
        ),
    )
    with pytest.raises(error, match=message):
        list(of_task.run(rows({"a": 2, "b": 3})))
