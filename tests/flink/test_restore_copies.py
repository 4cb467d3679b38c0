"""Savepoints that are written of others without touching state, restored by Flink."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.flink_restore import RELEASES, FlinkRestore, RestoreError
from support.sample_operators import BUFFER, CURRENCY_CONVERTER, STATEFUL, SUMMARIZE
from support.sample_rows import Sample, in_order, samples
from support.slow_cases import few_by_day

if TYPE_CHECKING:
    from pathlib import Path

STATES = [sample for sample in samples() if sample.facts["case"] == "states"]


@pytest.mark.parametrize("sample", few_by_day(STATES), ids=str)
def test_a_copy_holds_what_the_original_does(
    flink_restore: FlinkRestore, tmp_path: Path, sample: Sample
) -> None:
    copy = tmp_path / "copy"
    sample.open().writer().write(str(copy))
    restored = flink_restore(
        copy,
        STATEFUL,
        BUFFER,
        flink=sample.facts["flink"],
        backend=sample.facts["backend"],
        config=_config(sample, tmp_path),
    )
    assert restored.keyed_state("stateful") == in_order(sample.keyed_state("stateful"))
    assert restored.timers("stateful") == in_order(sample.operators()["stateful"]["timers"])
    elements = restored.elements("buffer", "elements")
    assert sorted(elements) == sorted(sample.elements("buffer", "elements"))


def _config(sample: Sample, folder: Path) -> dict[str, str]:
    """Settings of a job that restores a checkpoint of this kind."""
    if "changelog" in sample.name:
        return {
            "state.changelog.enabled": "true",
            "state.changelog.storage": "filesystem",
            "state.changelog.dstl.dfs.base-path": folder.as_uri(),
        }
    return {}


@pytest.mark.parametrize("flink", RELEASES)
def test_state_moves_to_another_uid(
    flink_restore: FlinkRestore, tmp_path: Path, flink: str
) -> None:
    sample = Sample(f"currency-{flink}-rocksdb-native")
    sample.open().rename_operator("summarize", "totals").write(str(tmp_path / "copy"))
    operator = replace(SUMMARIZE, uid="totals")
    restored = flink_restore(tmp_path / "copy", operator, SUMMARIZE, flink=flink, backend="rocksdb")
    assert restored.keyed_state("totals") == in_order(sample.keyed_state("summarize"))
    assert restored.keyed_state("summarize") == []


@pytest.mark.parametrize("flink", RELEASES)
def test_a_removed_operator_begins_empty(
    flink_restore: FlinkRestore, tmp_path: Path, flink: str
) -> None:
    sample = Sample(f"currency-{flink}-hashmap-canonical")
    sample.open().remove_operator("currency_converter").write(str(tmp_path / "copy"))
    restored = flink_restore(
        tmp_path / "copy", SUMMARIZE, CURRENCY_CONVERTER, flink=flink, backend="rocksdb"
    )
    assert restored.keyed_state("summarize") == in_order(sample.keyed_state("summarize"))
    assert restored.elements("currency_converter", "rates") == []


def test_flink_misses_a_file_of_a_copy_that_is_gone(
    flink_restore: FlinkRestore, tmp_path: Path
) -> None:
    sample = Sample("currency-2.2.1-hashmap-canonical")
    sample.open().writer().write(str(tmp_path / "copy"))
    for file in (tmp_path / "copy").iterdir():
        if file.name != "_metadata":
            file.unlink()
    with pytest.raises(RestoreError, match=r"does not exist|No such file"):
        flink_restore(tmp_path / "copy", SUMMARIZE)
