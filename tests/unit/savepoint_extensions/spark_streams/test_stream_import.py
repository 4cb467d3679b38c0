"""What is refused before state of a query is read: words for other state, and windows without a place."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import StructType
from support.each import each

from savepoint_extensions.spark_streams.import_words import ImportWords
from savepoint_extensions.spark_streams.joined_states import joined_states
from savepoint_extensions.spark_streams.new_types import NewTypes
from savepoint_extensions.spark_streams.stream_import import (
    beginning_empty,
    columns_of_states,
    expect_windows,
    timer_columns,
    values_in_order,
)
from savepoint_extensions.spark_streams.stream_operator import StateForm, StreamOperator
from savepoint_formats.errors import ColumnTypeError, RefusedError, StateNotFoundError
from savepoint_formats.savepoint_warnings import LostStateWarning
from savepoint_formats.snapshots import constructed
from savepoint_spark.writing import NewState
from state_processor import Types, ValueStateDescriptor

FORMS = {
    "aggregates": (StateForm.AGGREGATION, StateForm.SESSIONS),
    "allowed_lateness_ms": (StateForm.AGGREGATION, StateForm.SESSIONS),
    "timeout": (StateForm.GROUP_STATE,),
    "ttl_ms": (StateForm.STATE_VARIABLES,),
    "left": (StateForm.JOIN,),
    "right": (StateForm.JOIN,),
    "on": (StateForm.JOIN,),
}
WORDS = {
    "aggregates": ImportWords(aggregates={"total": "sum"}),
    "allowed_lateness_ms": ImportWords(allowed_lateness_ms=1),
    "timeout": ImportWords(timeout="event_time"),
    "ttl_ms": ImportWords(ttl_ms={"seen": 1}),
    "left": ImportWords(left=("k",)),
    "right": ImportWords(right=("k",)),
    "on": ImportWords(on="true"),
}


TYPES = NewTypes(
    "totals",
    Types.STRING().snapshot,
    tuple(
        NewState.of(ValueStateDescriptor(name, Types.LONG()), name, None)
        for name in ("n", "new", "old")
    ),
)


@each("name", ["IntervalJoinLeftCache", "LEFT_BUFFER"])
def test_a_join_by_intervals_is_refused_with_a_way_out(name: str) -> None:
    state = NewState.of(ValueStateDescriptor(name, Types.LONG()), name, None)
    no_table: Any = None
    with pytest.raises(
        RefusedError, match=r"operator j joins by intervals .* makes it a Join, with"
    ):
        joined_states(no_table, ["k"], NewTypes("j", TYPES.key, (state,)), ImportWords())


def test_aggregates_go_by_position_only_if_none_has_a_name_of_the_job() -> None:
    def way(columns: list[str], wanted: StructType, aggregates: dict[str, str]) -> str:
        ordered, way = values_in_order(columns, wanted, aggregates)
        assert ordered == columns
        return way

    row = StructType().add("EXPR$1", "long").add("n", "long")
    assert not way(["total", "number"], row, {"total": "sum", "number": "count"})
    assert "Call the aggregates" in way(["n", "number"], row, {"n": "sum", "number": "sum"})
    assert "Call the aggregates" in way(["sum", "count"], row, {})
    pair = StructType().add("f0", "long").add("f1", "long")
    assert not way(["sum", "count"], pair, {})
    assert "Call the aggregates" in way(["f1", "n"], pair, {"f1": "sum", "n": "count"})
    average = StructType().add("total", "long").add("Mean_sum", "double").add("Mean_count", "long")
    assert "Call the" in way(["x", "mean"], average, {"x": "sum", "mean": "avg BIGINT"})


def test_aggregates_that_are_called_by_positions_go_there() -> None:
    pair = StructType().add("f0", "long").add("f1", "long")
    words = {"f1": "sum", "f0": "count"}
    assert values_in_order([*words], pair, words) == (["f0", "f1"], "")


def test_states_without_a_column_are_named() -> None:
    with pytest.warns(
        LostStateWarning, match=r"operator totals begins without new, old: .*begin_empty"
    ):
        assert beginning_empty(TYPES, {"n"}, ()) == []
    with pytest.warns(LostStateWarning, match=r"begins without old: "):
        (state,) = beginning_empty(TYPES, {"n"}, ("new",))
    assert state.name == "new"


def test_what_is_wanted_is_not_named(recwarn: pytest.WarningsRecorder) -> None:
    assert beginning_empty(TYPES, {"n", "new", "old"}, ()) == []
    assert [it.name for it in beginning_empty(TYPES, {"n"}, ("old", "new"))] == ["old", "new"]
    assert not recwarn.list


@each("name", ["n", "nwe"])
def test_a_state_that_has_a_column_or_is_none_does_not_begin_empty(name: str) -> None:
    with pytest.raises(
        StateNotFoundError, match=f"begin_empty='{name}', but operator totals has no"
    ):
        beginning_empty(TYPES, {"n", "old"}, (name,))


@each(
    "words",
    [ImportWords(allowed_lateness_ms=1), ImportWords(window_time="processing_time")],
)
def test_words_of_windows_need_windows(words: ImportWords) -> None:
    with pytest.raises(RefusedError, match="is for windows, and operator 0 has none: leave"):
        words.expect_no_windows(0)
    ImportWords().expect_no_windows(0)


def test_words_that_no_job_can_mean_are_refused() -> None:
    with pytest.raises(ValueError, match="allowed_lateness_ms=-1, expected 0 or more"):
        ImportWords(allowed_lateness_ms=-1)
    with pytest.raises(ValueError, match="window_time='clock', expected 'event_time' or"):
        ImportWords(window_time="clock")  # type: ignore[arg-type]  # as a user may write


@each("name", WORDS)
def test_a_word_that_would_do_nothing_is_refused(name: str) -> None:
    for form in StateForm:
        ImportWords().expect_form(form)
        if form in FORMS[name]:
            WORDS[name].expect_form(form)
        else:
            with pytest.raises(RefusedError, match=f"^{name} is for .*leave {name} out"):
                WORDS[name].expect_form(form)


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
