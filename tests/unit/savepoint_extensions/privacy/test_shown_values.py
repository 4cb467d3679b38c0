from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone

import pyarrow as pa
import pytest

from savepoint_extensions.privacy.shown_values import is_number_among, is_shown
from savepoint_formats.values.kinds.precise_times import precise_type

AT = datetime(2024, 3, 1, 11, 40, 9, 911238)
NANOS = pa.StructArray.from_arrays(
    [pa.array([1_709_293_209], pa.timestamp("s", "UTC")), pa.array([911238000], pa.int32())],
    fields=list(precise_type("UTC")),
)

EAST = AT.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=2)))
OFFSETS = (
    *(f"{AT}{offset}" for offset in ("+00:00", "+0000", "+00", " -00:00")),
    *(str(EAST), EAST.isoformat(), f"{EAST.replace(tzinfo=None)}000 +0200"),
)


@pytest.mark.parametrize(
    ("values", "equal", "other"),
    [
        (pa.array([12, None], pa.int8()), ("12", "12.0", "012", "1.2e1"), ("12.5", "300", "x")),
        (pa.array([12.5], pa.float32()), ("12.5", "12.500"), ("12.51", "NaN", "sNaN")),
        (pa.array([float("nan"), float("-inf")]), ("NaN", "-Infinity"), ("Infinity", "0")),
        (pa.array([AT]), (str(AT), AT.isoformat(), f"{AT}Z", f"{AT}000"), ("2024-03-01",)),
        (pa.array([AT.replace(tzinfo=UTC)]), (str(AT), f"{AT}Z"), (f"{AT}1",)),
        (pa.array([AT.replace(tzinfo=UTC)]), OFFSETS, (f"{AT}+02:00", f"{AT}+", f"{AT}+24:00")),
        (pa.array([AT]), OFFSETS, (f"{AT}+02:00",)),
        (NANOS, OFFSETS, (f"{AT}-02:00",)),
        (pa.array([datetime(2024, 3, 1)]), ("2024-03-01", "2024-03-01 00:00"), ("2024-03-02",)),
        (pa.array([date(2024, 3, 1)]), ("2024-03-01",), ("2024-3", "1")),
        (pa.array([time(11, 40)]), ("11:40", "11:40:00"), ("11:41",)),
        (NANOS, (f"{AT}", f"{AT}000Z", AT.isoformat()), (f"{AT}001",)),
        (pa.array([b"\x01\xff"]), ("01ff",), ("1ff",)),
        (pa.array([True]), (), ("1", "true")),
    ],
    ids=lambda given: str(given.type) if isinstance(given, pa.Array) else "",
)
def test_an_equal_value_is_found_in_each_form(
    values: pa.Array, equal: tuple[str, ...], other: tuple[str, ...]
) -> None:
    assert [text for text in equal if not is_shown(values, (text,))] == []
    assert [text for text in other if is_shown(values, (text,))] == []


def test_a_number_that_is_huge_is_not_written_out() -> None:
    assert not is_shown(pa.array([1]), ("1e999999999",))


def test_numbers_that_are_texts_are_compared_as_numbers() -> None:
    values = pa.array(["12.50", None, "1E+3"])
    for text in ("12.5", "12.500", "1000", "1e3"):
        assert is_number_among(values, ("x", text))
    for text in ("12.51", "100", "x", "NaN"):
        assert not is_number_among(values, (text,))
