"""Keyed state of a changelog is what a job that did the same changes has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from changelog_jobs import NAMES, SCOPES, STATES, Job, Scope, Step, infos, registrations, steps_of
from hand_made import (
    LONG,
    STRING,
    UNKNOWN,
    VOID,
    Record,
    canonical_base,
    change,
    change_set,
    changelog,
    encoded,
    group_of,
    header,
    heap_base,
    i32,
    in_file,
    in_memory,
    list_of,
    meta_info,
    operator_of,
    operator_with,
    registration,
    rows,
    timers_of,
    with_ttl,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_rows import Sample, in_order, rows_of, with_columns

from savepoint_formats.catalog import OperatorCatalog, StateKind
from savepoint_formats.errors import FormatError, SavepointError, UndecodableError
from savepoint_formats.file_io import SnapshotDirectory
from savepoint_formats.java_hash import java_hash
from savepoint_formats.key_groups import KeyGroupRange, key_group
from savepoint_formats.layout import (
    Long,
    Opaque,
    Struct,
    Text,
    TimerTimestamp,
    Ttl,
)
from savepoint_formats.metadata import ChangelogHandle, SubtaskState
from savepoint_formats.state_files.changelog import StateChangeOperation as Operation

if TYPE_CHECKING:
    from savepoint_formats.metadata import KeyGroupsHandle, OperatorState


def found_in(handle: ChangelogHandle, scope: Scope, **options: Any) -> dict[Any, dict[str, Any]]:
    """Key and namespace -> name -> value, of each row."""
    found: dict[Any, dict[str, Any]] = {}
    for row in rows(operator_with(handle), scope.table, **options):
        place = row.pop("key"), row.pop("namespace", None)
        assert place not in found
        found[place] = {name: value for name, value in row.items() if value is not None}
        if "map" in found[place]:
            found[place]["map"] = dict(found[place]["map"])
    return found


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: type(scope.layout).__name__)
@pytest.mark.parametrize("form", ["nothing", "heap", "canonical", "portions"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_it_is_what_a_job_has_after_the_same_changes(
    data: st.DataObject, scope: Scope, form: str
) -> None:
    job = Job()
    base: tuple[KeyGroupsHandle, ...] = ()
    if form != "nothing":
        job.do(data.draw(steps_of(scope, with_merges=False)))
        head = header(*infos(*scope.serializer or (VOID,)))
        made = job.heap_base if form == "heap" else job.canonical_base
        base = (made(scope.layout, head),)
    steps = data.draw(steps_of(scope))
    job.do(steps)
    records = [*registrations(*scope.serializer), *(step.record(scope.layout) for step in steps)]
    if form == "nothing":
        # Nothing but the timers tells the type of keys.
        records.append((-1, registration(9, "_timer_state/event_t", "TIMERS", TIMERS)))
    handle = changelog(in_memory(records), base=base)
    options = {"portion_size": 16} if form == "portions" else {}
    if job.is_unmerged():
        with pytest.raises(UndecodableError, match="which only the job's function can"):
            found_in(handle, scope, **options)
    else:
        assert found_in(handle, scope, **options) == job.rows()


TIMERS = timers_of(STRING, VOID)
PLAIN = SCOPES[0]


def plain_base(job: Job | None = None) -> KeyGroupsHandle:
    return (job or Job()).canonical_base(PLAIN.layout, header(*infos(VOID)))


def plain_rows(*records: Record, base: KeyGroupsHandle | None = None) -> dict[Any, Any]:
    """What there is after changes of states that the base has."""
    handle = changelog(in_memory([*registrations(), *records]), base=(base or plain_base(),))
    return found_in(handle, PLAIN)


def put(key: str, value: int) -> Record:
    return Step("value", Operation.SET, key, None, value).record(PLAIN.layout)


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
@pytest.mark.parametrize("portion_size", [None, 512])
def test_real_state_is_a_base_whatever_its_format(sample: Sample, portion_size: int | None) -> None:
    scan = sample.open().scan("stateful.keyed_state", portion_size=portion_size)
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
        changes = in_memory(records, base.key_groups)
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


TIMER = Struct(("timestamp", "key", "namespace"), (TimerTimestamp(), Text(), Long()))
QUEUE = timers_of(STRING, LONG)


def timer(time: int, key: str, namespace: int) -> bytes:
    return encoded(TIMER, {"timestamp": time, "key": key, "namespace": namespace})


def added(*timers: bytes) -> Record:
    return 0, change(5, 0, i32(len(timers)), *timers)


def removed(one: bytes) -> Record:
    return 0, change(7, 0, one)


class TestTimers:
    NAME = "_timer_state/event_t"

    def timers(self, *records: Record, base: tuple[bytes, ...] = ()) -> list[tuple[Any, ...]]:
        handles: tuple[KeyGroupsHandle, ...] = ()
        if base:
            head = header(meta_info(self.NAME, "TIMERS", QUEUE))
            handles = (heap_base(head, 1, [(0, 0, one) for one in base]),)
        record = (-1, registration(0, self.NAME, "TIMERS", QUEUE))
        handle = changelog(in_memory([record, *records]), base=handles)
        found = rows(operator_with(handle), "timers")
        assert {(row["time_domain"], row["service"]) for row in found} <= {("EVENT_TIME", "t")}
        return sorted((row["timestamp"], row["key"], row["namespace"]) for row in found)

    def test_are_added_and_removed(self) -> None:
        one, two, three = timer(-1, "a", 5), timer(7, "a", 5), timer(7, "b", 5)
        assert self.timers(added(one, two), added(three), removed(two)) == [
            (-1, "a", 5),
            (7, "b", 5),
        ]
        assert self.timers(added(one), removed(one), added(one)) == [(-1, "a", 5)]
        assert self.timers(added(one), removed(one)) == []

    def test_are_there_once(self) -> None:
        one = timer(-1, "a", 5)
        assert self.timers(added(one), added(one), base=(one,)) == [(-1, "a", 5)]

    def test_of_the_base_stay_if_they_are_not_changed(self) -> None:
        base = (timer(1, "a", 5), timer(1, "b", 5), timer(2, "a", 5))
        found = self.timers(removed(base[0]), added(timer(1, "a", 6)), base=base)
        assert found == [(1, "a", 6), (1, "b", 5), (2, "a", 5)]

    def test_are_listed_though_no_base_has_them(self) -> None:
        record = (-1, registration(0, self.NAME, "TIMERS", QUEUE))
        operator = operator_with(changelog(in_memory([record])))
        (state,) = OperatorCatalog.of(SnapshotDirectory.of("/"), operator).states
        assert (state.name, state.kind, state.key) == (self.NAME, StateKind.TIMERS, Text())

    @pytest.mark.parametrize("operation", [0, 1, 2, 3, 4, 6])
    def test_have_no_other_changes(self, operation: int) -> None:
        with pytest.raises(
            FormatError, match=f"a change {Operation(operation).name} of the timers"
        ):
            self.timers((0, change(operation, 0, timer(1, "a", 5))))

    def test_every_cut_is_noticed(self) -> None:
        group, data = added(timer(1, "a", 5), timer(2, "a", 5))
        for cut in range(len(data)):
            with pytest.raises(SavepointError):
                self.timers((group, data[:cut]))
        with pytest.raises(FormatError, match="1 bytes too many"):
            self.timers((group, data + b"\0"))


class TestKeys:
    """A changelog does not tell the serializer of keys."""

    VALUES = (registrations()[0], put("a", 1), put("", 2))

    def test_have_the_type_of_another_subtasks_base(self) -> None:
        operator = operator_with(changelog(in_memory(self.VALUES)), changelog(base=(plain_base(),)))
        found = rows(operator, "keyed_state")
        assert {row["key"]: row["value"] for row in found} == {"a": 1, "": 2}

    def test_have_the_type_of_timers(self) -> None:
        record = (-1, registration(5, "_timer_state/event_t", "TIMERS", TIMERS))
        found = rows(operator_with(changelog(in_memory([*self.VALUES, record]))), "keyed_state")
        assert {row["key"]: row["value"] for row in found} == {"a": 1, "": 2}

    def test_are_bytes_if_nothing_tells_their_type(self) -> None:
        operator = operator_with(changelog(in_memory(self.VALUES)))
        found = rows(operator, "keyed_state")
        keys = {encoded(Text(), "a"): 1, encoded(Text(), ""): 2}
        assert {row["key"]: row["value"] for row in found} == keys
        (state,) = OperatorCatalog.of(SnapshotDirectory.of("/"), operator).states
        assert isinstance(state.key, Opaque)
        assert state.key.reason == "no file of the operator names the serializer of its keys"

    def test_of_unknown_type_must_have_one_possible_end(self) -> None:
        # Its text has a zero in it, behind which lies what may be an empty text.
        data = change(2, 4, b"key", b"\0", encoded(Text(), "\0\1"))
        records = [registrations()[4], (0, data)]
        message = "a change of state 'largest' has a key of unknown size: no file of the operator"
        with pytest.raises(UndecodableError, match=message):
            rows(operator_with(changelog(in_memory(records))), "keyed_state")


class TestErrors:
    def test_name_a_state_that_was_not_registered(self) -> None:
        handle = changelog(in_memory([put("a", 1)]), base=(plain_base(),))
        with pytest.raises(FormatError, match="a change of state 0, of which it was not said"):
            found_in(handle, PLAIN)

    def test_name_a_change_that_a_state_has_not(self) -> None:
        cases = {
            "value": (2, 3, 4, 5, 6, 7),
            "list": (6, 7),
            "map": (1, 2),
            "sum": (3, 5, 6, 7),
            "largest": (3, 5, 6, 7),
        }
        for name, operations in cases.items():
            for operation in operations:
                data = change(operation, NAMES.index(name), encoded(Text(), "a"), bytes(9))
                with pytest.raises(
                    FormatError, match=f"{Operation(operation).name} of state"
                ) as found:
                    plain_rows((group_of("a"), data))
                assert f"state '{name}'" in str(found.value)

    def test_every_cut_of_a_change_is_noticed(self) -> None:
        steps = [
            Step("value", Operation.SET, "a", None, 1),
            Step("list", Operation.ADD, "a", None, ["x", "yy"]),
            Step("map", Operation.ADD, "a", None, {"x": "y", "z": None}),
            Step("map", Operation.ADD_OR_UPDATE_ELEMENT, "a", None, ("x", "y")),
            Step("map", Operation.REMOVE_ELEMENT, "a", None, "x"),
            Step("list", Operation.MERGE_NS, "a", None, [None]),
        ]
        for step in steps:
            group, data = step.record(PLAIN.layout)
            for cut in range(len(data)):
                with pytest.raises(SavepointError):
                    plain_rows((group, data[:cut]))
            with pytest.raises(FormatError):
                plain_rows((group, data + b"\0"))

    def test_name_the_state_of_a_damaged_change(self) -> None:
        group, data = put("a", 1)
        with pytest.raises(FormatError) as found:
            plain_rows((group, data[:-1]))
        assert "in a change of state 'value'" in found.value.__notes__

    def test_say_that_a_type_has_changed_since_the_base(self) -> None:
        record = (-1, registration(0, "value", "VALUE", STRING))
        key = encoded(Text(), "a") + b"\0"
        records = [record, (group_of("a"), change(1, 0, key, encoded(Text(), "x")))]
        job = Job()
        job.do([Step("value", Operation.SET, "a", None, 1)])
        handle = changelog(in_memory(records), base=(plain_base(job),))
        with pytest.raises(UndecodableError, match="state 'value' was of type int64 when"):
            found_in(handle, PLAIN)

    def test_say_that_a_collection_of_unknown_elements_cannot_be_read(self) -> None:
        record = (-1, registration(0, "list", "LIST", list_of(UNKNOWN)))
        key = encoded(Text(), "a") + b"\0"
        records = [record, (group_of("a"), change(3, 0, key, i32(2), b"abcdef"))]
        handle = changelog(in_memory(records), base=(canonical_base(header(), []),))
        with pytest.raises(UndecodableError, match="a change of state 'list' cannot be read"):
            found_in(handle, PLAIN)


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
    assert problem.startswith("subtask 0: change 0 of the changelog changes at byte 1")
