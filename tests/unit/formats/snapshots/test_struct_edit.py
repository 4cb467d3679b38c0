"""Fields of POJOs and of rows of SQL are added, dropped, renamed and given other types."""

from __future__ import annotations

from dataclasses import replace

import pytest

from savepoint_formats.errors import FieldNotFoundError, SchemaChangeError
from savepoint_formats.snapshots import TypeSerializerSnapshot, constructed
from savepoint_formats.snapshots.sql.constructed_sql import row_data
from savepoint_formats.snapshots.sql.logical_type_text import parse_logical_type
from savepoint_formats.snapshots.struct_edit import (
    ELEMENT,
    MAP_VALUE,
    added_field,
    dropped_field,
    is_row,
    renamed_field,
    retyped_field,
)

LONG, STRING = constructed.long(), constructed.string()


def order(**fields: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    return constructed.pojo("a.Order", fields)


def row(*types: str) -> TypeSerializerSnapshot:
    return row_data([parse_logical_type(one) for one in types])


class TestAPojo:
    def test_gets_a_field_in_the_order_of_names(self) -> None:
        edit = added_field(order(a=LONG, z=STRING), "m", STRING)
        assert edit.snapshot == order(a=LONG, m=STRING, z=STRING)
        assert edit.origins == (("a", "a"), ("m", None), ("z", "z"))
        assert not edit.keeps_bytes

    def test_loses_a_field(self) -> None:
        edit = dropped_field(order(a=LONG, m=LONG, z=STRING), "m")
        assert edit.snapshot == order(a=LONG, z=STRING)
        assert edit.origins == (("a", "a"), ("z", "z"))

    def test_keeps_its_bytes_if_a_new_name_leaves_the_order(self) -> None:
        edit = renamed_field(order(a=LONG, m=STRING, z=LONG), "m", "n")
        assert edit.snapshot == order(a=LONG, n=STRING, z=LONG)
        assert edit.keeps_bytes

    def test_is_encoded_anew_if_a_new_name_changes_the_order(self) -> None:
        edit = renamed_field(order(a=LONG, m=STRING, z=LONG), "a", "n")
        assert edit.snapshot == order(m=STRING, n=LONG, z=LONG)
        assert edit.origins == (("m", "m"), ("n", "a"), ("z", "z"))
        assert not edit.keeps_bytes

    def test_gets_another_type_of_a_field(self) -> None:
        edit = retyped_field(order(a=constructed.integer(), z=LONG), "a", LONG)
        assert edit.snapshot == order(a=LONG, z=LONG)

    def test_is_found_through_collections_nulls_times_and_other_pojos(self) -> None:
        def around(inner: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
            outer = constructed.pojo("a.Outer", {"inner": constructed.nullable(inner), "n": LONG})
            timed = constructed.ttl(constructed.list_of(outer))
            return constructed.map_of(STRING, timed)

        edit = added_field(around(order(a=LONG)), "inner.b", LONG)
        assert edit.snapshot == around(order(a=LONG, b=LONG))
        assert edit.steps == (MAP_VALUE, "value", ELEMENT, "inner")

    def test_of_subclasses_is_left_alone(self) -> None:
        found = order(a=LONG)
        entry = replace(found["fields"][0], name="a.Sub", key=b"")
        with_subclass = replace(found, values=(*found.values[:3], (entry,)))
        with pytest.raises(SchemaChangeError, match=r"a\.Order has values of subclasses"):
            added_field(with_subclass, "b", LONG)

    def test_has_no_field_of_another_name(self) -> None:
        with pytest.raises(FieldNotFoundError, match=r"no field 'c'; it has: a, b"):
            dropped_field(order(a=LONG, b=LONG), "c")
        with pytest.raises(FieldNotFoundError, match="no field 'inner'"):
            dropped_field(order(a=LONG), "inner.a")
        with pytest.raises(SchemaChangeError, match="has a field 'b' already"):
            renamed_field(order(a=LONG, b=LONG), "a", "b")


class TestARowOfSql:
    def test_gets_a_field_at_its_end(self) -> None:
        edit = added_field(row("BIGINT", "STRING"), "f2", row("DECIMAL(10, 2)"))
        assert edit.snapshot == row("BIGINT", "STRING", "DECIMAL(10, 2)")
        assert edit.origins == (("f0", "f0"), ("f1", "f1"), ("f2", None))

    def test_moves_the_fields_up_behind_one_that_goes(self) -> None:
        edit = dropped_field(row("BIGINT", "STRING", "INT"), "f1")
        assert edit.snapshot == row("BIGINT", "INT")
        assert edit.origins == (("f0", "f0"), ("f1", "f2"))

    def test_gets_another_type_of_a_field(self) -> None:
        edit = retyped_field(row("BIGINT", "INT"), "f1", row("BIGINT"))
        assert edit.snapshot == row("BIGINT", "BIGINT")

    def test_has_no_names_to_change(self) -> None:
        with pytest.raises(SchemaChangeError, match="no name in the savepoint"):
            renamed_field(row("BIGINT"), "f0", "id")
        with pytest.raises(SchemaChangeError, match="call it 'f1'"):
            added_field(row("BIGINT"), "id", row("BIGINT"))
        with pytest.raises(SchemaChangeError, match="needs a type of SQL"):
            added_field(row("BIGINT"), "f1", LONG)
        with pytest.raises(FieldNotFoundError, match="no field 'f9'; it has: f0"):
            dropped_field(row("BIGINT"), "f9")
        with pytest.raises(SchemaChangeError, match="rows inside rows"):
            dropped_field(row("ROW<a INT>"), "f0.f0")

    def test_is_told_from_a_pojo(self) -> None:
        assert is_row(constructed.list_of(row("BIGINT")), "f0")
        assert not is_row(constructed.list_of(order(a=LONG)), "a")
        both = constructed.tuple_of([order(a=LONG), row("BIGINT")])
        assert not is_row(both, "f0.a")
        assert is_row(both, "f1.f0")


def test_other_values_have_no_fields() -> None:
    for found in (LONG, constructed.tuple_of([LONG]), constructed.list_of(STRING)):
        with pytest.raises(SchemaChangeError, match="only POJOs and rows of SQL have"):
            dropped_field(found, "f0")


def test_the_key_of_a_map_does_not_change() -> None:
    """The path leads to the values, which have no fields here."""
    with pytest.raises(SchemaChangeError, match="have no field 'a' that could be changed"):
        dropped_field(constructed.map_of(order(a=LONG), LONG), "a")


def test_a_path_into_a_tuple_names_its_fields() -> None:
    pairs = constructed.list_of(constructed.tuple_of([LONG, order(a=LONG, b=LONG)]))
    assert dropped_field(pairs, "f1.a").steps == (ELEMENT, "f1")
    with pytest.raises(FieldNotFoundError, match="has no field 'a'; it has: f0, f1"):
        dropped_field(pairs, "a")
    with pytest.raises(SchemaChangeError, match=r"'f1' of .*Tuple.* write f1\.name"):
        dropped_field(pairs, "f1")


def test_a_pojo_around_has_no_subclasses() -> None:
    """They have the changed field, too."""
    outer = constructed.pojo("a.Outer", {"inner": order(a=LONG)})
    entry = replace(outer["fields"][0], name="a.Sub", key=b"")
    with_subclass = replace(outer, values=(*outer.values[:3], (entry,)))
    with pytest.raises(SchemaChangeError, match=r"a\.Outer has values of subclasses"):
        added_field(with_subclass, "inner.b", LONG)
