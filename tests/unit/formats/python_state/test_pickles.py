"""Pickles of plain data are read, all others refused without running them."""

from __future__ import annotations

import os
import pickle
import struct
import sys
from collections import OrderedDict
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from fuzz.promises import watched
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.errors import UndecodableError
from savepoint_formats.python_state.pickles import unpickle_plain

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = [
    None,
    (1, "ä", b"\0", 2.5, True),
    {"a": [1, {2, 3}]},
    Decimal("1.50"),
    datetime(2024, 3, 1, 12, tzinfo=UTC),
    UUID(int=7),
]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
# Older protocols name helpers of the pickle module itself; PyFlink writes none of them.
@pytest.mark.parametrize("protocol", range(3, pickle.HIGHEST_PROTOCOL + 1))
def test_plain_data_is_read(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol)
    assert unpickle_plain(data) == value
    assert unpickle_plain(struct.pack(">i", len(data)) + data) == value


class Attack:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_code_is_refused_and_not_run(tmp_path: Path) -> None:
    data = pickle.dumps(Attack(tmp_path / "owned"))
    with pytest.raises(UndecodableError, match="mkdir, which is not plain data"):
        unpickle_plain(data)
    assert not (tmp_path / "owned").exists()


@given(st.binary(max_size=40))
def test_damage_is_a_typed_error(data: bytes) -> None:
    try:
        unpickle_plain(data)
    except UndecodableError:
        return


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(0, 4)[:-1] + b"r" + (1 << 30).to_bytes(4, "little"),
        b"\x80\x04cbuiltins\nbytearray\nJ" + ((1 << 31) - 1).to_bytes(4, "little") + b"\x85R.",
        b"\x80\x05\x96" + (1 << 33).to_bytes(8, "little") + b".",
    ],
    ids=["number of an object", "zeros", "bytes"],
)
def test_a_few_bytes_take_no_gigabytes(data: bytes) -> None:
    with watched(256 << 20), pytest.raises(UndecodableError) as raised:
        unpickle_plain(data)
    assert not isinstance(raised.value.__cause__, MemoryError)


_SAME_HASH = [number * sys.hash_info.modulus for number in range(2000)]


@pytest.mark.parametrize(
    "value",
    [
        dict.fromkeys(_SAME_HASH),
        set(_SAME_HASH),
        frozenset(_SAME_HASH),
        OrderedDict.fromkeys(_SAME_HASH),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("protocol", [3, 5])
def test_keys_that_collide_are_refused(value: Any, protocol: int) -> None:
    """Python would compare each with all others: 28,000 of them took 12 seconds."""
    with pytest.raises(UndecodableError, match="many keys of a dict or set have one hash code"):
        unpickle_plain(pickle.dumps(value, protocol))


def test_ordinary_keys_are_no_collision() -> None:
    value = {number: {(number, 1.5), -number} for number in range(3000)}
    assert unpickle_plain(pickle.dumps(value)) == value
