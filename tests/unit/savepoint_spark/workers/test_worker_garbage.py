"""Objects that a worker keeps away from its garbage collector."""

from __future__ import annotations

import gc
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from support.sample_rows import Sample

from savepoint_spark.reading.data_source import SavepointReader
from savepoint_spark.reading.table_read import TableRead
from savepoint_spark.workers.start import keep_what_is_imported

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module that is imported after all that was set apart before."""
    gc.freeze()
    monkeypatch.setattr("savepoint_spark.workers.start._Kept.modules", 0)
    keep_what_is_imported()
    new = ModuleType("imported_by_a_task")
    monkeypatch.setitem(sys.modules, new.__name__, new)
    yield new
    gc.unfreeze()


def is_looked_through(module: ModuleType) -> bool:
    return any(thing is module for thing in gc.get_objects())


def test_what_is_imported_is_looked_through_no_longer(module: ModuleType) -> None:
    assert is_looked_through(module)
    keep_what_is_imported()
    assert not is_looked_through(module)


def test_what_comes_later_is_looked_through(module: ModuleType) -> None:
    keep_what_is_imported()
    later = ModuleType("made_by_a_later_task")
    keep_what_is_imported()
    assert is_looked_through(later)


def test_a_task_that_reads_sets_its_modules_apart(module: ModuleType) -> None:
    scan = Sample("currency-2.2.1-hashmap-canonical").open().scan("summarize.keyed_state")
    reader = SavepointReader(TableRead(scan, scan))
    rows = [reader.read(partition) for partition in reader.partitions()]
    assert sum(batch.num_rows for batches in rows for batch in batches) > 0
    assert not is_looked_through(module)
