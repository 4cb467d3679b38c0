"""How functions are run goes by the names of Flink's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from savepoint_functions.functions.execution_options import ExecutionOptions
from savepoint_functions.functions.process_functions import KeyedFunction

if TYPE_CHECKING:
    from collections.abc import Mapping

SORTED, MEMORY = "execution.sorted-inputs.enabled", "execution.sorted-inputs.memory"
BATCH = "execution.batch-state-backend.enabled"
BACKEND = "state.backend.type"
INTERVAL = "execution.checkpointing.interval"
BACKLOG = "execution.checkpointing.interval-during-backlog"


class SortsItself(KeyedFunction):
    is_internal_sorter_supported = True


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ExecutionOptions(is_sorted=True, state_backend="single_key")),
        ({SORTED: "false"}, ExecutionOptions(False, "heap")),
        ({BACKEND: "rocksdb"}, ExecutionOptions(True, "rocksdb")),
        ({SORTED: False, BACKEND: "rocksdb"}, ExecutionOptions(False, "rocksdb")),
        ({MEMORY: "128mb"}, ExecutionOptions(sort_memory=128 << 20)),
        ({BACKEND: "hashmap"}, ExecutionOptions(True, "heap")),
        ({BATCH: "false"}, ExecutionOptions(True, "heap")),
        ({BATCH: True}, ExecutionOptions()),
        ({BATCH: False, BACKEND: "rocksdb"}, ExecutionOptions(True, "rocksdb")),
        ({SORTED: False, MEMORY: "1kb"}, ExecutionOptions(False, "heap", 1024)),
        ({INTERVAL: "10 s"}, ExecutionOptions(checkpoint_interval_ms=10_000)),
        (
            {INTERVAL: 500, BACKLOG: "1 min"},
            ExecutionOptions(True, "single_key", None, 500, 60_000),
        ),
    ],
    ids=str,
)
def test_settings_are_options(settings: Mapping[str, Any], expected: ExecutionOptions) -> None:
    assert ExecutionOptions.of(settings) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"state.backend": "heap"}, "option 'state.backend', expected one of"),
        ({SORTED: "yes"}, f"{SORTED}='yes', expected true or false"),
        ({BACKEND: "forst"}, "expected one of single_key, heap, rocksdb"),
        ({SORTED: False, BACKEND: "single_key"}, "keeps the state of one key"),
        ({SORTED: False, BATCH: True}, "keeps the state of one key"),
        ({BATCH: True, BACKEND: "hashmap"}, f"{BATCH}=true, but {BACKEND}=hashmap: leave one"),
        ({BATCH: False, BACKEND: "single_key"}, f"{BATCH}=false, but {BACKEND}=single_key"),
        ({BATCH: "on"}, f"{BATCH}='on', expected true or false"),
        ({"state.backend.cache.size": 2}, "option 'state.backend.cache.size', expected one of"),
        ({MEMORY: "lots"}, f"{MEMORY}='lots', expected a size such as 128mb"),
        ({MEMORY: "0"}, f"{MEMORY}=0, expected some memory"),
        ({INTERVAL: "10 parsecs"}, f"{INTERVAL}='10 parsecs', expected a duration"),
        ({INTERVAL: 0}, "leave it out for no savepoints"),
        ({INTERVAL: "10 s", BACKLOG: "5 s"}, "of 5000 ms is less than"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(settings: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ExecutionOptions.of(settings)


def test_a_backlog_without_savepoints_is_run_in_mixed_mode() -> None:
    assert ExecutionOptions.of({INTERVAL: "10 s"}).is_mixed
    assert ExecutionOptions.of({INTERVAL: "10 s", BACKLOG: 0}).is_mixed
    assert not ExecutionOptions.of({INTERVAL: "10 s", BACKLOG: "10 s"}).is_mixed


def test_nothing_is_sorted_for_a_function_that_sorts_by_itself() -> None:
    assert ExecutionOptions().for_function(KeyedFunction()) == ExecutionOptions()
    assert ExecutionOptions().for_function(SortsItself()) == ExecutionOptions(False, "heap")
    rocksdb = ExecutionOptions.of({BACKEND: "rocksdb"})
    assert rocksdb.for_function(SortsItself()) == ExecutionOptions(False, "rocksdb")
