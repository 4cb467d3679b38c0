"""Rows of known JDK classes, and what programs and the kernel make of them."""

from __future__ import annotations

import pytest

from savepoint_formats.program.kernel.kryo import kryo_numbers
from savepoint_formats.program.kryo_singles import SINGLES
from savepoint_formats.values.kryo.body import Part
from savepoint_formats.values.kryo.known_classes import CLASSES, DECLARED_TYPES


@pytest.mark.parametrize("part", Part)
def test_the_kernel_numbers_parts_likewise(part: Part) -> None:
    assert getattr(kryo_numbers, part.name) == part


@pytest.mark.parametrize("name", SINGLES)
def test_a_class_that_a_program_reads_has_a_column(name: str) -> None:
    assert name in DECLARED_TYPES


@pytest.mark.parametrize("name", [name for name, row in CLASSES.items() if row.value])
def test_each_part_of_a_value_has_a_place(name: str) -> None:
    row = CLASSES[name]
    assert row.value is not None
    arguments = row.value.arguments or (0, 0)
    for parts, places, argument in zip(row.parts, row.value.places, arguments, strict=True):
        if argument < 0:
            continue
        assert parts is not None
        assert not places or len(places) == len(parts)
