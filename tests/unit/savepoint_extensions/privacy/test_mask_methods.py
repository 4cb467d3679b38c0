from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from support.masks import SECRET, hashed

from savepoint_extensions.privacy.mask_methods import METHODS, FieldType, field_type
from savepoint_extensions.privacy.mask_rules import Rule
from savepoint_formats.errors import ConditionError, MaskError
from savepoint_formats.values.kinds.precise_times import precise_times, precise_type


def masked(column: pa.Array, method: str, **options: Any) -> list[Any]:
    mask = METHODS[method].mask
    assert mask is not None
    found = mask(column, Rule(method, "rules line 1", secret=SECRET.encode(), **options))
    assert found.values.type == column.type
    return list(found.values.to_pylist())


def unmatched(values: pa.Array, method: str) -> list[bool]:
    mask = METHODS[method].mask
    assert mask is not None
    found = mask(values, Rule(method, "rules line 1", secret=SECRET.encode())).unmatched
    assert found is not None
    return list(found.to_pylist())


def test_equal_texts_have_equal_hashes_whatever_their_batch() -> None:
    assert masked(pa.array(["Ada", "Zoë"]), "hash") == [hashed("Ada"), hashed("Zoë")]
    assert masked(pa.array(["Ada"]), "hash") == [hashed("Ada")]
    assert masked(pa.array(["Ada", "Zoë", ""])[1:], "hash") == [hashed("Zoë"), hashed("")]


def test_hashed_bytes_keep_their_size() -> None:
    (found,) = masked(pa.array([b"0123456789abcdef"]), "hash")
    assert len(found) == 16
    assert found != b"0123456789abcdef"


def test_hashed_integers_stay_different() -> None:
    numbers = pa.array(range(2000), pa.int32())
    assert len(set(masked(numbers, "hash"))) == 2000


def test_digits_change_and_all_else_stays() -> None:
    (found,) = masked(pa.array(["+49 (170) 123-45"]), "digits")
    assert [sign for sign in found if not sign.isdigit()] == list("+ () -")
    assert found != "+49 (170) 123-45"
    assert len(found) == len("+49 (170) 123-45")
    assert masked(pa.array(["none"]), "digits") == [hashed("none")]
    assert unmatched(pa.array(["none", "1"]), "digits") == [True, False]


def test_digits_of_decimals_keep_their_scale() -> None:
    column = pa.array([Decimal("1234.50"), Decimal("-77.07")], pa.decimal128(12, 2))
    first, second = masked(column, "digits")
    assert first.as_tuple().exponent == second.as_tuple().exponent == -2
    assert (first > 0, second <= 0) == (True, True)
    assert first != Decimal("1234.50")


def test_addresses_become_addresses() -> None:
    texts = pa.array(["ada@lovelace.org", "no address"])
    address, other = masked(texts, "email")
    assert address == f"u{hashed('ada@lovelace.org')}@example.com"
    assert other == hashed("no address")
    assert unmatched(texts, "email") == [False, True]
    (kept,) = masked(texts[:1], "email", keep_domain=True)
    assert kept.endswith("@lovelace.org")


def test_fakes_come_from_the_list() -> None:
    names = ("Berta", "Cleo", "Dora")
    found = masked(pa.array([f"person {number}" for number in range(50)]), "fake", values=names)
    assert set(found) == set(names)
    assert found == masked(
        pa.array([f"person {number}" for number in range(50)]), "fake", values=names
    )


def test_times_move_and_keep_their_digits() -> None:
    day = 86_400_000
    at = datetime(2024, 3, 1, 10, 10, 50, 293_000, UTC)
    assert masked(pa.array([at], pa.timestamp("ms", "UTC")), "shift", by=-day) == [
        at.replace(day=29, month=2)
    ]
    assert masked(pa.array([date(2024, 3, 1)]), "shift", by=-day) == [date(2024, 2, 29)]
    assert masked(pa.array([5_000]), "shift", by=day, unit="s") == [91_400]
    precise = precise_times(pa.array([1_709_287_850_293_213_001], pa.timestamp("ns", "UTC")))
    (moved,) = masked(precise, "shift", by=-day)
    assert moved["nanos"] == 293_213_001
    assert moved["seconds"] == datetime(2024, 2, 29, 10, 10, 50, tzinfo=UTC)


