"""The options of the data source as texts, and what a reader function takes of them."""

from __future__ import annotations

from typing import Any

import pytest

from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_spark.reading.per_key import keys_of_function
from savepoint_spark.reading.source_options import SourceOptions

EVERYTHING = SourceOptions(
    ReadOptions(
        columns=("a, b", "c"),
        keys=("a", 1, 2.5, True, {"f0": "x"}),
        key_groups=KeyGroupRange(3, 15),
        flat="memos",
        with_key_group=True,
        with_subtask=True,
        with_scope=True,
        merge={"count": "sum"},
        with_times=True,
        undescribed_subclasses="bytes",
        chunk_size=512,
    ),
    where="total > 5 AND name = 'a, b'",
    split_size=1,
)


def test_texts_say_what_the_options_are() -> None:
    texts = EVERYTHING.texts()
    assert texts["withKeyGroup"] == "true"
    assert texts["keyGroups"] == "3-15"
    assert SourceOptions.parse(texts) == EVERYTHING
    assert SourceOptions().texts() == {}
    assert SourceOptions.parse({}) == SourceOptions()


@pytest.mark.parametrize("name", ["withKeyGroup", "WITHKEYGROUP", "with_key_group"])
def test_names_of_texts_may_be_of_any_case(name: str) -> None:
    assert SourceOptions.parse({name: "TRUE", "path": "/a", "uids": "a"}).read.with_key_group


def test_properties_of_a_table_of_the_catalog_are_no_options() -> None:
    texts = {"provider": "savepoint", "owner": "me", "flat": "a", "option.flat": "a"}
    assert SourceOptions.parse(texts).read.flat == "a"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"kyes": "[1]"}, "no option 'kyes': did you mean 'keys'"),
        ({"tabel": "a"}, "no option 'tabel': did you mean 'table'"),
        ({"merge": "sum"}, "merge"),
        ({"merge": "[1]"}, "merge"),
        ({"merge": '{"count": 1}'}, "merge"),
        ({"option.flta": "a", "provider": "savepoint"}, "no option 'flta': did you mean 'flat'"),
    ],
)
def test_texts_that_are_no_options_are_refused(texts: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SourceOptions.parse(texts)


def test_a_function_that_merges_is_no_text() -> None:
    with pytest.raises(TypeError, match="merge has a function, which only read_local_state takes"):
        SourceOptions(ReadOptions(merge={"count": len})).texts()


@pytest.mark.parametrize("split_size", ["1 MB", True])
def test_a_size_is_a_number(split_size: Any) -> None:
    with pytest.raises(TypeError, match=r"split_size is .*, expected a number of bytes"):
        SourceOptions.of({"split_size": split_size})


@pytest.mark.parametrize(
    "asked",
    [
        {"columns": ["a"]},
        {"flat": "a"},
        {"with_key_group": True},
        {"with_times": True},
        {"where": "a > 1"},
    ],
)
def test_what_a_function_does_not_take_is_named(asked: dict[str, Any]) -> None:
    (name,) = asked
    with pytest.raises(ValueError, match=rf"no arguments but 'schema' and 'keys'; leave {name} to"):
        keys_of_function(SourceOptions.of(asked))


def test_a_function_takes_keys() -> None:
    assert keys_of_function(SourceOptions()) is None
    assert keys_of_function(SourceOptions.of({"keys": [1, 2]})) == (1, 2)
    assert keys_of_function(SourceOptions.of({"keys": []})) == ()
