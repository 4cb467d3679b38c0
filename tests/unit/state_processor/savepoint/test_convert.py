"""The plan of ``convert``, and what it refuses, before any job runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import lines, run
from support.sample_rows import SAMPLES, Sample, copy_of, file_of

from savepoint_formats.errors import ConversionError, FormatError, StateFileNotFoundError
from savepoint_formats.metadata import InlineStream, KeyGroupsHandle
from savepoint_formats.metadata.records import KeyedHandleType
from savepoint_formats.metadata.stream_handles import KeyGroupRangeOffsets
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


def actions(savepoint: Savepoint) -> dict[str, str]:
    plan = savepoint.convert().plan("/nowhere/out")
    return {one.operator: one.action for one in plan.operators}


@pytest.mark.parametrize(
    ("name", "keyed"),
    [
        ("states-2.2.1-rocksdb-heaptimers/chk-2", {"stateful"}),
        ("states-2.2.1-rocksdb-native", {"stateful"}),
        ("currency-2.2.1-hashmap-native", {"summarize"}),
        ("states-2.2.1-rocksdb-canonical", set()),
    ],
)
def test_only_what_is_not_canonical_is_converted(name: str, keyed: set[str]) -> None:
    found = actions(Savepoint.open(str(SAMPLES / name)))
    assert {uid for uid, action in found.items() if action == "converted"} == keyed
    assert set(found.values()) <= {"copied", "converted"}


@pytest.mark.parametrize("name", ["hashmap-canonical", "hashmap-inline", "rocksdb-canonical"])
def test_a_canonical_savepoint_is_copied_without_spark(name: str, tmp_path: Path) -> None:
    before = Savepoint.open(str(SAMPLES / f"currency-1.20.5-{name}"))
    writer = before.convert()
    assert not writer.needs_session
    writer.write(str(tmp_path / "out"))
    assert Savepoint.open(str(tmp_path / "out")).diff(before.path).is_equal


def test_what_changes_besides_is_a_change() -> None:
    before = Savepoint.open(str(SAMPLES / "currency-2.2.1-rocksdb-native"))
    for writer in (
        before.convert().rescale(max_parallelism=64),
        before.rescale(parallelism=1).convert(),
        before.remove_state("summarize", "count").convert(),
    ):
        assert writer.operator("summarize").action == "changed"


def test_a_dry_run_reads_all_keyed_state_and_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (plan,) = lines("convert", SAMPLES / "currency-2.2.1-rocksdb-native", out, "--dry-run")
    found = {one["operator"]: one["action"] for one in plan["operators"]}
    assert found.pop("summarize") == "converted"
    assert set(found.values()) == {"copied"}
    assert not out.exists()


def test_the_command_refuses_another_format(tmp_path: Path) -> None:
    sample = SAMPLES / "currency-2.2.1-rocksdb-native"
    code, output = run("convert", sample, tmp_path / "out", "--format", "native")
    assert code == 2
    assert "'native' is not 'canonical'" in output
    with pytest.raises(ValueError, match="no format 'native' to convert to, only 'canonical'"):
        Savepoint.open(str(sample)).convert(to=_any("native"))


def _any(value: object) -> Any:
    return value


def with_raw_state(savepoint: Savepoint) -> Savepoint:
    """The savepoint with raw keyed state, which no reader knows, in its keyed operator."""
    operator = savepoint.operator("summarize")
    subtasks = []
    for subtask in operator.record.subtasks:
        managed = subtask.managed_keyed_state
        assert managed is not None
        groups = KeyGroupRangeOffsets(managed.key_groups, (0,) * len(managed.key_groups))
        stream = InlineStream(f"raw-{subtask.index}", b"\x7f something of its own")
        raw = KeyGroupsHandle(KeyedHandleType.KEY_GROUPS, groups, stream, f"raw {subtask.index}")
        subtasks.append(replace(subtask, raw_keyed_state=raw))
    changed = replace(operator, record=replace(operator.record, subtasks=tuple(subtasks)))
    others = (one for one in savepoint.operators() if one.id != operator.id)
    return replace(savepoint, _operators=(changed, *others))


def test_raw_keyed_state_is_refused_beside_state_of_a_backend(tmp_path: Path) -> None:
    savepoint = with_raw_state(Savepoint.open(str(SAMPLES / "currency-2.2.1-rocksdb-native")))
    with pytest.raises(ConversionError, match="operator summarize has raw keyed state"):
        savepoint.convert().plan(str(tmp_path / "out"), check=True)


def test_raw_keyed_state_beside_canonical_state_stays() -> None:
    savepoint = with_raw_state(Savepoint.open(str(SAMPLES / "currency-2.2.1-rocksdb-canonical")))
    assert set(actions(savepoint).values()) == {"copied"}


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    savepoint = copy_of(Sample("currency-2.2.1-hashmap-native"), tmp_path)
    file_of(savepoint, "summarize 0: keyed state").unlink()
    writer = Savepoint.open(savepoint.path).convert()
    with pytest.raises(StateFileNotFoundError, match="operator summarize"):
        writer.plan(str(tmp_path / "out"), check=True)


def test_state_whose_headers_are_all_damaged_is_not_taken_for_none(tmp_path: Path) -> None:
    savepoint = copy_of(Sample("currency-2.2.1-hashmap-native"), tmp_path)
    for subtask in (0, 1):
        file_of(savepoint, f"summarize {subtask}: keyed state").write_bytes(b"\0" * 100)
    writer = Savepoint.open(savepoint.path).convert()
    with pytest.raises(FormatError, match="operator summarize"):
        writer.plan(str(tmp_path / "out"), check=True)
