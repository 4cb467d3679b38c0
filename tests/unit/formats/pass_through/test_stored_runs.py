"""Existing keyed state, passed on into canonical files, reads as it did before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.changelog_jobs import SCOPES, TIMERS, Scope, Step, logged_jobs, registrations
from support.hand_made import (
    changelog,
    in_memory,
    operator_with,
    registration,
)
from support.passed_state import (
    entries_in,
    has_keyed_state,
    key_of,
    passed_on,
    rows_by_table,
    sections_of,
)
from support.sample_rows import Sample, in_order, rows_of, samples, with_columns
from support.slow_cases import fast_few, few_by_day, slow_unless

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import UndecodableError
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.key_groups.ranges import KeyGroupRange, key_group
from savepoint_formats.layout import Text
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import CheckpointMetadata
from savepoint_formats.pass_through.stored_states import PassThrough, stored_runs
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_formats.scan.scan import TableScan
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import StoredHandle
from savepoint_formats.state_files.changelog import StateChangeOperation as Operation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from savepoint_formats.metadata import OperatorState
    from state_processor import Operator, Savepoint

NOWHERE = SnapshotDirectory.of("/")


FORMS = [
    Sample("states-1.20.5-hashmap-changelog"),
    Sample("states-1.20.5-hashmap-compressed"),
    Sample("states-2.2.1-hashmap-canonical"),
    Sample("states-2.2.1-hashmap-native"),
    Sample("states-2.2.1-rocksdb-native"),
]

OTHER_KEY_GROUPS = [(sample, max_parallelism) for sample in FORMS for max_parallelism in (None, 7)]
"""Samples, with their key groups and others: prefixes of two bytes become one, and back."""


@pytest.mark.parametrize("sample", fast_few(samples()), ids=str)
def test_all_tables_of_a_sample_are_the_same(sample: Sample) -> None:
    check_all_tables(sample, 300)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(("sample", "max_parallelism"), few_by_day(OTHER_KEY_GROUPS), ids=str)
def test_so_are_those_with_other_key_groups(sample: Sample, max_parallelism: int | None) -> None:
    check_all_tables(sample, max_parallelism)


def check_all_tables(sample: Sample, max_parallelism: int | None) -> None:
    savepoint = sample.open()
    for operator in savepoint.operators():
        if has_keyed_state(operator.record):
            after = passed_on(savepoint.directory, operator.record, max_parallelism)
            assert rows_by_table(savepoint.directory, after) == rows_by_table(
                savepoint.directory, operator.record
            )


@pytest.mark.usefixtures("slow")
def test_all_tables_of_the_corpus_are_the_same(corpus: Path) -> None:
    passed = 0
    for path in sorted((corpus / "savepoints").glob("*/_metadata")):
        directory = SnapshotDirectory.of(str(path.parent))
        metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata(), str(path)))
        for operator in filter(has_keyed_state, metadata.operators):
            after = passed_on(directory, operator, 300)
            assert rows_by_table(directory, after) == rows_by_table(directory, operator)
            passed += 1
    assert passed > 50


@pytest.mark.parametrize("max_parallelism", [300, 7])
@pytest.mark.parametrize(
    "sample", ["currency-2.2.1-hashmap-native", "states-1.20.5-hashmap-compressed"]
)
def test_each_key_is_in_its_key_group(sample: str, max_parallelism: int) -> None:
    savepoint = Sample(sample).open()
    checked = 0
    for operator in savepoint.operators():
        if has_keyed_state(operator.record):
            key = key_of(savepoint.directory, operator.record).layout()
            after = passed_on(savepoint.directory, operator.record, max_parallelism)
            for row in rows_of_keys(operator, after):
                assert row["key_group"] == key_group(java_hash(key, row["key"]), max_parallelism)
                checked += 1
    assert checked > 10


def rows_of_keys(operator: Operator, record: OperatorState) -> Iterator[dict[str, Any]]:
    """The rows of the table of keyed state, if the operator had these files."""
    table = operator.table("keyed_state")
    scan = TableScan(operator.directory, record, table, ReadOptions(with_key_group=True))
    for split in scan.splits():
        for batch in scan.read(split):
            yield from batch.select(["key", "key_group"]).to_pylist()


def entries_of(savepoint: Savepoint, operator: OperatorState) -> set[tuple[int, int, bytes, bytes]]:
    """Key group, state id, key and value of each entry passed on."""
    sections = sections_of(savepoint.directory, operator, operator.max_parallelism)
    return {
        (group, state, key, value)
        for group, runs in sections.items()
        for state, key, value in entries_in(b"".join(runs))
    }


@pytest.mark.parametrize("case", ["currency", "windows"])
@pytest.mark.parametrize("release", ["1.20.5", "2.2.1"])
@pytest.mark.parametrize("form", ["hashmap-native", "rocksdb-canonical", "rocksdb-native"])
def test_entries_are_byte_by_byte_what_flink_writes_into_canonical_files(
    case: str, release: str, form: str
) -> None:
    """The jobs did the same; only the order of their states may differ, hence the ids."""

    def found(name: str) -> dict[str, set[tuple[int, bytes, bytes]]]:
        savepoint = Sample(name).open()
        return {
            operator.id: {(group, key, value) for group, _, key, value in entries}
            for operator in savepoint.operators()
            if has_keyed_state(operator.record)
            and (entries := entries_of(savepoint, operator.record))
        }

    assert found(f"{case}-{release}-{form}") == found(f"{case}-{release}-hashmap-canonical")


@pytest.mark.parametrize(
    "scope", slow_unless(SCOPES[1].__eq__, SCOPES), ids=lambda scope: type(scope.layout).__name__
)
@pytest.mark.parametrize("form", slow_unless("canonical".__eq__, ["nothing", "heap", "canonical"]))
@settings(max_examples=12)
@given(data=st.data())
def test_a_changelog_becomes_what_its_job_had(data: st.DataObject, scope: Scope, form: str) -> None:
    job, base, records = data.draw(logged_jobs(scope, form))
    records.append((-1, registration(9, "_timer_state/event_t", "TIMERS", TIMERS)))
    before = operator_with(changelog(in_memory(records), base=base))
    max_parallelism = data.draw(st.sampled_from([None, 3, 300]))
    if job.is_unmerged():
        with pytest.raises(UndecodableError, match="which only the job's function can"):
            passed_on(NOWHERE, before, max_parallelism)
    else:
        after = passed_on(NOWHERE, before, max_parallelism)
        assert rows_by_table(NOWHERE, after) == rows_by_table(NOWHERE, before)


def test_values_that_are_cleared_need_no_merging() -> None:
    (scope,) = (one for one in SCOPES if isinstance(one.layout, Text))
    first, second = scope.namespaces[1:]
    steps = [
        Step("largest", Operation.SET_INTERNAL, "k", first, "a"),
        Step("largest", Operation.SET_INTERNAL, "k", second, "b"),
        Step("largest", Operation.MERGE_NS, "k", second, [first]),
    ]
    cleared = [*steps, Step("largest", Operation.CLEAR, "k", second, None)]
    of_value = Step("value", Operation.SET, "k", "", 7)

    def passed(changes: list[Step]) -> OperatorState:
        records = [
            *registrations(*scope.serializer),
            *(one.record(scope.layout) for one in changes),
        ]
        records.append((-1, registration(9, "_timer_state/event_t", "TIMERS", TIMERS)))
        return passed_on(NOWHERE, operator_with(changelog(in_memory(records))), 3)

    with pytest.raises(UndecodableError, match="which only the job's function can"):
        passed([of_value, *steps])
    assert rows_by_table(NOWHERE, passed([of_value, *cleared])) == rows_by_table(
        NOWHERE, passed([of_value])
    )


@pytest.mark.parametrize("sample", FORMS, ids=str)
def test_states_that_are_not_named_are_left_out(sample: Sample) -> None:
    savepoint = sample.open()
    record = savepoint.operator("stateful").record
    settings = SourceSettings(record.max_parallelism)
    ids: set[int] = set()
    for subtask in record.subtasks:
        handle = subtask.managed_keyed_state
        assert handle is not None
        target = PassThrough({"memos": 4, "average": 9}, record.max_parallelism)
        for batch in stored_runs(
            savepoint.directory, StoredHandle(handle), Text(), settings, handle.key_groups, target
        ):
            for run in batch.column("run").to_pylist():
                ids |= {state_id for state_id, _, _ in entries_in(run)}
    assert ids == {4, 9}


@pytest.mark.parametrize("sample", FORMS, ids=str)
def test_key_groups_that_are_not_asked_for_are_left_out(sample: Sample) -> None:
    savepoint = sample.open()
    record = savepoint.operator("stateful").record
    settings = SourceSettings(record.max_parallelism)
    target = PassThrough({"last_id": 0}, record.max_parallelism)
    for subtask in record.subtasks:
        handle = subtask.managed_keyed_state
        assert handle is not None
        some = KeyGroupRange(handle.key_groups.start + 15, handle.key_groups.end - 15)
        whole, found = (
            {
                row["key_group"]: row["run"]
                for batch in stored_runs(
                    savepoint.directory, StoredHandle(handle), Text(), settings, groups, target
                )
                for row in batch.to_pylist()
            }
            for groups in (handle.key_groups, some)
        )
        assert found == {group: run for group, run in whole.items() if group in some}
        assert 0 < len(found) < len(whole)


def test_the_rows_are_still_those_of_the_job() -> None:
    sample = Sample("states-2.2.1-rocksdb-heaptimers")
    savepoint = sample.open()
    operator = savepoint.operator("stateful")
    after = passed_on(savepoint.directory, operator.record, 7)
    scan = savepoint.scan("stateful.timers")
    found = rows_of(type(scan)(scan.directory, after, scan.table))
    told = [{"domain": row.pop("time_domain"), **row} for row in found]
    assert in_order(
        {name: value for name, value in row.items() if name != "service"} for row in told
    ) == in_order(sample.timers("stateful"))
    keyed = savepoint.scan("stateful.keyed_state")
    rows = rows_of(type(keyed)(keyed.directory, after, keyed.table))
    expected = with_columns(sample.keyed_state("stateful"), keyed.schema.names)
    assert in_order(rows) == in_order(expected)
