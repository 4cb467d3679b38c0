"""Reading a file in large pieces, the next while one is decoded."""

from __future__ import annotations

import random

import pytest

from savepoint_formats.locations import state_file
from savepoint_formats.locations.state_file import ReadAhead

DATA = random.Random(1).randbytes(1000)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Reads of a file, 100 bytes each at most."""
    monkeypatch.setattr(state_file, "REQUEST_SIZE", 100)
    return []


def ahead(asked: list[tuple[int, int]], *ranges: tuple[int, int]) -> ReadAhead:
    def read(start: int, end: int) -> bytes:
        asked.append((start, end))
        return DATA[start:end]

    return ReadAhead(ranges, read)


@pytest.mark.parametrize("step", [7, 50, 130, 400])
def test_what_is_read_in_order_is_there_whatever_the_pieces(
    asked: list[tuple[int, int]], step: int
) -> None:
    file = ahead(asked, (40, 540), (540, 800))
    for start in range(40, 800, step):
        end = min(start + step, 800)
        assert file.read(start, end) == DATA[start:end]
    # Each byte once, and no piece larger than it may be.
    assert sorted(asked)[0][0] == 40
    assert sum(end - start for start, end in asked) == 760
    assert max(end - start for start, end in asked) <= 100


def test_bytes_between_two_ranges_are_not_passed_over(asked: list[tuple[int, int]]) -> None:
    file = ahead(asked, (0, 90), (200, 290))
    assert file.read(0, 80) == DATA[:80]
    assert file.read(50, 250) is None
    assert file.read(200, 290) == DATA[200:290]
    assert file.read(300, 310) is None


def test_few_rows_ask_for_one_piece(asked: list[tuple[int, int]]) -> None:
    assert ahead(asked, (0, 1000)).read(0, 40) == DATA[:40]
    assert asked == [(0, 100)]


def test_an_error_is_raised_where_its_bytes_are_needed() -> None:
    def read(start: int, end: int) -> bytes:
        if start:
            raise OSError("gone")
        return DATA[start:end]

    file = ReadAhead([(0, 90), (90, 180)], read)
    assert file.read(0, 90) == DATA[:90]
    with pytest.raises(OSError, match="gone"):
        file.read(90, 100)
