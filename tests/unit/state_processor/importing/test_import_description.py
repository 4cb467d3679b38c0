"""A description in YAML says what becomes of rows, or where its mistake is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from savepoint_formats.errors import DescriptionError
from state_processor import ListStateDescriptor, MapStateDescriptor, Types, ValueStateDescriptor
from state_processor.importing.import_description import (
    ImportDescription,
    KeyedDescription,
    LikeDescription,
    OperatorStateDescription,
    StateDescription,
    TimerDescription,
    WindowDescription,
)

if TYPE_CHECKING:
    from pathlib import Path

KEYED = """\
uid: totals
max_parallelism: 16
parallelism: 2
base: old
keyed_state:
  key: [shop, till]
  key_type: TUPLE<STRING, INT>
  key_groups: key_group
  states:
    - {name: total, type: LONG}
    - {name: tags, kind: list, type: LIST<STRING>, column: labels, merge: concat}
    - {name: seen, kind: map, type: "MAP<INT, LONG>", ttl: true, last_access: at}
  timers:
    - {time_domain: event, column: due}
    - {time_domain: processing, column: late, is_list: yes, service: mine}
"""
OTHERS = """\
uid: buffer
operator_state:
  - {name: ids, kind: list, type: LONG}
  - {name: rates, kind: broadcast, type: "MAP<INT, DOUBLE>", value: rate}
"""
LIKE = "uid: a\nlike: {savepoint: path, operator: b}\n"
WINDOWED = """\
uid: hourly
keyed_state:
  key: shop
  states: [{name: window-contents, type: LONG}]
  window: {start: begin, end: until, is_merging: true, allowed_lateness_ms: 5}
