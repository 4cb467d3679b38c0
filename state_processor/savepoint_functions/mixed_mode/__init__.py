"""Backlog, then stream: a function over keyed rows, first in batch mode, then in stream mode.

A backlog is bounded, and old already, so it runs as batches do: its rows come sorted by key, and no
savepoint is taken before it is over. ``backlog`` runs it; what it leaves is a savepoint and rows.
Then the stream goes on from that savepoint, on Spark's own stateful engine. To be read in this order:

| module             | is                                                                        |
|--------------------|---------------------------------------------------------------------------|
| mixed_mode_job     | both phases, and the switch between them; job_inputs: what they take      |
| stream_rows        | rows on their way to the state store: a row per key and micro-batch       |
| keyed_processor    | a visit of a key: timers, rows, state                                     |
| stored_backend     | what the state store keeps of a key                                       |
| initial_state      | the rows of keys that the savepoint of the switch has                     |
| switch_state       | where a key has these until its first visit; sorted_file: its files       |
| switch_alarms      | keys of the switch that the watermark wakes up                            |
| stored_rows        | from the state store, and the switch, to a savepoint                      |
| stream_query       | all of that as a query of Spark                                           |
| running_stream     | a query that runs; stream_clock, wake_ups: what the clock does meanwhile  |
"""

from savepoint_functions.functions.process_functions import RecordAttributes
from savepoint_functions.mixed_mode.backlog import Backlog
from savepoint_functions.mixed_mode.backlog_result import BacklogResult
from savepoint_functions.mixed_mode.backlog_run import BacklogCounts
from savepoint_functions.mixed_mode.committed_batch import CommittedBatch
from savepoint_functions.mixed_mode.mixed_mode_job import MixedModeJob
from savepoint_functions.mixed_mode.outputs import ParquetOutput
from savepoint_functions.mixed_mode.progress import BacklogProgress, BatchProgress, print_progress
from savepoint_functions.mixed_mode.running_stream import RunningStream
from savepoint_functions.mixed_mode.stream_function import OperatorSettings

__all__ = [
    "Backlog",
    "BacklogCounts",
    "BacklogProgress",
    "BacklogResult",
    "BatchProgress",
    "CommittedBatch",
    "MixedModeJob",
    "OperatorSettings",
    "ParquetOutput",
    "RecordAttributes",
    "RunningStream",
    "print_progress",
]
