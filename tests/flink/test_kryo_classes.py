"""What Flink's Kryo reads back of what it wrote, is what the doctor says of the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.kryo_classes import written_objects, written_of_libraries

from savepoint_extensions.upgrade.compatibility.unreadable_objects import (
    UnreadableObjects,
    is_readable,
)
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.layout import Kryo, KryoRegistration
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.graph import read_kryo
from savepoint_formats.values.kryo.objects import json_text

if TYPE_CHECKING:
    from support.kryo_classes import WrittenObject

# Kryo 5 can't find the class of `void`; an empty EnumMap fails only when an entry is put into it.
_OTHERS = {"void.class", "EnumMap 0", "nCopies 0"}


def is_found(written: WrittenObject, *, is_5: bool) -> bool:
    """Whether the search finds a class in the bytes that this Kryo does not read."""
    objects = UnreadableObjects()
    objects.look_at(pa.array([written.data], pa.large_binary()))
    return not all(is_readable(name, is_5=is_5) for name in objects.classes)


@pytest.mark.parametrize("release", ["1.20.5", "2.2.1"])
def test_the_doctor_finds_the_objects_that_kryo_cannot_read_and_no_others(release: str) -> None:
    objects = [one for one in written_objects(release) if one.data and one.name not in _OTHERS]
    outcomes = {one.name: one.outcome for one in objects}
    found = {one.name: is_found(one, is_5=release.startswith("2")) for one in objects}
    assert {name: "fails" if each else "same" for name, each in found.items()} == outcomes
    assert {"fails", "same"} == set(outcomes.values())


@pytest.mark.parametrize("release", ["1.20.5", "2.2.1"])
def test_the_doctor_finds_objects_of_libraries_that_kryo_cannot_read(release: str) -> None:
    objects = [one for one in written_of_libraries(release) if one.data]
    outcomes = {one.name: one.outcome for one in objects}
    found = {one.name: is_found(one, is_5=release.startswith("2")) for one in objects}
    assert {name: "fails" if each else "same" for name, each in found.items()} == outcomes
    assert len([outcome for outcome in outcomes.values() if outcome == "fails"]) > 50


# Their fields are not known, or their names are those of a test.
_UNKNOWN = (
    *("Clock$SystemClock", "Inet4Address", "LongAdder", "StringJoiner", "java.util.Random"),
    *(
        "ByteArrayOutputStream",
        "UTF_8",
        "$Proxy",
        "LinkedHashMap$Entry",
        "ConcurrentHashMap$MapEntry",
    ),
    *("Character$UnicodeScript", "KryoClasses$"),
)


@pytest.mark.parametrize("release", ["1.20.5", "2.2.1"])
def test_objects_of_the_jdk_and_of_flink_are_read_without_a_description(release: str) -> None:
    layout = Kryo("java.lang.Object", (KryoRegistration("java.lang.Object"),))
    dialect = KryoDialect(KryoVersion.V5_6 if release.startswith("2") else KryoVersion.V2_24)
    read = 0
    for one in written_objects(release):
        if one.data and not any(name.encode()[:-1] in one.data for name in _UNKNOWN):
            view = DataInputView(one.data)
            json_text(read_kryo(layout, view, dialect))
            assert view.remaining == 0, one.name
            read += 1
    assert read > 180
