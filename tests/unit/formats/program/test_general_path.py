"""Each layout and class has a program, or a reason why its values go one by one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from support.any_kryo import PARTS, POINT, ROOT
from support.decoding import OFTEN, SUBCLASSES, has_type, records, same_on_both, written
from support.each import each
from support.every_layout import EXAMPLES, INT, LONG

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.layout import Kryo, Layout, parts
from savepoint_formats.program import general_path as reasons
from savepoint_formats.program.assembly import program, written_program
from savepoint_formats.program.decode import decode_what_fits
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.known_classes import CLASSES

NOTHING = layouts.Marker(None)
UNION = layouts.IndexedUnion(("a", "b", "null"), (LONG, INT, NOTHING))


def whys(layout: Layout, kryo: KryoDialect | None = None) -> set[str]:
    return {reason for _, reason in program(layout, kryo).general}


@pytest.mark.parametrize("layout", EXAMPLES, ids=lambda one: type(one).__name__)
def test_a_layout_without_a_program_has_a_reason(layout: Layout) -> None:
    expected = reasons.WHY.get(type(layout))
    if isinstance(layout, Kryo):
        expected = reasons.NOT_DESCRIBED
    elif layouts.Enum is type(layout) or "Binary" in type(layout).__name__:
        expected = None  # those with constants, and those with a size, have one
    assert whys(layout) == ({expected} if expected else set())


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (layouts.Enum("E", ()), reasons.WHY[layouts.Enum]),
        (layouts.Repeated(NOTHING), reasons.EMPTY_ELEMENTS),
        (layouts.IndexedUnion(("null",), (NOTHING,)), reasons.UNION_OF_MANY),
        (layouts.IndexedUnion(("a",) * 257, (INT,) * 257), reasons.UNION_OF_MANY),
    ],
    ids=str,
)
def test_a_layout_that_is_an_exception_has_a_reason(layout: Layout, reason: str) -> None:
    assert whys(layout) == {reason}


@pytest.mark.parametrize(
    ("layout", "general"),
    [(SUBCLASSES, ()), (UNION, (("$", reasons.WRITTEN_NULLS),))],
    ids=["subclasses", "union"],
)
def test_what_is_only_written_one_by_one_has_a_reason(
    layout: Layout, general: tuple[tuple[str, str], ...]
) -> None:
    assert whys(layout) == set()
    assert written_program(layout).general == general


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("version", KryoVersion)
@each("name", sorted(CLASSES))
def test_a_field_of_a_known_class_has_a_program_or_a_reason(
    name: str, version: KryoVersion
) -> None:
    root = kryo_class(ROOT, {"a": name})
    layout = Kryo(ROOT, classes=(root,))
    of_2 = name == "java.time.ZonedDateTime" and version == KryoVersion.V2_24
    expected = {reasons.OF_A_ZONE} if of_2 else set()
    if name == "java.net.URL":
        expected = {reasons.OF_A_URL}
    assert whys(layout, KryoDialect(version, (root,))) == expected


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("java.lang.Object", reasons.OF_NO_COLUMN),
        ("java.util.List", reasons.OF_NO_COLUMN),
        ("java.util.List<java.lang.Object>", reasons.OF_NO_COLUMN),
        (ROOT, reasons.IN_ITSELF),
        ("java.util.List<a.Point>", None),
        ("a.Point[]", None),
    ],
)
def test_a_field_of_any_type_has_a_program_that_reads_it(
    declared: str, written: str | None
) -> None:
    root = kryo_class(ROOT, {"a": declared})
    layout = Kryo(ROOT, classes=(root, POINT), version=KryoVersion.V5_6.value)
    assert whys(layout, KryoDialect(KryoVersion.V5_6, (root, *PARTS))) == set()
    assert {reason for _, reason in written_program(layout).general} == (
        {written} if written else set()
    )


def _with_spans(layout: Layout, values: list[Any]) -> tuple[bytes, list[tuple[int, int]]]:
    data, positions = written(layout, values)
    return data, [*pairwise(positions)]


def _taken(layout: Layout, values: list[Any]) -> list[int]:
    """Numbers of the values that the kernel takes."""
    data, spans = _with_spans(layout, values)
    chunk = Chunk(np.frombuffer(data, np.uint8))
    rows: list[int] = decode_what_fits(
        program(layout), chunk, *np.array(spans, np.int64).reshape(-1, 2).T
    )[1].tolist()
    return rows


_RARE = (layouts.BigDecimal, layouts.BigInteger, layouts.LocalDate, layouts.LocalDateTime)
"""Layouts with rare values that the kernel leaves out, such as dates beyond the year five million."""


def _rare(layout: Layout) -> bool:
    """Whether a value may be one that is rare in spite of a program."""
    return isinstance(layout, _RARE) or any(map(_rare, parts(layout)))


@OFTEN
@given(records())
@pytest.mark.usefixtures("slow")
def test_the_kernel_takes_all_values_of_a_layout_without_a_reason(
    case: tuple[Layout, list[Any]],
) -> None:
    layout, values = case
    prepared = program(layout)
    if prepared.general or _rare(layout) or not has_type(layout):
        return
    assert _taken(layout, values) == list(range(len(values)))


LAST_MICROSECOND = (1 << 63) - 1


def test_the_kernel_takes_all_microseconds_of_64_bits() -> None:
    near = [-9007199254740992001, 9007199254740993000]
    counts = [-LAST_MICROSECOND, *near, LAST_MICROSECOND]
    assert _taken(layouts.TimestampData(6), counts) == [0, 1, 2, 3]
    same_on_both(layouts.TimestampData(6), *_with_spans(layouts.TimestampData(6), counts))


@pytest.mark.parametrize("count", [-LAST_MICROSECOND - 1, LAST_MICROSECOND + 1])
def test_a_microsecond_beyond_64_bits_is_an_error(count: int) -> None:
    millis, micros = divmod(count, 1_000)
    data = millis.to_bytes(8, "big", signed=True) + (micros * 1_000).to_bytes(4, "big")
    same_on_both(layouts.TimestampData(6), data, [(0, 12)])
