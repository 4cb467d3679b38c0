"""Constants of enums are renamed and dropped by verbs of a savepoint, tried without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.commands import run

from savepoint_extensions.enums.changed_constants import constants
from state_processor import ClassNotNamedError, Savepoint, SchemaChangeError

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_spark.changing.changed_operator import ChangedOperator
    from state_processor.savepoint.constant_changes import ConstantChanges

METRIC = "shop.Metric"


@pytest.fixture
def job(cases: Path) -> ConstantChanges:
    return Savepoint.open(str(cases / "10-enum-constants"))


def test_both_changes_are_tried_in_one_pass(job: ConstantChanges, tmp_path: Path) -> None:
    changed = (
        job.rename_constant(METRIC, "OLD_ONE", "GONE")
        .drop_constant(METRIC, "GONE")
        .rename_constant(METRIC, "RATE_AT_MOST", "OLD_ONE")
        .rename_class(METRIC, "shop.Measure")
        .rename_constant("shop.Measure", "OLD_ONE", "BELOW")
    )
    changed.plan(str(tmp_path / "out"), check=True)
    (named,) = (it for it in map(_constants, changed.changes_of(None).values()) if it)
    assert named == {"shop.Measure": ("COUNT_AT_LEAST", "BELOW")}


def _constants(operator: ChangedOperator) -> dict[str, tuple[str, ...]]:
    return constants(operator)


def test_a_constant_that_is_used_is_not_dropped(job: ConstantChanges) -> None:
    with pytest.raises(
        SchemaChangeError,
        match=r"used 28 times: 8 in state 'byMetric' of operator .* savepoint find",
    ):
        job.drop_constant(METRIC, "RATE_AT_MOST")
    renamed = job.rename_constant(METRIC, "RATE_AT_MOST", "BELOW")
    with pytest.raises(SchemaChangeError, match=r"constant 'BELOW' of .* is used 28 times"):
        renamed.drop_constant(METRIC, "BELOW")
    with pytest.raises(
        ClassNotNamedError, match=r"has no constant 'RATE_AT_MOST'; it has: .*BELOW"
    ):
        renamed.drop_constant(METRIC, "RATE_AT_MOST")


def test_what_is_not_there_is_told_with_what_there_is(job: ConstantChanges) -> None:
    with pytest.raises(ClassNotNamedError, match="no constant 'OLD'; it has: COUNT_AT_LEAST"):
        job.rename_constant(METRIC, "OLD", "NEW")
    with pytest.raises(ClassNotNamedError, match=r"constants of shop\.Other.*it has: shop\.Metric"):
        job.drop_constant("shop.Other", "OLD_ONE")
    dropped = job.drop_constant(METRIC, "OLD_ONE")
    with pytest.raises(ClassNotNamedError, match="has no constant 'OLD_ONE'"):
        dropped.drop_constant(METRIC, "OLD_ONE")


def test_fields_change_after_a_constant_went(job: ConstantChanges, tmp_path: Path) -> None:
    operator = "fd119ac90f11f8fe12d0453decccf296"
    dropped = job.drop_constant(METRIC, "OLD_ONE")
    both = dropped.rename_field(operator, "rule", "limit", "most")
    both.plan(str(tmp_path / "out"), check=True)


def test_the_commands_try_changes_and_refuse_them(cases: Path, tmp_path: Path) -> None:
    path, out = cases / "10-enum-constants", tmp_path / "out"
    code, text = run("drop-constant", path, METRIC, "OLD_ONE", out, "--dry-run")
    assert (code, "changed" in text) == (0, True)
    code, text = run("drop-constant", path, METRIC, "RATE_AT_MOST", out)
    assert (code, "is used 28 times" in text) == (1, True)
    code, text = run("rename-constant", path, METRIC, "OLD", "NEW", out)
    assert (code, "has no constant 'OLD'" in text) == (2, True)
    assert not out.exists()
