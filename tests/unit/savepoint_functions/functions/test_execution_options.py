"""How functions are run goes by the names of Flink's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from savepoint_functions.functions.execution_options import ExecutionOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

MEMORY = "execution.sorted-inputs.memory"
BETWEEN = "execution.timers-between-rows.enabled"
BACKEND = "state.backend.type"
INTERVAL = "execution.checkpointing.interval"
BACKLOG = "execution.checkpointing.interval-during-backlog"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ExecutionOptions(state_backend="single_key")),
        ({BACKEND: "rocksdb"}, ExecutionOptions("rocksdb")),
        ({MEMORY: "128mb"}, ExecutionOptions(sort_memory=128 << 20)),
        ({INTERVAL: "10 s"}, ExecutionOptions(checkpoint_interval_ms=10_000)),
        ({BETWEEN: "false", MEMORY: "1kb"}, ExecutionOptions("single_key", 1024, None, False)),
    ],
    ids=str,
)
def test_settings_are_options(settings: Mapping[str, Any], expected: ExecutionOptions) -> None:
    assert ExecutionOptions.of(settings) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"state.backend": "heap"}, "option 'state.backend', expected one of"),
        ({BETWEEN: "yes"}, f"{BETWEEN}='yes', expected true or false"),
        ({BACKEND: "forst"}, f"{BACKEND}='forst', expected single_key, which has"),
        ({BACKEND: "hashmap"}, "or rocksdb, which has it on disk"),
        ({"execution.sorted-inputs.enabled": False}, "is gone: rows always come sorted by key"),
        ({"execution.batch-state-backend.enabled": True}, "is gone: state.backend.type names"),
        ({BACKLOG: "1 min"}, "stream the history together with the live rows"),
        ({"state.backend.cache.size": 2}, "option 'state.backend.cache.size', expected one of"),
        ({MEMORY: "lots"}, f"{MEMORY}='lots', expected a size such as 128mb"),
        ({MEMORY: "0"}, f"{MEMORY}='0', expected some memory"),
        ({INTERVAL: "10 parsecs"}, f"{INTERVAL}='10 parsecs', expected a duration"),
        ({INTERVAL: 0}, "leave it out for no savepoints"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(settings: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ExecutionOptions.of(settings)
