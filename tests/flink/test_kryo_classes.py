"""What Flink's Kryo reads back of what it wrote, is what the doctor says of the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.kryo_classes import written_objects

from savepoint_formats.compatibility.unreadable_objects import UnreadableObjects, is_readable

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
