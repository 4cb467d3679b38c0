"""Pages of a table: every row once, in both directions, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.sample_rows import Sample, copy_of, file_of, rows_of, told

from savepoint_extensions.browse.row_pages import RowPages
from savepoint_formats.errors import StateFileNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from support.sample_rows import Rows

SAMPLE = Sample("states-2.2.1-hashmap-canonical")


def keyed_pages(size: int, kept_size: int = 1) -> RowPages:
    return RowPages(SAMPLE.open().scan("stateful.keyed_state"), size, kept_size=kept_size)


def keys_of(pages: RowPages, number: int) -> list[str]:
    return list(pages.page(number).rows.column("key").to_pylist())


@pytest.fixture(scope="module")
def rows() -> Rows:
    return rows_of(SAMPLE.open().scan("stateful.keyed_state"))


def test_all_pages_are_all_rows(rows: Rows) -> None:
    pages, found = keyed_pages(7), []
    for number in range(4):
        page = pages.page(number)
        assert (page.first_row, page.is_last) == (7 * number, number == 3)
        found += [row["key"] for row in told(page.rows)]
    assert len(rows) == 23
    assert found == [row["key"] for row in rows]


@pytest.mark.parametrize("kept_size", [1, 1 << 20])
def test_pages_may_be_asked_for_in_any_order(rows: Rows, kept_size: int) -> None:
    pages = keyed_pages(5, kept_size)
    for number in (3, 4, 0, 2, 1, 4, 3):
        assert keys_of(pages, number) == [row["key"] for row in rows][5 * number : 5 * number + 5]


def test_going_back_reads_no_split_before_that_of_the_page(tmp_path: Path, rows: Rows) -> None:
    savepoint = copy_of(SAMPLE, tmp_path)
    pages = RowPages(savepoint.scan("stateful.keyed_state"), 1, kept_size=1)
    first, _ = pages.scan.splits()
    before = sum(batch.num_rows for batch in pages.scan.read(first))
    assert pages.page(22).is_last
    file_of(savepoint, "stateful 0: keyed state").unlink()
    assert keys_of(pages, before) == [rows[before]["key"]]
    with pytest.raises(StateFileNotFoundError):
        pages.page(before - 1)


def test_a_page_that_ends_with_the_table_is_the_last() -> None:
    assert keyed_pages(23).page(0).is_last
    assert not keyed_pages(22).page(0).is_last


def test_behind_the_last_page_is_nothing() -> None:
    page = keyed_pages(10).page(9)
    assert (page.rows.num_rows, page.is_last, page.rows.schema.names[0]) == (0, True, "key")


def test_memory_holds_the_pages_that_were_asked_for_last() -> None:
    pages = keyed_pages(5)
    for number in range(3):
        pages.page(number)
    assert list(pages._kept) == [2]
    kept = keyed_pages(5, kept_size=1 << 20)
    assert kept.page(1) is kept.page(1)
    batch = next(pages.scan.batches())
    assert pages.page(0).rows.get_total_buffer_size() < batch.get_total_buffer_size()


def test_times_of_timers_are_dates() -> None:
    pages = RowPages(SAMPLE.open().scan("stateful.timers"))
    (first, *_) = pages.page(0).rows.column("timestamp").to_pylist()
    assert first == "2100-01-01 00:00:00.000000Z"


def test_a_file_that_is_gone_is_told_again_and_again(tmp_path: Path, rows: Rows) -> None:
    savepoint = copy_of(SAMPLE, tmp_path)
    pages = RowPages(savepoint.scan("stateful.keyed_state"), 5)
    file = file_of(savepoint, "stateful 1: keyed state")
    data = file.read_bytes()
    file.unlink()
    assert len(keys_of(pages, 0)) == 5
    for _ in range(2):
        with pytest.raises(StateFileNotFoundError):
            pages.page(4)
    file.write_bytes(data)
    assert keys_of(pages, 4) == [row["key"] for row in rows][20:]
