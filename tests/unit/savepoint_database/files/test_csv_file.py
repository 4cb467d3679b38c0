"""Texts that a spreadsheet would take as formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.commands import run

from savepoint_database.files.text_files import without_formulas
from state_processor import Savepoint, export_table

if TYPE_CHECKING:
    from pathlib import Path


def test_a_formula_becomes_a_text() -> None:
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "plain", "a=b", "", None]
    batch = pa.RecordBatch.from_pydict({"text": texts, "number": [-1] * len(texts)})
    escaped = without_formulas(batch)
    assert escaped.column("number").to_pylist() == [-1] * len(texts)
    assert escaped.column("text").to_pylist() == [
        *("'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\tx", "'\rx", "plain", "a=b", "", None)
    ]


def test_other_formats_have_no_formulas(samples: Path, tmp_path: Path) -> None:
    path = samples / "states-2.2.1-rocksdb-native"
    scan = Savepoint.open(path).scan("stateful.keyed_state", columns=["key"])
    with pytest.raises(ValueError, match="only escaped in CSV"):
        export_table(scan, tmp_path / "a", "parquet", escape_formulas=True)
    out = str(tmp_path / "a.csv")
    arguments = ("export", path, "stateful.keyed_state", out, "--column", "key")
    assert run(*arguments, "--format", "parquet", "--escape-formulas")[0] == 2
    assert run(*arguments, "--format", "csv", "--escape-formulas")[0] == 0
