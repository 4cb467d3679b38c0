"""The state that a job declares, read from its savepoint or from a file."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from savepoint_database.snapshot import Snapshot
from savepoint_extensions.upgrade.compatibility.expected_job import JobOperator, JobSchema
from savepoint_extensions.upgrade.compatibility.facts import operator_facts
from savepoint_extensions.upgrade.compatibility.operator_rules import FORST, HASHMAP, ROCKSDB
from savepoint_formats.locations import Location, is_live, path_text, reading_errors
from savepoint_formats.metadata import FlinkVersionRange, IncrementalHandle, KeyedHandleType
from savepoint_formats.savepoint_warnings import UnknownUidWarning
from savepoint_formats.tables import base_handles

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.upgrade.compatibility.facts import OperatorFacts
    from savepoint_formats.locations import PathText

    ExpectedJob: TypeAlias = JobSchema | Snapshot | PathText
    """The state of a new job: its schema, its savepoint, or the path of either."""

_MAX_SIZE = 64 << 20
_JSON_START = b"{"


def job_schema(snapshot: Snapshot) -> JobSchema:
    """The state that the job of a savepoint declares; ``problems`` say what can't be read."""
    looked = [(operator, *_facts(operator)) for operator in snapshot.operators()]
    problems = (
        f"operator {operator.name}: {problem}" for operator, _, each in looked for problem in each
    )
    metadata = snapshot.metadata
    return JobSchema(
        snapshot.path,
        FlinkVersionRange.of(metadata),
        metadata.version,
        _backend(looked),
        tuple(job_operator(operator, facts) for operator, facts, _ in looked),
        tuple(problems),
    )


def job_operator(operator: Operator, facts: OperatorFacts) -> JobOperator:
    """Converts an operator of a savepoint to one of a job."""
    record = operator.record
    return JobOperator(
        operator.uid, operator.id, record.parallelism, record.max_parallelism, facts.states
    )


def _facts(operator: Operator) -> tuple[OperatorFacts, tuple[str, ...]]:
    known = operator.record, operator.uid, operator.catalog, operator.kryo
    return operator_facts(operator.directory, *known)


def _backend(looked: Iterable[tuple[Operator, OperatorFacts, object]]) -> str:
    """The backend whose files the operators have; empty if all are canonical.

    Files of ForSt are like those of RocksDB, but only ForSt has state V2.
    """
    looked = list(looked)
    handles = [
        base
        for operator, _, _ in looked
        for subtask in operator.record.subtasks
        for base in base_handles(subtask.managed_keyed_state)
    ]
    if any(isinstance(handle, IncrementalHandle) for handle in handles):
        is_forst = any(state.is_v2 for _, facts, _ in looked for state in facts.states)
        return FORST if is_forst else ROCKSDB
    return HASHMAP if any(handle.type is KeyedHandleType.KEY_GROUPS for handle in handles) else ""


def expected_job(job: ExpectedJob, uids: Iterable[str] = ()) -> JobSchema:
    """The state that a new job declares; ``uids`` are names of operators of Flink 1.

    Raises:
        DescriptionError: A file of JSON is not a schema of a job, or states are missing in it.
        SavepointError: The savepoint can't be opened or read.
    """
    if isinstance(job, JobSchema):
        return job.expect_complete()
    if isinstance(job, Snapshot):
        return job_schema(job).expect_complete()
    path = path_text(job)
    text = None if is_live(path) else _json_text(path)
    if text is not None:
        return JobSchema.from_json(text, path).expect_complete()
    with warnings.catch_warnings():
        # The job may lack operators of the savepoint.
        warnings.simplefilter("ignore", UnknownUidWarning)
        return job_schema(Snapshot.open(path, uids=uids)).expect_complete()


def _json_text(path: str) -> str | None:
    """The text of a file that begins as JSON does; None if the path is another file, or a directory."""
    location = Location.of(path)
    size = location.file_size()
    if size is None or size > _MAX_SIZE:
        return None
    with reading_errors(path), location.filesystem.open_input_file(location.path) as file:
        data = bytes(file.read(_MAX_SIZE))
    if not data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(_JSON_START):
        return None
    return data.decode("utf-8-sig", errors="replace")
