"""Every name of a type is a type of ``Types``, a type as text, and described."""

from __future__ import annotations

from pathlib import Path

import pytest

from savepoint_database.types.type_names import parse_type
from savepoint_database.types.types import COMPOUND_TYPES, PLAIN_TYPES
from savepoint_formats.values.arrow_types import spark_type_name
from state_processor import Types

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "choose-types.md"
NAMES = {name for name in vars(Types) if name.isupper()}


@pytest.mark.parametrize("name", PLAIN_TYPES)
def test_a_plain_type_has_the_column_of_the_table(name: str) -> None:
    made = getattr(Types, name)()
    assert made == parse_type(name)
    assert spark_type_name(made.arrow_type) == PLAIN_TYPES[name].column


@pytest.mark.parametrize("name", COMPOUND_TYPES)
def test_a_compound_type_has_as_many_parts_as_the_table_says(name: str) -> None:
    parts = [Types.LONG()] * COMPOUND_TYPES[name].count
    words = ", ".join(["LONG"] * len(parts))
    assert getattr(Types, name)(*parts) == parse_type(f"{name}<{words}>")


def test_keys_in_a_column_are_of_one_type() -> None:
    columns = [one.column for one in PLAIN_TYPES.values() if one.is_of_keys]
    assert len(columns) == len(set(columns))


def test_every_type_is_described() -> None:
    assert PLAIN_TYPES.keys() | COMPOUND_TYPES.keys() < NAMES
    page, docstring = PAGE.read_text(encoding="utf-8"), Types.__doc__ or ""
    assert {name for name in NAMES if f"`{name}(" not in page} == set()
    assert {name for name in NAMES if name not in docstring} == set()
