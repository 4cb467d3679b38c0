"""Raw state: timers on the heap beside a RocksDB backend, and what only its operator knows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.hand_made import (
    EVERYTHING,
    LONG,
    MAX_PARALLELISM,
    STRING,
    UNKNOWN,
    VOID,
    encoded,
    header,
    heap_base,
    i32,
    kryo_of,
    meta_info,
    operator_of,
    rows,
    snapshot,
    timers_of,
    utf,
)
from support.pyflink_jobs import SAMPLE, UIDS
from support.raw_timers import raw, section, service, timer, with_raw

from savepoint_formats.bytes import DataOutputView
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.checks.entry_faults import EntryChecks
from savepoint_formats.errors import (
    FormatError,
    SavepointError,
    UndecodableError,
    UnknownSnapshotError,
    UnsupportedVersionError,
)
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.layout import Long, MaskedStruct, Struct, Text, TimerTimestamp, VoidNamespace
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    CheckpointMetadata,
    DistributionMode,
    InlineStream,
    OperatorState,
    OperatorStateHandle,
    OperatorStateOffsets,
    SubtaskState,
)
from savepoint_formats.scan.scan import TableScan
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.raw_keyed_source import RawKeyedSource
from savepoint_formats.state_files.canonical_file import Section
from savepoint_formats.state_files.raw_timers import has_timers, read_timers, skip_timers
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.tables.catalog import OperatorCatalog
from savepoint_formats.tables.tables import tables_of
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_spark.writing import StoredTypes
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

FIRST_HALF, SECOND_HALF = KeyGroupRange(0, 1), KeyGroupRange(2, 3)

TIMERS = section(
    service(
        "a", [timer(b"\2x", bytes(8), -5), timer(b"\1", bytes(8), 7)], [timer(b"\2y", bytes(8), 1)]
    ),
    service("b", [], [timer(b"\2z", b"\0", 2)], STRING, VOID),
)


def catalog(operator: OperatorState) -> OperatorCatalog:
    return OperatorCatalog.of(SnapshotDirectory.of("/"), operator)


def in_order(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda row: json.dumps(row, sort_keys=True))


class TestTimers:
    def test_come_out_as_managed_ones(self) -> None:
        found = rows(with_raw(raw(TIMERS)), "timers")
        shared = {"namespace": 0, "service": "a"}
        event, processing = "EVENT_TIME", "PROCESSING_TIME"
        assert in_order(found) == in_order(
            [
                {"key": "x", "timestamp": -5, "time_domain": event, **shared},
                {"key": "", "timestamp": 7, "time_domain": event, **shared},
                {"key": "y", "timestamp": 1, "time_domain": processing, **shared},
            ]
        )
        (other,) = rows(with_raw(raw(TIMERS)), "timers_2")
        assert other == {
            "key": "z",
            "timestamp": 2,
            "time_domain": processing,
            "service": "b",
        }

    def test_have_the_states_that_they_would_have_elsewhere(self) -> None:
        states = catalog(with_raw(raw(None, TIMERS))).states
        assert {state.kind for state in states} == {StateKind.TIMERS}
        names = ("timestamp", "key", "namespace")
        timer_a = Struct(names, (TimerTimestamp(), Text(), Long()))
        timer_b = Struct(names, (TimerTimestamp(), Text(), VoidNamespace()))
        assert [(state.name, state.stored, state.namespace) for state in states] == [
            ("_timer_state/event_a", timer_a, Long()),
            ("_timer_state/processing_a", timer_a, Long()),
            ("_timer_state/event_b", timer_b, None),
            ("_timer_state/processing_b", timer_b, None),
        ]

    def test_of_several_key_groups_and_subtasks_are_read(self) -> None:
        empty = section(service("a", [], []))
        first = raw(TIMERS, empty, key_groups=FIRST_HALF)
        operator = with_raw(first, raw(TIMERS, TIMERS, key_groups=SECOND_HALF))
        found = rows(operator, "timers")
        assert len(found) == 9
        assert rows(operator, "timers", key_groups=KeyGroupRange(1, 2)) == found[3:6]
        assert rows(with_raw(raw(TIMERS, None, empty, TIMERS)), "timers") == found[:6]

    def test_are_none_where_there_is_no_service(self) -> None:
        found = catalog(with_raw(raw(section())))
        assert (found.states, found.problems) == ((), ())

    def test_stand_beside_managed_ones(self) -> None:
        name = "_timer_state/event_a"
        managed = (4 ^ (1 << 63)).to_bytes(8, "big") + b"\2m" + bytes(8)
        base = heap_base(
            header(meta_info(name, "TIMERS", timers_of(STRING, LONG))), 1, [(0, 0, managed)]
        )
        operator = operator_of(
            SubtaskState(0, managed_keyed_state=base, raw_keyed_state=raw(TIMERS))
        )
        assert sorted(row["key"] for row in rows(operator, "timers")) == ["", "m", "x", "y"]


class TestDamage:
    def read(self, data: bytes) -> list[Any]:
        return list(read_timers(data, "raw", Section(0, 0, len(data)), skip_timers()))

    def test_every_cut_is_noticed(self) -> None:
        assert len(self.read(TIMERS)) == 4
        for cut in range(1, len(TIMERS)):
            assert has_timers(TIMERS[:cut])
            with pytest.raises(SavepointError):
                self.read(TIMERS[:cut])
        with pytest.raises(FormatError, match="1 bytes too many"):
            self.read(TIMERS + b"\0")

    def test_a_cut_of_a_file_is_noticed(self) -> None:
        operator = with_raw(raw(TIMERS, TIMERS))
        tables = {table.name: table for table in tables_of(catalog(operator).states)}
        whole = raw(TIMERS, TIMERS)
        assert isinstance(whole.stream, InlineStream)
        for cut in range(1, len(whole.stream.data), 4):
            cut_stream = replace(whole.stream, data=whole.stream.data[:cut])
            damaged = with_raw(replace(whole, stream=cut_stream))
            scan = TableScan(SnapshotDirectory.of("/"), damaged, tables["timers"])
            with pytest.raises(SavepointError):
                [list(scan.read(split)) for split in scan.splits()]

    def test_another_version_is_named(self) -> None:
        with pytest.raises(UnsupportedVersionError, match="timers of version 1, expected 2"):
            self.read(TIMERS[:4] + i32(1) + TIMERS[8:])

    def test_an_unknown_serializer_is_named(self) -> None:
        data = section(service("a", [], [], UNKNOWN, LONG))
        with pytest.raises(UnknownSnapshotError, match=r"com\.acme\.UnknownSnapshot"):
            self.read(data)


class TestTimersOfUnknownSerializers:
    KNOWN = service("a", [timer(b"\2x", bytes(8), -5)], [])
    UNREADABLE = section(KNOWN, service("b", [b"timer"], [], UNKNOWN, LONG))

    def test_are_the_bytes_of_their_key_groups(self) -> None:
        operator = with_raw(raw(self.UNREADABLE, None, self.UNREADABLE))
        assert catalog(operator).problems == ()
        assert rows(operator, "raw_timers", with_subtask=True) == [
            {"key_group": 0, "value": self.UNREADABLE, "subtask": 0},
            {"key_group": 2, "value": self.UNREADABLE, "subtask": 0},
        ]

    def test_are_those_of_their_subtask_alone(self) -> None:
        first = raw(None, self.UNREADABLE, key_groups=FIRST_HALF)
        operator = with_raw(first, raw(TIMERS, key_groups=SECOND_HALF))
        assert catalog(operator).problems == ()
        assert rows(operator, "raw_timers", with_subtask=True) == [
            {"key_group": 1, "value": self.UNREADABLE, "subtask": 0}
        ]

    def test_stand_beside_those_that_can_be_read(self) -> None:
        (row,) = rows(with_raw(raw(self.UNREADABLE)), "timers")
        assert (row["key"], row["timestamp"], row["service"]) == ("x", -5, "a")

    def test_say_why_they_are_bytes(self) -> None:
        operator = with_raw(raw(self.UNREADABLE))
        tables = {one.name: one for one in tables_of(catalog(operator).states)}
        scan = TableScan(SnapshotDirectory.of("/"), operator, tables["raw_timers"])
        assert b"com.acme.UnknownSnapshot" in scan.schema.field("value").metadata[b"reason"]

    def test_of_a_class_that_writes_itself_hide_what_follows(self) -> None:
        name = "org.apache.flink.api.java.typeutils.runtime.ValueSerializer"
        users = snapshot(f"{name}$ValueSerializerSnapshot", utf("com.acme.Key"), 2)
        one = section(service("b", [b"timer"], [], users, VOID), self.KNOWN)
        operator = with_raw(raw(one))
        assert [table.name for table in tables_of(catalog(operator).states)] == ["raw_timers"]
        assert rows(operator, "raw_timers") == [{"key_group": 0, "value": one}]

    def test_without_timers_hide_nothing(self) -> None:
        name = "org.apache.flink.api.java.typeutils.runtime.ValueSerializer"
        users = snapshot(f"{name}$ValueSerializerSnapshot", utf("com.acme.Key"), 2)
        operator = with_raw(raw(section(service("b", [], [], users, VOID), self.KNOWN)))
        (row,) = rows(operator, "timers")
        assert row["key"] == "x"
        assert len(rows(operator, "raw_timers")) == 1

    def test_are_an_error_where_the_catalog_could_not_tell(self) -> None:
        # Kryo's classes are known to the timers alone: the first key group has none.
        kryo = kryo_of("com.acme.Key")
        first = section(service("b", [], [], kryo, VOID))
        later = section(service("b", [b"\x57\1timer"], [], kryo, VOID))
        with pytest.raises(UndecodableError):
            rows(with_raw(raw(first, later)), "timers")


class TestRawKeyedState:
    def test_is_bytes_per_key_group(self) -> None:
        assert rows(with_raw(raw(b"one", None, b"", b"more")), "raw_keyed_state") == [
            {"key_group": 0, "value": b"one"},
            {"key_group": 2, "value": b""},
            {"key_group": 3, "value": b"more"},
        ]

    def test_is_that_of_every_subtask(self) -> None:
        first, second = raw(b"one", key_groups=FIRST_HALF), raw(b"two", key_groups=SECOND_HALF)
        assert rows(with_raw(first, second), "raw_keyed_state") == [
            {"key_group": 0, "value": b"one"},
            {"key_group": 2, "value": b"two"},
        ]

    def test_bytes_in_front_of_it_are_noticed(self) -> None:
        (problem,) = catalog(with_raw(raw(b"one", junk=b"junk"))).problems
        assert "4 bytes that belong to no key group" in str(problem)

    def test_can_be_read_by_key_groups_and_subtask(self) -> None:
        operator = with_raw(raw(b"one", b"more"))
        options = {"key_groups": KeyGroupRange(1, 3), "with_subtask": True}
        assert rows(operator, "raw_keyed_state", **options) == [
            {"key_group": 1, "value": b"more", "subtask": 0}
        ]

    def test_says_why_it_is_bytes(self) -> None:
        operator = with_raw(raw(b"one"))
        (table,) = tables_of(catalog(operator).states)
        scan = TableScan(SnapshotDirectory.of("/"), operator, table)
        assert b"only its operator knows" in scan.schema.field("value").metadata[b"reason"]

    def test_behind_the_end_of_its_file_is_noticed(self) -> None:
        handle = raw(b"one", b"more")
        damaged = with_raw(replace(handle, stream=InlineStream("raw", b"o")))
        (problem,) = catalog(damaged).problems
        assert "key group 1 begins at 3, expected 0 to 1" in str(problem)


class TestRawOperatorState:
    def operator(self, *offsets: int) -> OperatorState:
        mode = DistributionMode.SPLIT_DISTRIBUTE
        states = (OperatorStateOffsets("_default_", mode, offsets),)
        handle = OperatorStateHandle(states, InlineStream("raw", b"onethree"))
        return operator_of(SubtaskState(0, raw_operator_state=handle))

    def test_is_bytes_per_partition(self) -> None:
        found = rows(self.operator(0, 3), "raw_operator_state")
        assert found == [{"value": b"one"}, {"value": b"three"}]

    def test_shows_its_subtask(self) -> None:
        found = rows(self.operator(0), "raw_operator_state", with_subtask=True)
        assert found == [{"value": b"onethree", "subtask": 0}]

    def test_outside_of_its_file_is_noticed(self) -> None:
        with pytest.raises(FormatError, match="expected 0 to 8"):
            rows(self.operator(0, 9), "raw_operator_state")


def test_coordinator_state_is_one_row() -> None:
    operator = replace(operator_of(), coordinator_state=InlineStream("id", b"bytes"))
    assert rows(operator, "coordinator_state") == [{"value": b"bytes"}]


def operators_of(folder: Path) -> tuple[SnapshotDirectory, tuple[OperatorState, ...]]:
    directory = SnapshotDirectory.of(str(folder))
    metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata()))
    return directory, metadata.operators


def test_timers_of_the_sample_are_what_the_job_registered(samples: Path) -> None:
    folder = samples / "states-2.2.1-rocksdb-heaptimers"
    expected = json.loads((folder / "expected.json").read_text())["operators"]["stateful"]["timers"]
    directory, operators = operators_of(folder / "chk-2")
    (operator,) = (one for one in operators if one.operator_id == OperatorId.from_uid("stateful"))
    tables = {one.name: one for one in tables_of(OperatorCatalog.of(directory, operator).states)}
    scan = TableScan(directory, operator, tables["timers"])
    found = [
        (row["key"], row["timestamp"], row["time_domain"].lower(), row["service"])
        for split in scan.splits()
        for batch in scan.read(split)
        for row in batch.to_pylist()
    ]
    assert sorted(found) == sorted(
        (one["key"], one["timestamp"], one["domain"], "user-timers") for one in expected
    )


CORPUS = [
    "new-stateful-udf-migration-itcase-flink1.8-rocksdb-savepoint",
    "new-stateful-broadcast-udf-migration-itcase-flink1.8-rocksdb-savepoint",
]


@pytest.mark.parametrize("name", CORPUS)
def test_timers_of_flink_1_8_are_what_later_releases_wrote_as_managed_state(
    corpus: Path, name: str
) -> None:
    later = name.replace("1.8-rocksdb-savepoint", "1.20-rocksdb-savepoint")
    assert timers_below(corpus / "savepoints" / name) == timers_below(corpus / "savepoints" / later)


def timers_below(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Id of an operator -> its event timers; times of others are those of a clock."""
    directory, operators = operators_of(folder)
    found: dict[str, list[tuple[Any, ...]]] = {}
    for operator in operators:
        catalog = OperatorCatalog.of(directory, operator)
        assert catalog.problems == ()
        for table in tables_of(catalog.states):
            if table.states[0].kind is StateKind.TIMERS:
                scan = TableScan(directory, operator, table)
                timers = [
                    tuple(row.values())
                    for split in scan.splits()
                    for batch in scan.read(split)
                    for row in batch.to_pylist()
                    if row["time_domain"] == "EVENT_TIME"
                ]
                found[str(operator.operator_id)] = sorted(timers, key=str)
    return found


