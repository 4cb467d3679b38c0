"""Checks that a stream can continue from a backlog: inputs, columns, timestamps and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from savepoint_functions.functions import KeyedInput
    from savepoint_functions.transformations.process_transformation import (
        KeyedFunctionVerbs,
        KeyedRowsTransformation,
    )

    Inputs = tuple[KeyedInput, ...]


def streamed_rows(keyed: KeyedFunctionVerbs) -> KeyedRowsTransformation:
    """The rows of a backlog or a stream. Raises ``ValueError`` for broadcast rows."""
    if keyed.rows.broadcast is not None:
        raise ValueError("a stream, and the backlog in front of it, take no broadcast rows")
    return keyed.rows


def expect_alike(backlog: Inputs, stream: Inputs) -> None:
    """Raises ``ValueError`` or ``UnstableKeyError`` if a stream can't continue from a backlog."""
    if len(backlog) != len(stream):
        raise ValueError(
            f"the backlog has {_count(backlog)}, the stream {_count(stream)}: connect the same number"
        )
    expect_bounded(backlog)
    if all(rows.timestamps is None for rows in backlog):
        raise ValueError("backlog and stream need timestamps: add assign_timestamps('at')")
    for number, (past, live) in enumerate(zip(backlog, stream, strict=True), 1):
        where = "" if len(backlog) == 1 else f" of input {number}"
        _expect_same_rows(past, live, where)
        past.check()
        live.check()
        _expect_no_state(live, where)
        _expect_same_keys(past, live, where)


def expect_bounded(backlog: Inputs) -> None:
    """Raises ``ValueError`` if an input of a backlog is a stream."""
    live = [str(number) for number, rows in enumerate(backlog, 1) if rows.data.isStreaming]
    if live:
        raise ValueError(
            f"input {live[0]} of the backlog is a stream, and an operator is in backlog only if all"
            " its inputs are: give that input a backlog of no rows; or, if its rows cannot wait for"
            " the backlog of the other one, give both none, and stream that with its live rows"
        )


# Spark's names of logical nodes with state.
_STATEFUL = frozenset(
    {
        "Aggregate",
        "Deduplicate",
        "DeduplicateWithinWatermark",
        "Distinct",
        "FlatMapGroupsInPandasWithState",
        "FlatMapGroupsWithState",
        "TransformWithState",
        "TransformWithStateInPySpark",
    }
)


def _expect_no_state(live: KeyedInput, where: str) -> None:
    """Raises ``ValueError`` if the rows of a stream come from an operator with state."""
    nodes = [live.data._jdf.queryExecution().analyzed()]
    for node in nodes:
        inputs = [node.children().apply(index) for index in range(node.children().size())]
        streams = [source for source in inputs if source.isStreaming()]
        name = str(node.nodeName())
        if streams and (name in _STATEFUL or (len(streams) > 1 and name == "Join")):
            raise ValueError(
                f"the stream{where} comes from an operator with state, {name}, and Spark runs no"
                " other one after it in update mode, in which a function gives its rows at once:"
                " write the rows of that operator, and stream what is written"
            )
        nodes += streams


def _expect_same_rows(past: KeyedInput, live: KeyedInput, where: str) -> None:
    if not live.data.isStreaming:
        raise ValueError(f"the stream{where} must be a streaming DataFrame")
    if (past.timestamps is None) != (live.timestamps is None):
        raise ValueError(
            f"backlog and stream{where} need timestamps, both or neither: add"
            " assign_timestamps('at')"
        )
    columns = [_columns(past), _columns(live)]
    if columns[0] != columns[1]:
        raise ValueError(
            f"the backlog{where} has columns {columns[0]}, the stream {columns[1]}:"
            " select the same ones, in the same order"
        )


def _expect_same_keys(past: KeyedInput, live: KeyedInput, where: str) -> None:
    if past.key.key_groups is not None or live.key.key_groups is not None:
        raise ValueError(f"a stream computes the key groups{where}: give key_by hash_code instead")
    if past.key.snapshot != live.key.snapshot:
        raise ValueError(
            f"the keys of backlog and stream{where} are of different types: give key_type"
        )


def _columns(rows: KeyedInput) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.data.schema)


def _count(inputs: Inputs) -> str:
    return "one input" if len(inputs) == 1 else f"{len(inputs)} inputs"
