"""Durations and sizes are what Flink takes them for."""

from __future__ import annotations

import pytest

from savepoint_database.types.flink_units import milliseconds, size_in_bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (250, 250),
        ("250", 250),
        ("10 s", 10_000),
        ("10s", 10_000),
        (" 1 min ", 60_000),
        ("2 m", 120_000),
        ("3 HOURS", 10_800_000),
        ("1d", 86_400_000),
        ("5 milliseconds", 5),
        ("999 µs", 0),
        ("1500000 ns", 1),
        ("0", 0),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: int | str, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (1024, 1024),
        ("1024", 1024),
        ("128mb", 128 << 20),
        ("128 m", 128 << 20),
        ("7 kibibytes", 7 << 10),
        ("1 G", 1 << 30),
        ("2tb", 2 << 40),
        ("12 bytes", 12),
    ],
)
def test_a_size_has_units_of_1024(text: int | str, expected: int) -> None:
    assert size_in_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "s", "10 parsecs", "-1 s", "1.5 s", "1 s 2 ms", -1, True])
def test_what_is_no_duration_is_refused(text: int | str) -> None:
    with pytest.raises(ValueError, match="expected a duration such as 10 s; units are ns"):
        milliseconds(text)


@pytest.mark.parametrize("text", ["mb", "10 mbit", "-1", "1e3", "10 s", False])
def test_what_is_no_size_is_refused(text: int | str) -> None:
    with pytest.raises(ValueError, match="expected a size such as 128mb; units are b, bytes"):
        size_in_bytes(text)


def test_what_is_more_than_a_long_is_refused() -> None:
    assert size_in_bytes(2**63 - 1) == 2**63 - 1
    with pytest.raises(ValueError, match=r"of less than 2\*\*63 b"):
        size_in_bytes("8388608 tb")
    with pytest.raises(ValueError, match=r"of less than 2\*\*63 ms"):
        milliseconds("106751991168 d")
