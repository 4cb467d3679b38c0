"""Rows of a query's table on the screen: no more than wanted, and never fewer without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_cli.terminal import Output
from savepoint_cli.terminal.output import OutputFormat
from savepoint_extensions.spark_streams.checkpoint_commands import late_rows, print_rows

if TYPE_CHECKING:
    import pytest


def test_rows_that_are_left_out_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    rows = pa.table({"k": ["a", "b", "c"]})
    for most, printed, note in ((2, 2, "more than 2 rows: -n 20 shows"), (3, 3, ""), (0, 0, "")):
        print_rows(Output(OutputFormat.JSON), "", rows, most)
        answer = capsys.readouterr()
        assert len(answer.out.splitlines()) == printed
        assert note in answer.err
        assert bool(answer.err) == bool(note)


def test_a_watermark_beyond_the_last_year_has_no_date() -> None:
    assert "watermark 1709294400000 ms (2024-03-01T12:00:00+00:00)" in late_rows(1_709_294_400_000)
    # Of a query that has taken microseconds for seconds.
    assert "watermark 1709294400000000000 ms. A job" in late_rows(1_709_294_400_000_000_000)
    assert "watermark -1 ms (1969-12-31T23:59:59.999000+00:00)" in late_rows(-1)


def test_an_operator_behind_a_join_has_an_earlier_watermark() -> None:
    assert "Behind a join" not in late_rows(1)
    assert late_rows(1, operators=2).endswith("own watermark is earlier by that range.")