def test_the_secret_gives_a_distance_of_whole_days() -> None:
    at = datetime(2024, 3, 1, 10, tzinfo=UTC)
    (moved,) = masked(pa.array([at], pa.timestamp("us", "UTC")), "shift")
    assert 30 <= (at - moved).days <= 395
    assert moved.hour == 10


def test_days_do_not_move_by_hours() -> None:
    with pytest.raises(MaskError, match="whole units of 86400000 ms"):
        masked(pa.array([date(2024, 3, 1)]), "shift", by=3_600_000)


def test_a_time_that_would_leave_its_type_is_refused() -> None:
    with pytest.raises(MaskError, match="too late or too early"):
        masked(pa.array([(1 << 63) - 1]), "shift", by=1_000)


def test_fixed_values_are_of_the_type() -> None:
    assert masked(pa.array([1, 2], pa.int16()), "fixed", value="7") == [7, 7]
    with pytest.raises(MaskError, match="no value of type int16"):
        masked(pa.array([1], pa.int16()), "fixed", value="many")


def test_sql_sees_the_value() -> None:
    texts = pa.array(["Ada", "Zoë"])
    assert masked(texts, "sql", sql="upper(left(value, 1))") == ["A", "Z"]
    for wrong in ("(SELECT 1)", "max(value)", "nothing", "value, value"):
        with pytest.raises(ConditionError):
            masked(texts, "sql", sql=wrong)


def test_nulls_have_the_type() -> None:
    assert masked(pa.array(["Ada"]), "null") == [None]


@pytest.mark.parametrize(
    ("data_type", "known"),
    [
        (pa.utf8(), FieldType.TEXT),
        (pa.int8(), FieldType.INTEGER),
        (pa.decimal128(3, 1), FieldType.DECIMAL),
        (precise_type(), FieldType.TIME),
        (pa.time64("ns"), FieldType.CLOCK),
        (pa.struct({"bytes": pa.binary()}), FieldType.UNKNOWN),
    ],
)
def test_types_have_names(data_type: pa.DataType, known: FieldType) -> None:
    assert field_type(data_type) is known


NUMBERS = [
    0,
    7,
    9,
    10,
    99,
    100,
    127,
    128,
    1000,
    32767,
    32768,
    123456,
    2**31 - 1,
    2**31,
    2**40,
    2**62,
]
SIGNED = [*NUMBERS, *(-number - 1 for number in NUMBERS)]


@pytest.mark.parametrize("method", ["hash", "digits"])
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_equal_numbers_get_equal_results_in_columns_of_any_width(method: str, bits: int) -> None:
    narrow = {8: pa.int8(), 16: pa.int16(), 32: pa.int32()}[bits]
    numbers = [number for number in SIGNED if -(1 << (bits - 1)) <= number < 1 << (bits - 1)]
    wide = masked(pa.array(numbers, pa.int64()), method)
    assert masked(pa.array(numbers, narrow), method) == wide
    texts = masked(pa.array(list(map(str, numbers))), method, numbers=True)
    assert texts == list(map(str, wide))


def test_whole_decimals_are_masked_like_equal_integers() -> None:
    numbers = [*SIGNED, -(2**63), 2**63 - 1]
    decimals = pa.array(list(map(Decimal, numbers)), pa.decimal128(20, 0))
    assert masked(decimals, "digits") == masked(pa.array(numbers, pa.int64()), "digits")


@pytest.mark.parametrize("method", ["hash", "digits"])
def test_texts_that_are_no_numbers_are_masked_as_texts(method: str) -> None:
    texts = pa.array(["007", "-0", "1.5", "12 ", "9" * 30, "a"])
    assert masked(texts, method, numbers=True) == masked(texts, method)
