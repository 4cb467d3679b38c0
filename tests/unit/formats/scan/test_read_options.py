"""The options of a read: which there are, by which names, and what of them is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.sample_rows import Sample, rows_of

from savepoint_formats.errors import ColumnNotFoundError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.scan.read_options import ReadOptions

STATES = Sample("states-2.2.1-hashmap-canonical")
TABLE = "stateful.keyed_state"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"keys": "customer-001"},
            r"keys is 'customer-001', expected a list: keys=\['customer-001",
        ),
        ({"keys": b"a"}, r"keys is b'a', expected a list: keys=\[b'a'\]"),
        ({"keys": 5}, "keys is 5, expected a list of keys"),
        ({"keys": {"a": 1}}, "keys is {'a': 1}, expected a list of keys"),
        ({"columns": "total"}, r"columns is 'total', expected a list: columns=\['total'\]"),
        ({"columns": [1]}, r"columns is \(1,\), expected a list of names"),
        ({"key_groups": 1.5}, "key_groups is 1.5, expected key groups, such as 3 or '0-15'"),
        ({"key_groups": True}, "key_groups is True"),
        ({"flat": ["memos"]}, r"flat is \['memos'\], expected the name of a list or map state"),
        ({"with_key_group": "true"}, "with_key_group is 'true', expected True or False"),
        ({"with_subtask": None}, "with_subtask is None, expected True or False"),
        ({"with_times": 1}, "with_times is 1, expected True or False"),
        ({"merge": "sum"}, "merge is 'sum', expected rules by the names of states"),
        ({"merge": {"count": 1}}, "merge is {'count': 1}, expected rules"),
        ({"chunk_size": "1 MB"}, "chunk_size is '1 MB', expected a number of bytes"),
    ],
)
def test_what_is_of_a_wrong_type_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ReadOptions.of(wrong)
    with pytest.raises(TypeError, match=message):
        STATES.open().scan(TABLE, **wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"key_groups": "all"},
            "key_groups is 'all', expected a number or range such as 3 or '0-15'",
        ),
        ({"key_groups": "5-1"}, "key_groups is '5-1'"),
        ({"key_groups": -1}, "key_groups is -1"),
        ({"chunk_size": 0}, "chunk_size is 0, expected a number of bytes"),
        ({"columns": []}, "columns is empty, expected names"),
        ({"columns": ["key", "key"]}, "column 'key' is named twice"),
    ],
)
def test_what_no_option_can_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        STATES.open().scan(TABLE, **wrong)


def test_options_that_are_made_directly_are_checked_too() -> None:
    with pytest.raises(TypeError, match="keys is 'abc', expected a list of keys"):
        ReadOptions(keys="abc")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a list of names"):
        ReadOptions(columns=["key"])  # type: ignore[arg-type]


@pytest.mark.parametrize("keys", [["", " "], ("", " "), {"", " "}, iter(["", " "])], ids=type)
def test_a_list_may_be_any_iterable(keys: Any) -> None:
    rows = rows_of(STATES.open().scan(TABLE, keys=keys))
    assert sorted(row["key"] for row in rows) == ["", " "]


def test_key_groups_may_be_a_range_a_text_or_a_number() -> None:
    for given in (KeyGroupRange(3, 3), 3, "3", "3-3"):
        assert ReadOptions.of({"key_groups": given}).key_groups == KeyGroupRange(3, 3)


@pytest.mark.parametrize("name", ["kyes", "withKeyGroup"])
def test_a_name_that_no_option_has_is_refused(name: str) -> None:
    wrong: dict[str, Any] = {name: True}
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        STATES.open().scan(TABLE, **wrong)


def test_a_column_that_is_added_comes_with_those_that_are_named() -> None:
    savepoint = STATES.open()
    scan = savepoint.scan(TABLE, columns=["last_id"], keys=[""], with_key_group=True)
    (row,) = rows_of(scan)
    assert list(row) == ["last_id", "key_group"]
    added = savepoint.scan(TABLE, columns=["key"], with_subtask=True, with_scope=True)
    assert added.schema.names == ["key", "subtask", "scope"]
    placed = savepoint.scan(TABLE, columns=["key_group", "key"], with_key_group=True)
    assert placed.schema.names == ["key_group", "key"]


@pytest.mark.parametrize("option", ["with_key_group", "with_scope"])
def test_a_column_that_a_table_cannot_have_is_refused(option: str) -> None:
    what = option.removeprefix("with_").replace("_", " ")
    currency = Sample("currency-2.2.1-rocksdb-native")
    for sample, table in ((currency, "currency_converter.rates"), (STATES, "buffer.elements")):
        savepoint = sample.open()
        scan = replace(savepoint.scan(table), options=ReadOptions.of({option: True}))
        message = f"{table.partition('.')[2]} has no {what}: .*leave {option} out"
        with pytest.raises(ColumnNotFoundError, match=message):
            scan.splits()
        with pytest.raises(ColumnNotFoundError, match=message):
            _ = scan.schema
