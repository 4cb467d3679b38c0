"""Methods that mask values, as functions of Arrow arrays.

A method gets distinct values without nulls, and returns as many of the same type. ``null``, ``fixed``,
``shift`` and ``sql`` are computed by Arrow and DuckDB. Digests and permutations need a call of Python
per distinct value of a batch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.rows.row_condition import evaluated
from savepoint_extensions.privacy.permutation import (
    digest,
    digest_of_size,
    digests,
    permuted_decimal,
    permuted_digits,
    permuted_integer,
)
from savepoint_formats.errors import KeyTypeError, MaskError
from savepoint_formats.scan import keys_of
from savepoint_formats.values import is_precise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_extensions.privacy.mask_rules import Rule


class FieldType(StrEnum):
    """Type of a field, as rules name it."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BYTES = "bytes"
    TIME = "time"
    CLOCK = "clock"
    BOOLEAN = "boolean"
    ENUM = "enum"
    UNKNOWN = "unknown"


def field_type(data_type: pa.DataType) -> FieldType:
    """The type of a column's values."""
    types = pa.types
    for is_of, known in (
        (types.is_string, FieldType.TEXT),
        (types.is_integer, FieldType.INTEGER),
        (types.is_decimal, FieldType.DECIMAL),
        (types.is_floating, FieldType.FLOAT),
        (types.is_binary, FieldType.BYTES),
        (types.is_timestamp, FieldType.TIME),
        (types.is_date, FieldType.TIME),
        (is_precise, FieldType.TIME),
        (types.is_time, FieldType.CLOCK),
        (types.is_boolean, FieldType.BOOLEAN),
        (types.is_duration, FieldType.CLOCK),
    ):
        if is_of(data_type):
            return known
    return FieldType.UNKNOWN


class Masked(NamedTuple):
    """Masked values, and the number of those that did not fit the method and were hashed."""

    values: pa.Array
    unmatched: pa.BooleanArray | None = None


class Forms(NamedTuple):
    """Values that are written like the masks, and old values that a mask may leave unchanged."""

    values: pa.Array
    may_stay: pa.BooleanArray


@dataclass(frozen=True, slots=True)
class Method:
    """A way to mask values.

    Attributes:
        types: The types of fields that it takes.
        mask: The masked values; None keeps them.
        options: The options of its rules.
        needs_secret: Whether it is keyed.
        forms: Values as long as the masks, to count without digests; None if a count needs the masks.
    """

    types: frozenset[FieldType]
    mask: Callable[[pa.Array, Rule], Masked] | None
    options: tuple[str, ...] = ()
    needs_secret: bool = True
    forms: Callable[[pa.Array, Rule], Forms | None] | None = None


_EMAIL = re.compile(r"[^@\s]+@([^@\s]+\.[^@\s]+)")
_DIGIT = re.compile("[0-9]")
_LONG = re.compile("0|-?[1-9][0-9]{0,18}")
_HASH_DIGITS = 20
"""Hexadecimal digits of a hashed text: 80 bits."""

_MS_PER_DAY = 86_400_000
_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def _null(values: pa.Array, rule: Rule) -> Masked:  # noqa: ARG001  # as all methods
    return Masked(pa.nulls(len(values), values.type))


def _fixed(values: pa.Array, rule: Rule) -> Masked:
    try:
        (value,) = keys_of((rule.value,), values.type)
    except KeyTypeError as error:
        raise MaskError(f"{rule}: {rule.value!r} is no value of type {values.type}") from error
    return Masked(pa.repeat(value, len(values)))


def _hash(values: pa.Array, rule: Rule) -> Masked:
    if pa.types.is_integer(values.type):
        numbers = [permuted_integer(rule.secret, it) for it in values.to_pylist()]
        return Masked(pa.array(numbers, values.type))
    if pa.types.is_binary(values.type):
        data = [digest_of_size(rule.secret, it, len(it)) for it in values.to_pylist()]
        return Masked(pa.array(data, values.type))
    return Masked(_hashed_texts(rule, values))


def _hashed_texts(rule: Rule, values: pa.Array) -> pa.Array:
    if rule.numbers:
        return pa.array([_hashed(rule, text) for text in values.to_pylist()], values.type)
    messages = values.cast(pa.binary()).to_pylist()
    size = _HASH_DIGITS // 2
    data = b"".join(each[:size] for each in digests(rule.secret, "text", messages))
    offsets = np.arange(len(messages) + 1, dtype=np.int32) * _HASH_DIGITS
    texts = pa.py_buffer(data.hex().encode())
    return pa.StringArray.from_buffers(len(messages), pa.py_buffer(offsets), texts)


def _forms_of_hashes(values: pa.Array, rule: Rule) -> Forms | None:
    """Only a text of as many hexadecimal digits may be its own hash."""
    if not pa.types.is_string(values.type) or rule.numbers:
        return None
    zeros = pa.scalar("0" * _HASH_DIGITS, values.type)
    may_stay = pc.match_substring_regex(values, rf"^[0-9a-f]{{{_HASH_DIGITS}}}$")
    return Forms(pa.repeat(zeros, len(values)), may_stay)


def _hashed(rule: Rule, text: str) -> str:
    if rule.numbers and (number := _as_long(text)) is not None:
        return str(permuted_integer(rule.secret, number))
    return digest(rule.secret, "text", text.encode("utf-8", "surrogatepass")).hex()[:_HASH_DIGITS]


def _as_long(text: str) -> int | None:
    """The number that a text is; None unless a LONG is written so."""
    if _LONG.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


