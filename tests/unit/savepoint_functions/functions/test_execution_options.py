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
SORTED = "execution.sorted-inputs.enabled"
BATCH = "execution.batch-state-backend.enabled"
BACKLOG = "execution.checkpointing.interval-during-backlog"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ExecutionOptions(state_backend="single_key")),
        ({BACKEND: "rocksdb"}, ExecutionOptions("rocksdb")),
        ({MEMORY: "128mb"}, ExecutionOptions(sort_memory=128 << 20)),
        ({INTERVAL: "10 s"}, ExecutionOptions(checkpoint_interval_ms=10_000)),
        ({BACKEND: "hashmap", SORTED: True}, ExecutionOptions()),
        ({SORTED: "false"}, ExecutionOptions(sorted_inputs=False)),
        ({BATCH: False}, ExecutionOptions(batch_state_backend=False)),
        ({BACKLOG: "1 min"}, ExecutionOptions(backlog_interval_ms=60_000)),
        ({BETWEEN: "false", MEMORY: "1kb"}, ExecutionOptions("single_key", 1024, None, False)),
    ],
    ids=str,
)
def test_settings_are_options(settings: Mapping[str, Any], expected: ExecutionOptions) -> None:
    assert ExecutionOptions.of(settings) == expected


def test_a_key_ends_as_in_batch_mode_if_inputs_are_sorted() -> None:
    settings = [{}, {BATCH: True}, {SORTED: False}, {BATCH: False}, {SORTED: False, BATCH: False}]
    ends = [ExecutionOptions.of(one).ends_as_batch for one in settings]
    assert ends == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"state.backend": "heap"}, "option 'state.backend', expected one of"),
        ({BETWEEN: "yes"}, f"{BETWEEN}='yes', expected true or false"),
        ({BACKEND: "forst"}, f"{BACKEND}='forst', expected hashmap or single_key, which"),
        ({SORTED: False, BATCH: True}, f"{BATCH}=true needs sorted inputs, in Flink as well"),
        ({BACKLOG: "soon"}, f"{BACKLOG}='soon', expected a duration"),
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
