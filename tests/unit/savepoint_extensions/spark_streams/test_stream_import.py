"""What is refused before state of a query is read: words for other state, and windows without a place."""

from __future__ import annotations

import inspect

import pytest
from support.each import each

from savepoint_extensions.spark_streams.operator_kinds import StateForm
from savepoint_extensions.spark_streams.stream_import import (
    ImportWords,
    columns_of_states,
    expect_windows,
    expect_words_of,
    timer_columns,
)
from savepoint_extensions.spark_streams.stream_operator import StreamOperator
from savepoint_formats.errors import ColumnTypeError, RefusedError
from savepoint_formats.snapshots import constructed
from savepoint_spark.writing import NewState
from state_processor import SparkCheckpoint, Types, ValueStateDescriptor

FORMS = {
    "aggregates": (StateForm.AGGREGATION, StateForm.SESSIONS),
    "allowed_lateness_ms": (StateForm.AGGREGATION, StateForm.SESSIONS),
    "timeout": (StateForm.GROUP_STATE,),
    "ttl_ms": (StateForm.STATE_VARIABLES,),
}
WORDS = {
    "aggregates": ImportWords(aggregates={"total": "sum"}),
    "allowed_lateness_ms": ImportWords(allowed_lateness_ms=1),
    "timeout": ImportWords(timeout="event_time"),
    "ttl_ms": ImportWords(ttl_ms={"seen": 1}),
}


@each("name", WORDS)
def test_a_word_that_would_do_nothing_is_refused(name: str) -> None:
    for form in StateForm:
        expect_words_of(form, ImportWords())
        if form in FORMS[name]:
            expect_words_of(form, WORDS[name])
        else:
            with pytest.raises(RefusedError, match=f"^{name} is for .*leave {name} out"):
                expect_words_of(form, WORDS[name])


def test_an_aggregate_with_the_name_of_an_argument_is_refused() -> None:
    others = {*inspect.signature(SparkCheckpoint.aggregation).parameters} - {"aggregates"}
    assert others == {"self", "operator", "key"}
    for name in others:
        with pytest.raises(ColumnTypeError, match=f"can't be called '{name}'"):
            expect_words_of(
                StateForm.AGGREGATION, ImportWords(aggregates={"n": "sum", name: "sum"})
            )


def test_state_of_windows_goes_only_into_state_of_windows_of_time() -> None:
    total = ValueStateDescriptor("total", Types.LONG())
    plain = NewState.of(total, "total", None)
    of_windows = NewState.of(total, "total", None, constructed.time_window())
    by_number = NewState.of(total, "total", None, Types.LONG().snapshot)
    expect_windows(plain, has_windows=False)
    expect_windows(of_windows, has_windows=True)
    for state in (plain, by_number):
        with pytest.raises(RefusedError, match=r"has windows .* 'total' .* is not kept"):
            expect_windows(state, has_windows=True)
    for state in (of_windows, by_number):
        with pytest.raises(RefusedError, match=r"has no windows, .* 'total' .* is kept"):
            expect_windows(state, has_windows=False)


@each(
    ("form", "timers", "words", "expected"),
    [
        (StateForm.AGGREGATION, "", ImportWords(aggregates={"event_time": "max"}), ()),
        (StateForm.SESSIONS, "", ImportWords(), ()),
        (StateForm.DEDUPLICATION, "", ImportWords(), ()),
        (StateForm.DEDUPLICATION_WITHIN_WATERMARK, "event time", ImportWords(), ("event_time",)),
        (StateForm.STATE_VARIABLES, "", ImportWords(), ()),
        (StateForm.STATE_VARIABLES, "processing time", ImportWords(), ("processing_time",)),
        (StateForm.STATE_VARIABLES, "event time", ImportWords(), ("event_time",)),
        (StateForm.GROUP_STATE, "not stored", ImportWords(), ()),
        (StateForm.GROUP_STATE, "not stored", ImportWords(timeout="event_time"), ("event_time",)),
    ],
)
def test_only_an_operators_own_timers_are_timers(
    form: StateForm, timers: str, words: ImportWords, expected: tuple[str, ...]
) -> None:
    described = StreamOperator(
        0, "", form.value, "k string", ("event_time",), timers, 0, 1, True, ""
    )
    assert timer_columns(described, words) == expected


def test_columns_go_into_states_of_their_names_or_all_into_the_only_one() -> None:
    assert columns_of_states(["n", "total"], ["total", "n", "new"]) == {
        "n": ("n",),
        "total": ("total",),
    }
    assert columns_of_states(["n", "total"], ["whole"]) == {"whole": ["n", "total"]}
    assert columns_of_states(["n"], ["n"]) == {"n": ("n",)}
    assert columns_of_states([], ["n"]) == {}
    for columns, states in ((["n", "total"], ["n"]), (["n"], ["a", "b"]), (["n"], [])):
        with pytest.raises(ColumnTypeError, match="the new job's operator has no state"):
            columns_of_states(columns, states)
    with pytest.raises(ColumnTypeError, match="called 'key' like the column of keys"):
        columns_of_states(["n"], ["key"])
