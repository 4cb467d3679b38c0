"""Entries that no Flink writes are told, and those that it may write are not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.checks.odd_entries import OddEntryError, expect_flags, expect_windows
from savepoint_formats.errors import FormatError


def chunk(data: bytes) -> Chunk:
    return Chunk(np.frombuffer(data, np.uint8), "file")


def test_a_flag_is_0_or_1() -> None:
    starts = np.array([0, 2, 4])
    expect_flags(chunk(b"\0?\1?\0?"), starts)
    with pytest.raises(FormatError, match="a flag of 7 in front of a value") as raised:
        expect_flags(chunk(b"\0?\1?\7?"), starts)
    assert (raised.value.record, raised.value.offset) == (2, 4)


def windows(*pairs: tuple[int, int]) -> pa.StructArray:
    rows = [{"key": 1, "namespace": {"start": start, "end": end}} for start, end in pairs]
    return pa.array(rows)


def test_a_window_may_be_empty_but_not_end_before_it_begins() -> None:
    starts = np.array([0, 1])
    expect_windows(windows((1, 2), (5, 5)), chunk(b"??"), starts)
    with pytest.raises(OddEntryError, match="a window from 5 to -5") as raised:
        expect_windows(windows((1, 2), (5, -5)), chunk(b"??"), starts)
    assert raised.value.record == 1


def test_other_namespaces_are_no_windows() -> None:
    entries = pa.array([{"namespace": 5}])
    expect_windows(entries, chunk(b"?"), np.array([0]))
