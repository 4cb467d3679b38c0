"""Files of changes: what they say, and all their mistakes with lines and columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_extensions.change_files.change_file import ChangeFile, ChangeFileError, entry_text
from savepoint_formats.errors import DescriptionError

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_extensions.change_files.change_words import Words

FILE = "changes.yaml"


def words(text: str) -> Words:
    (entry,) = ChangeFile.of_text(text, FILE).entries
    return {
        name: value for name, value in entry.words.items() if value not in (None, (), {}, False)
    }


def problems(text: str) -> list[str]:
    with pytest.raises(ChangeFileError) as raised:
        ChangeFile.of_text(text, FILE)
    lines = [problem.removeprefix(f"{FILE} ") for problem in raised.value.problems]
    assert str(raised.value) == "; ".join(raised.value.problems)
    return lines


def test_an_entry_has_the_name_of_a_command_and_its_words() -> None:
    text = """
    # reviewed
    - rename-state: {operator: summarize, old: total, new: sum}
    - convert:
    - rescale:
        max-parallelism: 64
    """
    first, second, third = ChangeFile.of_text(text, FILE).entries
    assert first.words == {"operator": "summarize", "old": "total", "new": "sum"}
    assert (first.line, first.place) == (3, "changes.yaml line 3 column 7, rename-state")
    assert second.words == {"format": None, "drop-in-flight": False}
    assert third.words == {"max-parallelism": 64, "parallelism": None, "hash-codes": {}}


@pytest.mark.parametrize(
    "name", ["2.2", "yes", "null", "1_000", "2024-01-01", "0x10", "~x", "a: b"]
)
def test_a_text_is_what_is_written_whatever_yaml_makes_of_it(name: str) -> None:
    shown = json.dumps(name) if name in ("null", "a: b") else name
    text = f"- rename-operator: {{old: {shown}, new: n}}"
    assert words(text) == {"old": name, "new": "n"}


def test_json_is_yaml() -> None:
    changes = [{"remove-state": {"operator": "summarize", "state": "count"}}]
    assert words(json.dumps(changes)) == changes[0]["remove-state"]


def test_all_mistakes_are_told_at_once_with_lines_and_columns() -> None:
    text = """\
- rename-stat: {operator: summarize}
- rename-state: {operater: a, old: b, new: [c]}
- rescale:
    max-parallelism: 70000
    parallelism: "3"
- remove-operator: {operator: a, operator: b}
- just text
- {convert: {}, remove-operator: {}}
- convert: native
- sample: {}
- update-state: {operator: a, state: b, set: c, where: }
- migrate: {target: 2.4, skip-state: [a]}
- sample: {fraction: 1.5, key: []}
- mask: {rules: nowhere.yaml, strict: maybe}
- mask: {rules: [{method: hsah}, text]}
- rename-class: {old: a}
- rename-class: {classes: {a: b}, old: c, new: d}
"""
    assert problems(text) == [
        "line 1 column 3: there is no change 'rename-stat'; did you mean 'rename-state'?",
        (
            "line 2 column 18: rename-state has no 'operater'; it has: operator, old, new;"
            " did you mean 'operator'?"
        ),
        "line 2 column 44: 'new' is a list, expected a text",
        "line 2 column 17: rename-state needs 'operator'",
        "line 4 column 22: 'max-parallelism' is '70000', expected a number of 1 to 32768",
        "line 5 column 18: 'parallelism' is '3', expected a number of 1 to 32768",
        "line 6 column 34: remove-operator has 'operator' twice",
        "line 7 column 3: it is 'just text', expected the name of one change with its words",
        "line 8 column 3: it is 2 names, expected the name of one change with its words",
        "line 9 column 12: convert is 'native', expected a mapping of its words",
        "line 10 column 3: sample needs one of 'fraction', 'key' and 'per-key-group'",
        "line 11 column 55: 'where' has no value: add it, or remove the word",
        (
            "line 12 column 21: 'target' is '2.4', expected one of 2.0, 2.1, 2.2, 2.3;"
            " did you mean '2.3'?"
        ),
        "line 13 column 22: 'fraction' is '1.5', expected a fraction above 0 to 1",
        "line 13 column 32: 'key' is an empty list, expected one text or more",
        "line 14 column 17: 'rules': there is no file nowhere.yaml",
        "line 14 column 39: 'strict' is 'maybe', expected true or false",
        (
            "line 15 column 27: 'method' is 'hsah', expected one of keep, null, fixed, hash, digits,"
            " email, shift, fake, sql; did you mean 'hash'?"
        ),
        "line 15 column 34: 'rules' is 'text', expected a mapping",
        (
            "line 16 column 3: rename-class needs 'old' and 'new', or 'classes' with a pair of names or"
            " more"
        ),
        (
            "line 17 column 3: rename-class needs 'old' and 'new', or 'classes' with a pair of names or"
            " more"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty, expected a list of changes"),
        ("# nothing", "is empty, expected a list of changes"),
        ("[]", "line 1 column 1: there are no changes, expected a list of them"),
        ("convert:", "line 1 column 1: it is a mapping, expected a list of changes"),
        ("- [x", "line 1 column 5: it is not YAML: expected ',' or ']', but got '<stream end>'"),
        ("\x00", ("it is not YAML: unacceptable character #x0000: special characters are not allowed"
         ' in "<unicode string>", position 0')),
    ],
    ids=["empty", "comment", "no changes", "a mapping", "open", "zero"],
)  # fmt: skip
def test_what_is_no_list_of_changes(text: str, problem: str) -> None:
    assert problems(text) == [problem]


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("rules: []")
    (tmp_path / FILE).write_text("- mask: {rules: rules.yaml}")
    (entry,) = ChangeFile.of(tmp_path / FILE).entries
    assert entry.words["rules"] == str(tmp_path / "rules.yaml")
    assert words("- mask: {rules: 's3://jobs/rules.yaml'}") == {"rules": "s3://jobs/rules.yaml"}


def test_a_list_of_python_has_numbers_for_lines(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text("{}")
    first, second = ChangeFile.of([{"convert": None}, {"sql-migrate": {"new": plan}}]).entries
    assert (first.line, second.line, second.place) == (1, 2, "change 2")
    assert second.words["new"] == str(plan)
    with pytest.raises(DescriptionError) as raised:
        ChangeFile.of(
            [{"convert": {"to": "x"}}, {"remove-state": {"operator": [1, 2], "state": "s"}}]
        )
    assert str(raised.value) == (
        "change 1: convert has no 'to'; it has: format, drop-in-flight;"
        " change 2: 'operator' is a list, expected a text"
    )
    with pytest.raises(DescriptionError, match="change 1 has something else than plain values"):
        ChangeFile.of([{"remove-operator": {"operator": object()}}])
    with pytest.raises(DescriptionError, match="there are no changes"):
        ChangeFile.of([])


def test_a_file_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r"changes\.yaml can't be read"):
        ChangeFile.of(tmp_path / FILE)
    (tmp_path / FILE).write_bytes(b"\xff")
    with pytest.raises(DescriptionError, match=r"changes\.yaml can't be read"):
        ChangeFile.of(tmp_path / FILE)


@given(st.text(min_size=1), st.text(min_size=1))
def test_every_text_comes_back_from_an_entry(old: str, new: str) -> None:
    change: Any = {"rename-operator": {"old": old, "new": new}}
    assert words(entry_text(change)) == change["rename-operator"]