"""


def test_keyed_state_has_a_key_states_and_timers() -> None:
    seen = MapStateDescriptor("seen", Types.INT(), Types.LONG()).with_ttl()
    expected = KeyedDescription(
        ("shop", "till"),
        Types.TUPLE([Types.STRING(), Types.INT()]),
        "key_group",
        (
            StateDescription(ValueStateDescriptor("total", Types.LONG()), "total", None, None),
            StateDescription(ListStateDescriptor("tags", Types.STRING()), "labels", None, "concat"),
            StateDescription(seen, "seen", "at", None),
        ),
        (
            TimerDescription("event", "due", False, "user-timers"),
            TimerDescription("processing", "late", True, "mine"),
        ),
        None,
    )
    found = ImportDescription.parse(KEYED, "a.yaml")
    assert found == ImportDescription("a.yaml", "totals", 16, 2, "old", expected, (), None)


def test_rows_may_be_of_windows() -> None:
    keyed = ImportDescription.parse(WINDOWED).keyed
    assert keyed is not None
    assert keyed.window == WindowDescription(("begin", "until"), True, False, 5)


def test_operator_states_have_columns() -> None:
    assert ImportDescription.parse(OTHERS).operator_states == (
        OperatorStateDescription("list", ListStateDescriptor("ids", Types.LONG()), ("ids",)),
        OperatorStateDescription(
            "broadcast",
            MapStateDescriptor("rates", Types.INT(), Types.DOUBLE()),
            ("key", "rate"),
        ),
    )


def test_types_may_come_from_an_existing_operator() -> None:
    assert ImportDescription.parse(LIKE).like == LikeDescription("path", "b", None)
    found = ImportDescription.parse(LIKE.replace("}", ", ttl_times: now}")).like
    assert found == LikeDescription("path", "b", None, "now")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.yaml is empty"),
        ("uid: [", "a.yaml line 1: it is not YAML"),
        ("- uid", "line 1: it is a list, expected a mapping"),
        ("uid: a", "line 1: nothing becomes state: add one of keyed_state, operator_state, like"),
        ("uid: a\nkeys: b", "line 2: there is no field 'keys', expected one of uid, max_para"),
        (KEYED.replace("uid: totals\n", ""), "line 1: field 'uid' is missing"),
        (KEYED + "uid: b\n", "line 16: field 'uid' is given twice"),
        ("uid: a\n? [b]\n: c\n", "line 2: a field named by a list, expected a name"),
        (KEYED.replace("uid: totals", "uid: {a: b}"), "line 1, uid: it is a mapping, expected a"),
        (KEYED.replace(": 16", ": x"), "line 2, max_parallelism: it is 'x', expected a number of"),
        (KEYED.replace(": 16", ": 1"), "line 3, parallelism: it is more than max_parallelism 1"),
        (KEYED.replace(": 16", ": 99999"), "it is '99999', expected a number of 1 to 32768"),
        (
            KEYED.replace("LONG}", "LNG}"),
            r"line 10, keyed_state.states\[0\].type: 'LNG' is no type",
        ),
        (KEYED.replace("LIST<STRING>", "STRING"), "line 11, .*type: 'STRING' is no type: .* LIST"),
        (KEYED.replace("kind: map", "kind: mop"), "line 12, .*kind: it is 'mop', expected one of"),
        (KEYED.replace("concat", "join"), "line 11, .*merge: it is 'join', expected one of sum"),
        (KEYED.replace("ttl: true, ", ""), "line 12, .*last_access: only a state with ttl has"),
        (KEYED.replace("name: tags", "name: total"), "line 10, .*states: 'total' is given twice"),
        (KEYED.replace("[shop, till]", "[]"), "line 6, keyed_state.key: it is an empty list"),
        (KEYED.replace("[shop, till]", "[[a]]"), "line 6, keyed_state.key: it has a list in it"),
        (KEYED.replace("time_domain: event", "time_domain: e"), "line 14, .*expected one of event"),
        (KEYED.replace("is_list: yes", "is_list: some"), "line 15, .*is_list: it is 'some', exp"),
        (KEYED + "  window: {column: w}\n", "line 14, .*timers: windows have timers of their own"),
        (WINDOWED.replace("{start", "{column: w, start"), "line 5, .*: name one"),
        (WINDOWED.replace(", end: until", ""), "line 5, keyed_state.window: field 'end' is mis"),
        (WINDOWED.replace("states: ", "timers: "), "there is no field 'name'"),
        ("uid: a\nkeyed_state: {key: b}", "line 2, keyed_state: no column becomes state"),
        ("uid: a\nkeyed_state: b", "line 2, keyed_state: it is 'b', expected a mapping"),
        ("uid: a\noperator_state: b", "line 2, operator_state: it is 'b', expected a list"),
        (OTHERS.replace("kind: list", "kind: map"), "line 3, .*expected one of list, union, broad"),
        (OTHERS.replace("LONG}", "LONG, key: a}"), "line 3, .*: there is no field 'key'"),
        (LIKE + "keyed_state: {key: a, states: []}", "line 2, like: types come from there"),
        (LIKE.replace(", operator: b", ""), "line 2, like: field 'operator' is missing"),
        (LIKE.replace("}", ", ttl_times: never}"), "it is 'never', expected one of now"),
        (LIKE.replace("}", ", state: c, ttl_times: now}"), "ttl_times: operator state has no time"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(DescriptionError, match=message):
        ImportDescription.parse(text, "a.yaml")


def test_a_tag_of_yaml_makes_no_object() -> None:
    tagged = '!!python/object/apply:os.mkdir ["owned"]'
    with pytest.raises(DescriptionError, match="line 1, uid: it is a list, expected a"):
        ImportDescription.parse(f"uid: {tagged}\nlike: {{savepoint: a, operator: b}}")
    assert not os.path.exists("owned")


def test_a_file_in_another_encoding_is_told(tmp_path: Path) -> None:
    file = tmp_path / "totals.yaml"
    file.write_bytes("uid: Zoë\n".encode("latin-1"))
    with pytest.raises(DescriptionError, match=r"totals.yaml at byte 7: it is not UTF-8"):
        ImportDescription.of_file(file)


@pytest.mark.parametrize("text", ["[" * 20_000, "uid: " + "{a: " * 20_000, "- " * 20_000])
def test_what_is_nested_too_deeply_is_told(text: str) -> None:
    with pytest.raises(DescriptionError, match="line 1: it is nested more than 64 deep"):
        ImportDescription.parse(text)


def test_a_character_that_yaml_does_not_have_is_told_in_one_line() -> None:
    with pytest.raises(DescriptionError, match=r"it is not YAML: .*not allowed") as error:
        ImportDescription.parse("uid: \x00")
    assert "\n" not in str(error.value)
