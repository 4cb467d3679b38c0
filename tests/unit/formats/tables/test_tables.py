"""The tables of an operator: which there are, what they are called, and their columns."""

from __future__ import annotations

from savepoint_formats.layout import (
    Layout,
    Long,
    MapOf,
    Nullable,
    Opaque,
    Struct,
    Text,
    TimerTimestamp,
    Ttl,
)
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.tables.tables import Column, Table, tables_of

WINDOW = Struct(("start", "end"), (Long(), Long()))


def value(name: str, namespace: Layout | None = None, stored: Layout | None = None) -> State:
    return State(name, StateKind.VALUE, stored or Long(), Text(), namespace)


def timers(name: str, namespace: Layout | None = None) -> State:
    timer = Struct(("timestamp", "key", "namespace"), (TimerTimestamp(), Text(), Long()))
    return State(name, StateKind.TIMERS, timer, Text(), namespace)


def operator_list(name: str) -> State:
    return State(name, StateKind.OPERATOR_LIST, Long())


def names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def test_an_operator_without_state_has_no_tables() -> None:
    assert tables_of([]) == ()


def test_all_keyed_state_is_one_table() -> None:
    states = value("a"), value("b", stored=Ttl(Text()))
    (table,) = tables_of(states)
    assert table == Table(
        "keyed_state", (Column("key", Text()), Column("a", Long()), Column("b", Text())), states
    )


def test_state_with_a_namespace_has_a_table_for_each_of_its_types() -> None:
    tables = tables_of([value("a", WINDOW), value("b", Long()), value("c", WINDOW), value("d")])
    assert [(table.name, names(table)) for table in tables] == [
        ("keyed_state", ["key", "d"]),
        ("window_state", ["key", "namespace", "a", "c"]),
        ("window_state_2", ["key", "namespace", "b"]),
    ]


def test_timers_of_both_domains_are_one_table() -> None:
    (table,) = tables_of([timers("_timer_state/event_x"), timers("_timer_state/processing_x")])
    assert (table.name, names(table)) == ("timers", ["key", "timestamp", "time_domain", "service"])
    (table,) = tables_of([timers("_timer_state/event_x", WINDOW)])
    assert names(table)[:3] == ["key", "namespace", "timestamp"]


def test_timers_of_an_unknown_serializer_are_a_value_only() -> None:
    unknown = State("custom", StateKind.TIMERS, Opaque("a.B", "unknown"), Text())
    tables = tables_of([unknown, timers("_timer_state/event_x")])
    assert [(table.name, names(table)) for table in tables] == [
        ("timers", ["value"]),
        ("timers_2", ["key", "timestamp", "time_domain", "service"]),
    ]


def test_each_operator_state_is_a_table() -> None:
    broadcast = State("b", StateKind.BROADCAST, Long(), Text())
    tables = tables_of([operator_list("a"), broadcast])
    assert [(table.name, names(table)) for table in tables] == [
        ("a", ["value"]),
        ("b", ["key", "value"]),
    ]


def test_an_operator_state_gives_way_to_the_tables_of_keyed_state() -> None:
    tables = tables_of([value("a"), operator_list("Keyed_State"), operator_list("timers")])
    assert [table.name for table in tables] == [
        "keyed_state",
        "operator_state.Keyed_State",
        "timers",
    ]


def test_operator_states_that_differ_in_case_have_their_own_names() -> None:
    states = "a", "A", "operator_state.a"
    assert [table.name for table in tables_of(map(operator_list, states))] == list(states)
    states = "Timers", "timers", "operator_state.timers"
    tables = tables_of([timers("t"), *map(operator_list, states)])
    assert [table.name for table in tables[1:]] == [
        "operator_state.Timers",
        "operator_state.operator_state.timers",
        "operator_state.timers",
    ]


def test_keyed_states_that_differ_in_case_have_no_column_of_either_name() -> None:
    (table,) = tables_of([value(name) for name in ("a", "A", "b", "a_e8b7be43")])
    assert names(table) == ["key", "a_e8b7be43_", "A_d3d99e8b", "b", "a_e8b7be43"]
    assert [state.name for _, state in table.state_columns()] == ["a", "A", "b", "a_e8b7be43"]
    (alone,) = tables_of([value("a"), value("b")])
    assert names(alone) == ["key", "a", "b"]


def test_a_keyed_and_an_operator_state_may_have_one_name() -> None:
    tables = tables_of([value("a"), operator_list("a")])
    assert [(table.name, names(table)) for table in tables] == [
        ("keyed_state", ["key", "a"]),
        ("a", ["value"]),
    ]


def test_a_state_gives_way_to_the_columns_of_its_table() -> None:
    (table,) = tables_of([value("Key"), value("state_key")])
    assert names(table) == ["key", "state_Key", "state_state_key"]
    (table,) = tables_of([value("namespace", WINDOW)])
    assert names(table) == ["key", "namespace", "state_namespace"]


def test_a_state_gives_way_to_columns_that_are_asked_for_or_given() -> None:
    """A column that ``like`` takes for the key group, or a read adds as one, is no state."""
    (table,) = tables_of([value(name) for name in ("namespace", "key_group", "Subtask", "scope")])
    shown = ["state_namespace", "state_key_group", "state_Subtask", "state_scope"]
    assert names(table) == ["key", *shown]
    assert [column.name for column, _ in table.state_columns()] == shown


def test_the_order_of_states_is_that_of_columns() -> None:
    stored = MapOf(Text(), Nullable(Ttl(Long())))
    (table,) = tables_of([value("b", stored=stored), value("a")])
    assert table.columns[1:] == (
        Column("b", MapOf(Text(), Nullable(Long()))),
        Column("a", Long()),
    )


def test_raw_state_has_tables_of_fixed_names() -> None:
    raw = [
        State("raw_keyed_state", StateKind.RAW_KEYED, Opaque("", "raw")),
        State("raw_operator_state", StateKind.RAW_OPERATOR, Opaque("", "raw")),
        State("coordinator_state", StateKind.COORDINATOR, Opaque("", "raw")),
    ]
    tables = tables_of([operator_list("raw_keyed_state"), *raw])
    assert [(table.name, [column.name for column in table.columns]) for table in tables] == [
        ("operator_state.raw_keyed_state", ["value"]),
        ("raw_keyed_state", ["key_group", "value"]),
        ("raw_operator_state", ["value"]),
        ("coordinator_state", ["value"]),
    ]


def test_an_escaped_name_is_told_from_a_name_that_has_the_same_characters() -> None:
    tables = tables_of([operator_list("\ud800"), operator_list(r"\ud800")])
    assert [table.name for table in tables] == [r"operator_state.\ud800", r"\ud800"]
