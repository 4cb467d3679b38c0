from __future__ import annotations

import pytest

from savepoint_database.privacy.permutation import (
    digest_of_size,
    permuted,
    permuted_decimal,
    permuted_digits,
    permuted_integer,
)

SECRET = b"a secret of more than 16 bytes"


@pytest.mark.parametrize(("radix", "width"), [(10, 1), (10, 2), (10, 3), (2, 7), (2, 10)])
def test_each_number_has_its_own(radix: int, width: int) -> None:
    count = radix**width
    found = {permuted(SECRET, number, radix, width) for number in range(count)}
    assert found == set(range(count))


def test_another_secret_gives_other_numbers() -> None:
    mine = [permuted(SECRET, number, 10, 6) for number in range(100)]
    theirs = [permuted(SECRET + b"!", number, 10, 6) for number in range(100)]
    assert sum(one == other for one, other in zip(mine, theirs, strict=True)) < 3


def test_digits_keep_their_number() -> None:
    assert len(permuted_digits(SECRET, "0049")) == 4
    assert permuted_digits(SECRET, "") == ""


@pytest.mark.parametrize("bits", [8, 11])
def test_integers_keep_sign_and_type(bits: int) -> None:
    least, behind = -(1 << (bits - 1)), 1 << (bits - 1)
    found = [permuted_integer(SECRET, number, bits) for number in range(least, behind)]
    assert sorted(found) == list(range(least, behind))
    assert all((one < 0) == (at < 0) for one, at in zip(found, range(least, behind), strict=True))


def test_decimals_keep_their_digits_and_their_type() -> None:
    numbers = [*range(1000, 1200), -1234, 2_147_483_647, 0, 7]
    found = [permuted_decimal(SECRET, number, 32) for number in numbers]
    for number, new in zip(numbers, found, strict=True):
        assert len(str(new)) == len(str(number))
        assert (new < 0) == (number < 0)
        assert -(1 << 31) <= new < 1 << 31
    assert len(set(found)) == len(numbers)


def test_bytes_have_the_wanted_size() -> None:
    assert len(digest_of_size(SECRET, b"x", 100)) == 100
    assert digest_of_size(SECRET, b"x", 16) != digest_of_size(SECRET, b"y", 16)
