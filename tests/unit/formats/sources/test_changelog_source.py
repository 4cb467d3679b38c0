"""Keyed state of a changelog is what a job that did the same changes has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.changelog_jobs import (
    NAMES,
    PLAIN,
    SCOPES,
    STATES,
    TIMERS,
    Job,
    Scope,
    Step,
    found_in,
    infos,
    logged_jobs,
    plain_base,
    put,
    registrations,
)
from support.hand_made import (
    LONG,
    STRING,
    VOID,
    Record,
    canonical_base,
    change,
    change_set,
    changelog,
    encoded,
    group_of,
    header,
    in_file,
    in_memory,
    list_of,
    meta_info,
    operator_of,
    operator_with,
    registration,
    rows,
    with_ttl,
)
from support.sample_rows import Sample, in_order, rows_of, with_columns
from support.slow_cases import slow_unless

from savepoint_formats.errors import UndecodableError
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.key_groups.ranges import KeyGroupRange, key_group
from savepoint_formats.layout import Long, Text, Ttl
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import ChangelogHandle, SubtaskState
from savepoint_formats.state_files.changelog import StateChangeOperation as Operation
from savepoint_formats.tables.catalog import OperatorCatalog

if TYPE_CHECKING:
    from savepoint_formats.metadata import OperatorState


@pytest.mark.parametrize(
    "scope", slow_unless(SCOPES[1].__eq__, SCOPES), ids=lambda scope: type(scope.layout).__name__
)
@pytest.mark.parametrize("form", ["nothing", "heap", "canonical", "chunks"])
@settings(max_examples=12)
@given(data=st.data())
def test_it_is_what_a_job_has_after_the_same_changes(
    data: st.DataObject, scope: Scope, form: str
) -> None:
    job, base, records = data.draw(logged_jobs(scope, form))
    if form == "nothing":
        # Nothing but the timers tells the type of keys.
        records.append((-1, registration(9, "_timer_state/event_t", "TIMERS", TIMERS)))
    handle = changelog(in_memory(records), base=base)
    options = {"chunk_size": 16} if form == "chunks" else {}
    if job.is_unmerged():
        with pytest.raises(UndecodableError, match="which only the job's function can"):
            found_in(handle, scope, **options)
    else:
        assert found_in(handle, scope, **options) == job.rows()


class TestHandles:
    def test_without_changes_have_the_base(self) -> None:
        job = Job()
        job.do([Step("value", Operation.SET, "a", None, 1)])
        assert found_in(changelog(base=(plain_base(job),)), PLAIN) == job.rows()

    def test_may_have_several_bases(self) -> None:
        job = Job()
        job.do([Step("value", Operation.SET, key, None, 1) for key in "abcdefgh"])
        base, empty = plain_base(job), plain_base()
        records = [*registrations(), put("a", 2), put("z", 3)]
        job.do([Step("value", Operation.SET, key, None, n) for key, n in (("a", 2), ("z", 3))])
        assert found_in(changelog(in_memory(records), base=(empty, base)), PLAIN) == job.rows()

    def test_of_a_rescaled_job_have_no_foreign_key_groups(self) -> None:
        job = Job()
        job.do([Step("value", Operation.SET, key, None, 1) for key in "abcdefgh"])
        records = [*registrations(), *(put(key, 2) for key in "efghijkl")]
        for groups in (KeyGroupRange(0, 1), KeyGroupRange(2, 3)):
            handle = changelog(in_memory(records), base=(plain_base(job),), key_groups=groups)
            expected = {
                (key, None): {"value": 1 if key < "e" else 2}
                for key in "abcdefghijkl"
                if group_of(key) in groups
            }
            assert found_in(handle, PLAIN) == expected

    def test_may_give_a_number_anew(self) -> None:
        first = [*registrations(), put("a", 1)]
        value = STATES["value"]
        renumbered = [(-1, registration(7, "value", value.kind, value.serializer))]
        key = encoded(Text(), "b") + b"\0"
        again = [*renumbered, (group_of("b"), change(1, 7, key, encoded(Long(), 2)))]
        handle = changelog(in_memory(first), in_memory(again), base=(plain_base(),))
        assert found_in(handle, PLAIN) == {("a", None): {"value": 1}, ("b", None): {"value": 2}}

    def test_are_read_in_any_number_of_splits(self) -> None:
        job = Job()
        job.do([Step("value", Operation.SET, key, None, 1) for key in "abcd"])
        job.do(steps := [Step("list", Operation.ADD, key, None, ["x"]) for key in "cdefg"])
        records = [*registrations(), *(step.record(PLAIN.layout) for step in steps)]
        data = b"\0" + change_set(records)
        for base in (job.heap_base(PLAIN.layout, header(*infos(VOID))), plain_base()):
            handle = changelog(in_file(data, 0), base=(base,))
            whole = found_in(handle, PLAIN)
            groups = [
                found_in(handle, PLAIN, key_groups=KeyGroupRange(group, group))
                for group in range(4)
            ]
            assert {key: row for one in groups for key, row in one.items()} == whole

    def test_show_the_key_groups_of_all_keys(self) -> None:
        handle = changelog(
            in_memory([*registrations(), put("a", 1), put("b", 1)]), base=(plain_base(),)
        )
        found = rows(operator_with(handle), "keyed_state", with_key_group=True)
        assert {row["key"]: row["key_group"] for row in found} == {
            key: group_of(key) for key in "ab"
        }


BASES = [
    Sample("states-1.20.5-rocksdb-native"),
    Sample("states-1.20.5-rocksdb-canonical"),
    Sample("states-1.20.5-hashmap-compressed"),
    Sample("states-2.2.1-hashmap-native"),
    Sample("states-2.2.1-rocksdb-incremental"),
    Sample("states-2.2.1-rocksdb-filemerging"),
]


@pytest.mark.parametrize("sample", BASES, ids=str)
@pytest.mark.parametrize("chunk_size", [None, 512])
def test_real_state_is_a_base_whatever_its_format(sample: Sample, chunk_size: int | None) -> None:
    scan = sample.open().scan("stateful.keyed_state", chunk_size=chunk_size)
    groups = scan.operator.max_parallelism
    records = [
        (-1, registration(0, "last_id", "VALUE", LONG)),
        (-1, registration(1, "memos", "LIST", list_of(STRING))),
    ]
    expected = {row["key"]: {**row} for row in sample.keyed_state("stateful")}
    for key in ("", "closed", "a new key"):
        place = encoded(Text(), key) + b"\0"
        group = key_group(java_hash(Text(), key), groups)
        records.append((group, change(1, 0, place, encoded(Long(), 5))))
        records.append((group, change(5, 1, place, encoded(Text(), "more"))))
        row = expected.setdefault(key, {"key": key})
        row |= {"last_id": 5, "memos": [*(row.get("memos") or []), "more"]}
    operator = with_changes(scan.operator, records)
    found = rows_of(replace(scan, operator=operator))
    assert in_order(found) == in_order(with_columns([*expected.values()], scan.schema.names))


def with_changes(operator: OperatorState, records: list[Record]) -> OperatorState:
    """An operator that did these changes since its state was materialized."""
    subtasks = []
    for subtask in operator.subtasks:
        base = subtask.managed_keyed_state
        assert base is not None
        assert not isinstance(base, ChangelogHandle)
        own = [one for one in records if one[0] < 0 or one[0] in base.key_groups]
        changes = in_memory(own, base.key_groups)
        handle = changelog(changes, base=(base,), key_groups=base.key_groups)
        subtasks.append(replace(subtask, managed_keyed_state=handle))
    return replace(operator, subtasks=tuple(subtasks))


class TestTtl:
    def test_times_come_with_changed_values(self) -> None:
        layout = Ttl(Long())
        serializer = with_ttl(LONG)
        head = header(meta_info("value", "VALUE", serializer, VOID))
        records = [(-1, registration(0, "value", "VALUE", serializer, VOID))]
        key = encoded(Text(), "a") + b"\0"
        value = encoded(Long(), 1000) + encoded(layout.value, 5)
        records.append((group_of("a"), change(1, 0, key, value)))
        handle = changelog(in_memory(records), base=(canonical_base(head, []),))
        (row,) = rows(operator_with(handle), "keyed_state")
        assert row == {"key": "a", "value": 5}
        (row,) = rows(operator_with(handle), "keyed_state", with_times=True)
        assert row["value"]["timestamp"].timestamp() == 1
        assert row["value"]["value"] == 5


def test_a_catalog_lists_what_only_changelogs_register() -> None:
    operator = operator_of(
        SubtaskState(0, managed_keyed_state=changelog(in_memory(registrations()))),
        SubtaskState(1, managed_keyed_state=plain_base()),
        SubtaskState(
            2,
            managed_keyed_state=changelog(in_memory([(-1, registration(0, "new", "VALUE", LONG))])),
        ),
    )
    catalog = OperatorCatalog.of(SnapshotDirectory.of("/"), operator)
    assert [state.name for state in catalog.states] == [*NAMES, "new"]
    assert {state.key for state in catalog.states} == {Text()}
    assert catalog.problems == ()


def test_a_catalog_names_changelogs_that_cannot_be_read() -> None:
    operator = operator_with(changelog(in_memory([(-1, b"\x08\0\0\0\x08")])))
    (problem,) = OperatorCatalog.of(SnapshotDirectory.of("/"), operator).problems
    assert str(problem).startswith("subtask 0: change 0 of the changelog changes at byte 1")