def test_keys_of_a_class_with_another_hash_code_prove_nothing() -> None:
    """The layout of another class: its keys tell key groups by chance."""
    texts = [(b"\2" + bytes([97 + index])) for index in range(8)]
    sections = [
        section(service("a", [timer(texts[2 * i + j], bytes(8), 1) for j in (0, 1)], []))
        for i in range(4)
    ]
    assert len(rows(with_raw(raw(*sections)), "timers")) == 8


def test_keys_of_raw_timers_are_checked_as_sections_tell_them_beside_types_of_pyflink() -> None:
    key = StoredTypes.of(Savepoint.open(SAMPLE, uids=UIDS).operator("by_long")).key
    view = DataOutputView()
    key.write(view)
    layout = key.layout()
    assert isinstance(layout, MaskedStruct)
    stored = encoded(layout, dict.fromkeys(layout.names, 5))
    timers = section(service("a", [timer(stored, b"\0", 7)], [], view.to_bytes(), VOID))
    kryo = KryoDialect(KryoVersion.V5_6, python_types=(("key", "Types.LONG()"),))
    settings = SourceSettings(MAX_PARALLELISM, kryo)
    wrong = 0
    for group in EVERYTHING:
        handle = raw(*[None] * group, timers)
        source = RawKeyedSource(SnapshotDirectory.of("/"), handle, kryo, MAX_PARALLELISM)
        names = frozenset(state.name for state in catalog(with_raw(handle)).states)
        checked = EntryChecks(settings).check(source, names, EVERYTHING, "")
        assert (checked.faults, checked.unhashed, checked.entries.total()) == ([], {}, 1)
        wrong += sum(tally.wrong.total() for tally in checked.expected.values())
    assert wrong == len(EVERYTHING) - 1
