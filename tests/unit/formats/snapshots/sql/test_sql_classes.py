"""Java's classes of SQL types."""

from __future__ import annotations

import pytest

from savepoint_formats.java.stream import SERIALIZABLE, JavaClass
from savepoint_formats.snapshots.sql.sql_classes import SQL_CLASSES, java_array, java_class


def test_a_class_has_all_classes_above_it_the_topmost_first() -> None:
    top = java_class("a.Top", ("I", "number"))
    middle = java_class("a.Middle", extends=top)
    low = java_class("a.Low", extends=middle, uid=7)
    assert [above.name for above in low.ancestors] == ["a.Top", "a.Middle"]
    assert (low.flags, low.uid, top.fields) == (SERIALIZABLE, 7, (("I", "number"),))


def test_names_of_arrays_have_dots() -> None:
    assert java_array("Ljava/lang/Object;", 1).name == "[Ljava.lang.Object;"
    assert java_array("I", 1).name == "[I"


@pytest.mark.parametrize("root", SQL_CLASSES)
def test_facts_are_in_a_type_or_in_its_serializer(root: str) -> None:
    sql = SQL_CLASSES[root]
    own = {name for _, name in sql.java_class.fields}
    needs_facts = bool(own & {"precision", "elementType", "keyType", "fields"})
    assert needs_facts is (not sql.serializer) or root == "TIME_WITHOUT_TIME_ZONE"
    assert [above.name.rpartition(".")[2] for above in sql.java_class.ancestors] == ["LogicalType"]
    assert sql.values is None or isinstance(sql.values, JavaClass)