def _digits(values: pa.Array, rule: Rule) -> Masked:
    if pa.types.is_integer(values.type):
        numbers = [permuted_decimal(rule.secret, it) for it in values.to_pylist()]
        return Masked(pa.array(numbers, values.type))
    texts = values.cast(pa.utf8()).to_pylist()
    is_whole = pa.types.is_decimal(values.type) and values.type.scale == 0
    masked = [_with_other_digits(rule, text, is_number=rule.numbers or is_whole) for text in texts]
    if pa.types.is_decimal(values.type):
        return Masked(pa.array(masked, pa.utf8()).cast(values.type))
    return Masked(pa.array(masked, values.type), _unmatched(_DIGIT.search, texts))


def _with_other_digits(rule: Rule, text: str, *, is_number: bool) -> str:
    """The text with other digits at the places of its digits, or its hash if it has none."""
    if is_number and (number := _as_long(text)) is not None:
        return str(permuted_decimal(rule.secret, number))
    old = "".join(_DIGIT.findall(text))
    if not old:
        return _hashed(rule, text)
    new = iter(permuted_digits(rule.secret, old))
    return _DIGIT.sub(lambda _: next(new), text)


def _email(values: pa.Array, rule: Rule) -> Masked:
    texts = values.to_pylist()
    addresses = [_address(rule, text) for text in texts]
    return Masked(pa.array(addresses, values.type), _unmatched(_EMAIL.fullmatch, texts))


def _address(rule: Rule, text: str) -> str:
    match = _EMAIL.fullmatch(text)
    if match is None:
        return _hashed(rule, text)
    domain = match[1] if rule.keep_domain else "example.com"
    return f"u{_hashed(rule, text)}@{domain}"


def _unmatched(match: Callable[[str], object], texts: Sequence[str]) -> pa.BooleanArray:
    return pa.array([match(text) is None for text in texts], pa.bool_())


def _fake(values: pa.Array, rule: Rule) -> Masked:
    """Values of the rule's list, each chosen by the digest of an old one."""
    count = len(rule.values)
    chosen = [
        rule.values[int.from_bytes(digest(rule.secret, "fake", text.encode())) % count]
        for text in values.to_pylist()
    ]
    return Masked(pa.array(chosen, values.type))


def _shift(values: pa.Array, rule: Rule) -> Masked:
    """Times moved by a fixed distance, which the secret gives if the rule doesn't."""
    milliseconds = rule.by if rule.by is not None else _secret_distance(rule.secret)
    try:
        return Masked(_shifted(values, milliseconds, rule))
    except (pa.ArrowInvalid, OverflowError) as error:
        raise MaskError(f"{rule}: a time is too late or too early to be moved: {error}") from error


def _secret_distance(secret: bytes) -> int:
    """A distance of 30 to 395 days into the past, in ms."""
    return -_MS_PER_DAY * (30 + int.from_bytes(digest(secret, "shift", b"")) % 366)


def _shifted(values: pa.Array, milliseconds: int, rule: Rule) -> pa.Array:
    data_type = values.type
    if is_precise(data_type):
        seconds, nanos = values.flatten()
        moved = _shifted(seconds, _whole(milliseconds, 1_000, rule), rule)
        return pa.StructArray.from_arrays([moved, nanos], fields=list(data_type))
    if pa.types.is_date32(data_type):
        days = _whole(milliseconds, _MS_PER_DAY, rule) // _MS_PER_DAY
        return pc.add_checked(values.view(pa.int32()), pa.scalar(days, pa.int32())).view(data_type)
    unit = rule.unit if pa.types.is_integer(data_type) else data_type.unit
    per_second = _UNITS[unit]
    distance = _whole(milliseconds, max(1_000 // per_second, 1), rule) * per_second // 1_000
    counts = values.view(pa.int64()) if not pa.types.is_integer(data_type) else values
    moved = pc.add_checked(counts, pa.scalar(distance, counts.type))
    return moved if moved.type == data_type else moved.view(data_type)


def _whole(milliseconds: int, step: int, rule: Rule) -> int:
    if milliseconds % step:
        raise MaskError(f"{rule}: times of this type only move by whole units of {step} ms")
    return milliseconds


def _sql(values: pa.Array, rule: Rule) -> Masked:
    if is_precise(values.type):
        raise MaskError(f"{rule}: SQL has no times of so many digits; take shift, fixed or null")
    return Masked(evaluated(values, rule.sql))


_ALL = frozenset(FieldType)
_T = FieldType
METHODS: dict[str, Method] = {
    "keep": Method(_ALL, None, needs_secret=False),
    "null": Method(_ALL - {_T.UNKNOWN}, _null, needs_secret=False),
    "fixed": Method(_ALL - {_T.UNKNOWN}, _fixed, ("value",), needs_secret=False),
    "hash": Method(
        frozenset({_T.TEXT, _T.INTEGER, _T.BYTES}), _hash, ("numbers",), forms=_forms_of_hashes
    ),
    "digits": Method(frozenset({_T.TEXT, _T.INTEGER, _T.DECIMAL}), _digits, ("numbers",)),
    "email": Method(frozenset({_T.TEXT}), _email, ("keep_domain",)),
    "shift": Method(frozenset({_T.TIME, _T.INTEGER}), _shift, ("by", "unit")),
    "fake": Method(frozenset({_T.TEXT}), _fake, ("values", "file")),
    "sql": Method(_ALL - {_T.UNKNOWN, _T.ENUM}, _sql, ("sql",), needs_secret=False),
}
"""Name in rules -> the method."""
