"""A file of thresholds: its words, and all of its mistakes with line and column."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from support.commands import run

from savepoint_extensions.watch.spans import Span
from savepoint_extensions.watch.threshold_file import (
    STATE_WORDS,
    WORDS,
    ThresholdError,
    Thresholds,
    threshold_schema,
)

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
size: 500 GB
state-size: 1.5 TB
growth-per-day: 1 GB   # of any state
over: 6 h
after: 20 checkpoints
expired-share: 30%
age: 15 min
states:
  orders.open: {growth-per-day: 100 MB, size: 20 GiB}
  "orders._timer_state/processing_user-timers": {overdue-timers: 1000}
"""


def test_each_word_has_its_number() -> None:
    thresholds = Thresholds.of_text(TEXT, "limits.yaml")
    assert thresholds.limits == {
        "size": 500e9,
        "state-size": 1.5e12,
        "growth-per-day": 1e9,
        "expired-share": 0.3,
        "age": 900.0,
    }
    assert (thresholds.over, thresholds.after) == (Span(seconds=21_600), Span(checkpoints=20))
    assert thresholds.limit("growth-per-day", "orders.open") == 1e8
    assert thresholds.limit("growth-per-day", "orders.other") == 1e9
    assert thresholds.limit("size", "orders.open") == 20 * 2**30
    assert thresholds.limit("size", "orders.other") == 1.5e12
    assert thresholds.limit("size") == 500e9
    assert thresholds.limit("key-size") is None


@pytest.mark.parametrize("name", list(WORDS))
def test_the_example_of_each_word_is_right(name: str) -> None:
    assert Thresholds.of_text(
        f"age: 1 h\n{name}: {WORDS[name].example}" if name != "age" else "age: 15 min", "f"
    )


def test_all_mistakes_are_told_with_line_and_column() -> None:
    text = "size: many\nages: 1 h\nage: 15\nover: 2 checkpoints\nstates:\n  a.b: {siz: 1}\n  c: 3\n"
    with pytest.raises(ThresholdError) as raised:
        Thresholds.of_text(text, "f.yaml")
    problems = raised.value.problems
    assert sorted(problem.partition(": ")[0] for problem in problems) == [
        "f.yaml line 1 column 7",
        "f.yaml line 2 column 1",
        "f.yaml line 3 column 6",
        "f.yaml line 4 column 7",
        "f.yaml line 6 column 9",
        "f.yaml line 7 column 6",
    ]
    assert "did you mean 'age'" in str(raised.value)
    assert "has no unit" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no threshold"),
        ("- size: 1", "line 1 column 1: expected a mapping"),
        ("size: 1\nsize: 2", "line 2 column 1: 'size' is there twice"),
        ("size: [1]", "line 1 column 7: size is no single value"),
        ("age: *a", "line 1 column 6: an alias"),
        ("size: 1\nage: *size", "line 2 column 6: an alias"),
        ("size: {", "not YAML"),
        ("expired-share: 140%", "expected a share"),
        ("size: -5 GB", "expected bytes"),
        ("key-entries: .nan", "expected a number"),
        ("over: 6 hourss", "expected a time"),
    ],
)
def test_what_is_no_threshold_is_refused(text: str, told: str) -> None:
    with pytest.raises(ThresholdError, match=told):
        Thresholds.of_text(text, "f.yaml")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ThresholdError, match="can't be read"):
        Thresholds.of_file(tmp_path / "none.yaml")


def test_the_schema_allows_what_is_read_and_names_each_word() -> None:
    schema = threshold_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    names: dict[str, Any] = schema["properties"]
    assert names.keys() == {*WORDS, "states"}
    assert names["states"]["additionalProperties"]["properties"].keys() == STATE_WORDS.keys()
    jsonschema.validate({"size": "500 GB", "states": {"a.b": {"size": 3}}}, schema)
    wrongs: list[Any] = [{}, {"sizes": 3}, {"states": {"a.b": {"age": "1 h"}}}, []]
    for wrong in wrongs:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_the_command_prints_the_schema() -> None:
    code, text = run("watch", "--schema")
    assert (code, json.loads(text)) == (0, threshold_schema())


@pytest.mark.parametrize(
    ("limits", "states", "told"),
    [
        ({"sizes": 1}, {}, r"no threshold 'sizes', expected one of .*did you mean 'size'"),
        ({"over": 1}, {}, "no threshold 'over'"),
        ({"size": "10 GB"}, {}, "'size' is '10 GB', expected a number"),
        ({"size": None}, {}, "'size' is None"),
        ({"size": True}, {}, "'size' is True"),
        ({"size": float("nan")}, {}, "'size' is nan"),
        ({"size": -1}, {}, "'size' is -1"),
        ({}, {"a.total": {"age": 1}}, "no threshold 'age'"),
        ({}, {"a.total": {"size": "1"}}, "'size' is '1'"),
    ],
)
def test_wrong_thresholds_in_python_are_errors(limits: Any, states: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Thresholds(limits, states)


@pytest.mark.parametrize(
    "numbers",
    [{}, {"checkpoints": 1, "seconds": 1}, {"checkpoints": -1}, {"seconds": float("nan")}],
)
def test_a_span_is_of_checkpoints_or_of_seconds(numbers: Any) -> None:
    with pytest.raises(ValueError, match="expected either checkpoints or seconds, 0 or more"):
        Span(**numbers)
