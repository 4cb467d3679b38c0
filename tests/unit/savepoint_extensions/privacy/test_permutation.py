from __future__ import annotations

import hashlib
import hmac

import pytest

from savepoint_extensions.privacy.permutation import (
    digest,
    digest_of_size,
    digests,
    permuted,
    permuted_decimal,
    permuted_digits,
    permuted_integer,
)

SECRET = b"a secret of more than 16 bytes"


@pytest.mark.parametrize("size", [1, 16, 63, 64, 65, 200])
def test_digests_are_those_of_hmac(size: int) -> None:
    secret = bytes(range(1, 256))[:size]
    messages = [b"", b"Ada", b"x" * 100, b"Ada"]
    expected = [hmac.new(secret, b"text\0" + it, hashlib.sha256).digest() for it in messages]
    assert list(digests(secret, "text", messages)) == expected
    assert [digest(secret, "text", it) for it in messages] == expected
    assert digest(secret, "number", b"Ada") != expected[1]


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


@pytest.mark.parametrize("secret", [b"secret %d" % number for number in range(20)])
def test_one_digit_gets_any_order_of_ten(secret: bytes) -> None:
    digits = [int(permuted_digits(secret, str(number))) for number in range(10)]
    assert sorted(digits) == list(range(10))
    distances = {(new - old) % 10 for old, new in enumerate(digits)}
    assert len(distances) > 2


def test_integers_keep_their_sign_and_need_the_same_type() -> None:
    for least, behind in ((-128, 128), (-32768, -32000), (128, 1000), (32767, 33000)):
        numbers = range(least, behind)
        permuted_numbers = [permuted_integer(SECRET, number) for number in numbers]
        assert len(set(permuted_numbers)) == len(numbers)
        for new, old in zip(permuted_numbers, numbers, strict=True):
            assert (new < 0) == (old < 0)
            assert width_of(new) == width_of(old)


def test_decimals_keep_their_digits_and_their_type() -> None:
    numbers = [
        *range(-9, 10),
        *range(1000, 1200),
        *(-1234, 127, 128, -128, -129, 32767, 32768, 2_147_483_647, 2_147_483_648, -(2**31)),
        *(2**63 - 1, -(2**63)),
    ]
    permuted_numbers = [permuted_decimal(SECRET, number) for number in numbers]
    for number, new in zip(numbers, permuted_numbers, strict=True):
        assert len(str(new)) == len(str(number))
        assert (new < 0) == (number < 0)
        assert width_of(new) == width_of(number)
    assert len(set(permuted_numbers)) == len(numbers)


def width_of(number: int) -> int:
    """Bits of the smallest type of Java that has the number."""
    return next(bits for bits in (8, 16, 32, 64) if -(1 << (bits - 1)) <= number < 1 << (bits - 1))


def test_bytes_have_the_wanted_size() -> None:
    assert len(digest_of_size(SECRET, b"x", 100)) == 100
    assert digest_of_size(SECRET, b"x", 16) != digest_of_size(SECRET, b"y", 16)
