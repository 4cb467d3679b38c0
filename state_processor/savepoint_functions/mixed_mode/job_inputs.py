"""Checks of the inputs of a job: those of the stream must be like those of the backlog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_functions.functions.process_functions import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
)

if TYPE_CHECKING:
    from savepoint_functions.functions.sorted_inputs import KeyedInput

    Inputs = tuple[KeyedInput, ...]


def expect_function(function: object, inputs: Inputs) -> None:
    """Raises ``TypeError`` if a function doesn't take so many inputs."""
    kind = KeyedCoProcessFunction if len(inputs) > 1 else KeyedProcessFunction
    if not isinstance(function, kind):
        raise TypeError(
            f"{type(function).__name__} is no {kind.__name__}, which takes {_count(inputs)}"
        )


def expect_alike(backlog: Inputs, stream: Inputs) -> None:
    """Checks that a stream can go on from a backlog.

    Raises:
        ValueError: It can't; the message says what differs, and in which input.
        UnstableKeyError: Equal keys may have different bytes.
    """
    if len(backlog) != len(stream):
        raise ValueError(
            f"the backlog has {_count(backlog)}, the stream {_count(stream)}: connect as many"
        )
    _expect_backlog(backlog)
    if all(rows.timestamps is None for rows in backlog):
        raise ValueError("backlog and stream need timestamps: add assign_timestamps('at')")
    for number, (past, live) in enumerate(zip(backlog, stream, strict=True), 1):
        where = "" if len(backlog) == 1 else f" of input {number}"
        _expect_same_rows(past, live, where)
        past.check()
        live.check()
        _expect_same_keys(past, live, where)


def _expect_backlog(backlog: Inputs) -> None:
    live = [str(number) for number, rows in enumerate(backlog, 1) if rows.data.isStreaming]
    if live and len(live) < len(backlog):
        raise ValueError(
            f"input {live[0]} of the backlog is a stream, and an operator is in backlog only if all"
            " its inputs are: give that input a backlog of no rows; or, if its rows cannot wait for"
            " the backlog of the other one, give both none, and stream that with its live rows"
        )


def _expect_same_rows(past: KeyedInput, live: KeyedInput, where: str) -> None:
    if past.data.isStreaming or not live.data.isStreaming:
        raise ValueError(
            f"the backlog{where} is to be a bounded DataFrame, the stream a streaming one"
        )
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
