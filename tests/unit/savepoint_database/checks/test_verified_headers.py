"""Headers have what Flink needs to restore a state, and operators what it needs to find it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.changed_headers import with_infos
from support.changed_metadata import with_operators
from support.commands import run
from support.hand_made import LONG, changelog, in_memory, operator_with, registration

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.checks.faults import Check, Severity
from savepoint_formats.metadata import CheckpointMetadata
from savepoint_formats.state_files.header import (
    KEY_SERIALIZER,
    KEYED_STATE_TYPE,
    NAMESPACE_SERIALIZER,
    VALUE_SERIALIZER,
    StateMetaInfo,
)
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from support.changed_headers import Change

    from savepoint_database.checks.verification import Depth
    from savepoint_formats.checks.faults import Fault

STATES = "states-2.2.1-rocksdb-canonical"
NATIVE = "states-2.2.1-rocksdb-native"
CURRENCY = "currency-2.2.1-hashmap-canonical"
WINDOWS = "windows-1.20.5-rocksdb-canonical"
HEADERS = (Severity.DAMAGE, Check.HEADERS)


def without(state: str, role: str) -> Change:
    def change(info: StateMetaInfo) -> StateMetaInfo:
        kept = tuple(part for part in info.serializers if part[0] != role)
        return replace(info, serializers=kept) if info.name == state else info

    return change


def of_type(state: str, name: str) -> Change:
    def change(info: StateMetaInfo) -> StateMetaInfo:
        return replace(info, options=((KEYED_STATE_TYPE, name),)) if info.name == state else info

    return change


def about(fault: Fault) -> tuple[object, ...]:
    return fault.severity, fault.check, fault.operator, fault.state, fault.problem


@pytest.mark.parametrize("depth", ["quick", "deep"])
@pytest.mark.parametrize(
    ("name", "operator", "state", "role"),
    [
        (STATES, "buffer", "elements", VALUE_SERIALIZER),
        (CURRENCY, "currency_converter", "rates", VALUE_SERIALIZER),
        (CURRENCY, "currency_converter", "rates", KEY_SERIALIZER),
        (STATES, "stateful", "memos", VALUE_SERIALIZER),
        (NATIVE, "stateful", "memos", NAMESPACE_SERIALIZER),
        (NATIVE, "stateful", "_timer_state/event_user-timers", VALUE_SERIALIZER),
    ],
)
def test_a_state_without_a_serializer_is_named(
    samples: Path, tmp_path: Path, name: str, operator: str, state: str, role: str, depth: Depth
) -> None:
    path = with_infos(samples / name, tmp_path / "changed", without(state, role))
    found = Savepoint.open(str(path)).verify(depth)
    assert (found.result, found.is_whole) == ("damaged", False)
    what = role.lower().replace("_", " ")
    problem = f"the header doesn't name the {what}, which Flink needs to restore the state"
    told = {(about(fault), fault.subtask) for fault in found.faults if fault.check is Check.HEADERS}
    assert told == {((*HEADERS, operator, state, problem), subtask) for subtask in (0, 1)}


def test_a_type_of_state_that_there_is_not_is_named(samples: Path, tmp_path: Path) -> None:
    path = with_infos(samples / STATES, tmp_path / "changed", of_type("memos", "QUEUE"))
    found = Savepoint.open(str(path)).verify()
    assert {about(fault)[:4] for fault in found.faults} == {(*HEADERS, "stateful", "memos")}
    assert "'QUEUE', which is not a type of state" in found.faults[0].problem


def test_states_of_a_changelog_are_looked_at(tmp_path: Path) -> None:
    registered = in_memory([(-1, registration(0, "memos", "QUEUE", LONG))])
    view = DataOutputView()
    CheckpointMetadata.new((operator_with(changelog(registered)),)).write(view)
    (tmp_path / "_metadata").write_bytes(view.to_bytes())
    found = Savepoint.open(str(tmp_path), uids=["a"]).verify("quick")
    assert [about(fault)[:4] for fault in found.faults] == [(*HEADERS, "a", "memos")]


@pytest.mark.parametrize("name", [STATES, NATIVE, CURRENCY])
def test_headers_that_are_only_written_again_are_whole(
    samples: Path, tmp_path: Path, name: str
) -> None:
    path = with_infos(samples / name, tmp_path / "same", lambda info: info)
    found = Savepoint.open(str(path)).verify()
    assert (found.is_whole, found.faults) == (True, ())


@pytest.mark.parametrize("depth", ["quick", "deep"])
def test_a_uid_of_another_id_is_named(samples: Path, tmp_path: Path, depth: Depth) -> None:
    path = with_operators(
        samples / STATES,
        tmp_path / "changed",
        lambda operator: replace(
            operator, uid="stately" if operator.uid == "stateful" else operator.uid
        ),
    )
    (fault,) = Savepoint.open(str(path)).verify(depth).faults
    assert (fault.severity, fault.check) == (Severity.DAMAGE, Check.METADATA)
    before = Savepoint.open(str(samples / STATES)).operator("stateful").record
    assert "'stately'" in fault.problem
    assert str(before.operator_id) in fault.problem
    assert "does not find" in fault.cost
    code, output = run("verify", path, "--output", "json")
    assert code == 1
    assert '"result": "damaged"' in output


def test_a_state_that_only_metadata_or_only_the_file_has(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "changed"
    shutil.copytree(samples / STATES, path)
    metadata = path / "_metadata"
    data = metadata.read_bytes()
    assert b"elements" in data
    metadata.write_bytes(data.replace(b"elements", b"eldments", 1))
    found = Savepoint.open(str(path)).verify("quick")
    assert any("'eldments' (SPLIT_DISTRIBUTE) is in" in fault.problem for fault in found.faults)


def test_subtasks_that_disagree_on_a_type(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "changed"
    shutil.copytree(samples / CURRENCY, path)
    class_name = b"VoidNamespaceSerializerSnapshot"
    files = [file for file in sorted(path.iterdir()) if class_name in file.read_bytes()]
    assert len(files) > 1
    changed = files[0].read_bytes().replace(class_name, b"VoidNamespaceSerializerSnapshos")
    files[0].write_bytes(changed)
    found = Savepoint.open(str(path)).verify("quick")
    assert [fault.check for fault in found.faults if fault.is_damage] == [Check.HEADERS] * 2
    assert {fault.state for fault in found.faults} == {"total", "count"}
    assert "in other subtasks" in found.faults[0].problem


def test_timers_of_an_unknown_class_can_not_be_checked(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "changed"
    shutil.copytree(samples / WINDOWS, path)
    for file in path.iterdir():
        file.write_bytes(file.read_bytes().replace(b"TimerSerializerSnap", b"TimerSerializerSnop"))
    faults = Savepoint.open(str(path)).verify().faults
    assert {fault.severity for fault in faults} == {Severity.NOT_READ}
    assert len({(fault.operator, fault.state) for fault in faults}) == len(faults)
    assert any("TimerSerializerSnop" in fault.problem for fault in faults)


def test_tables_of_a_state_that_the_header_does_not_have(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "changed"
    shutil.copytree(samples / NATIVE, path)
    header = next(file for file in path.iterdir() if b"event_user-timers\0" in file.read_bytes())
    data = header.read_bytes()
    header.write_bytes(data.replace(b"event_user-timers", b"event_uses-timers"))
    problems = [fault.problem for fault in Savepoint.open(str(path)).verify("quick").faults]
    assert (
        "entries of state '_timer_state/event_user-timers', which the header does not have"
        in problems
    )
