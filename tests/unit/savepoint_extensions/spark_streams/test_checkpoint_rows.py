"""Rows of a query's table on the screen: no more than wanted, and never fewer without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_cli.terminal import Output
from savepoint_cli.terminal.output import OutputFormat
from savepoint_extensions.spark_streams.checkpoint_commands import print_rows

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
