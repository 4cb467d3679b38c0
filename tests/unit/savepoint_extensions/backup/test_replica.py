"""A copy that lacks anything is never called complete, whoever made it and whatever is wrong."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from support.backed_up import (
    INCREMENTAL,
    job_at,
    metadata_of,
    next_checkpoint,
    put_metadata,
    tables_of,
)
from support.commands import run
from support.sample_rows import SAMPLES

from savepoint_formats.errors import SavepointNotFoundError
from savepoint_formats.metadata import RelativeFile, streams_of, with_streams
from state_processor import ReplicaCheck, Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.metadata import PlainStream

    Damage = Callable[[Path], None]

Depth = Literal["quick", "deep"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A checkpoint, and the directory of its backup."""
    folder = tmp_path_factory.mktemp("replica")
    snapshot = job_at(folder / "job")
    Savepoint.open(snapshot).backup(folder / "onto")
    return snapshot, folder / "onto"


@pytest.fixture
def onto(made: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made[1], tmp_path / "onto"))


def backup_in(onto: Path) -> Path:
    (metadata,) = onto.glob("backup-*/_metadata")
    return metadata.parent


def checked(copy: Path, source: Path, depth: Depth = "deep") -> ReplicaCheck:
    return Savepoint.open(copy).verify_replica(source, depth)


def largest(onto: Path) -> Path:
    return max((onto / "shared").iterdir(), key=lambda path: path.stat().st_size)


def cut(onto: Path) -> None:
    path = largest(onto)
    path.write_bytes(path.read_bytes()[:-1])


def longer(onto: Path) -> None:
    with largest(onto).open("ab") as file:
        file.write(b"x")


def missing(onto: Path) -> None:
    largest(onto).unlink()


def empty(onto: Path) -> None:
    largest(onto).write_bytes(b"")


def flipped(position: int) -> Damage:
    def flip(onto: Path) -> None:
        path = largest(onto)
        data = bytearray(path.read_bytes())
        data[position] ^= 1
        path.write_bytes(data)

    return flip


def swapped(onto: Path) -> None:
    """Two files of equal size get the bytes of each other."""
    by_size: dict[int, Path] = {}
    for path in sorted((onto / "shared").iterdir()):
        other = by_size.setdefault(path.stat().st_size, path)
        if other != path:
            data = path.read_bytes()
            path.write_bytes(other.read_bytes())
            other.write_bytes(data)
            return
    raise AssertionError("no two files have one size")


def handles_swapped(onto: Path) -> None:
    """Two handles of equal size lead to the file of each other."""
    backup = backup_in(onto)
    metadata = metadata_of(backup)
    by_size: dict[int, RelativeFile] = {}
    pair: tuple[RelativeFile, RelativeFile] | None = None
    for stream in streams_of(metadata):
        if isinstance(stream, RelativeFile):
            other = by_size.setdefault(stream.size, stream)
            if other.path != stream.path:
                pair = other, stream
    assert pair is not None
    first, second = pair
    change: dict[PlainStream, PlainStream] = {first: second, second: first}
    operators = tuple(
        with_streams(it, lambda stream: change.get(stream, stream)) for it in metadata.operators
    )
    put_metadata(backup, replace(metadata, operators=operators))


def of_another_operator(onto: Path) -> None:
    metadata = metadata_of(backup_in(onto))
    put_metadata(backup_in(onto), replace(metadata, operators=metadata.operators[1:]))


def of_another_checkpoint(onto: Path) -> None:
    metadata = metadata_of(backup_in(onto))
    put_metadata(backup_in(onto), replace(metadata, checkpoint_id=9))


def without_a_subtask(onto: Path) -> None:
    metadata = metadata_of(backup_in(onto))
    operators = tuple(replace(it, subtasks=it.subtasks[:-1]) for it in metadata.operators)
    put_metadata(backup_in(onto), replace(metadata, operators=operators))


def other_inline_state(onto: Path) -> None:
    metadata = metadata_of(backup_in(onto))
    operators = [*metadata.operators]
    index = next(i for i, it in enumerate(operators) if it.coordinator_state is not None)
    state = operators[index].coordinator_state
    assert state is not None
    changed = replace(state, data=bytes(len(state.data)))
    operators[index] = replace(operators[index], coordinator_state=changed)
    put_metadata(backup_in(onto), replace(metadata, operators=tuple(operators)))


SEEN_BY_SIZE = [cut, longer, missing, empty]
OF_METADATA = [of_another_operator, of_another_checkpoint, without_a_subtask, other_inline_state]
BYTES = [flipped(0), flipped(-1), flipped(1000), swapped, handles_swapped]


@pytest.mark.parametrize("depth", ["quick", "deep"])
def test_a_complete_copy(made: tuple[Path, Path], onto: Path, depth: Depth) -> None:
    check = checked(backup_in(onto), made[0], depth)
    assert (check.result, check.faults, check.extra) == ("complete", (), ())
    assert check.is_complete
    assert check.files > 70


@pytest.mark.parametrize("damage", [*SEEN_BY_SIZE, *OF_METADATA, *BYTES])
def test_damage_is_seen(made: tuple[Path, Path], onto: Path, damage: Damage) -> None:
    damage(onto)
    check = checked(backup_in(onto), made[0])
    assert (check.result, check.is_complete) == ("damaged", False)
    assert all(fault.is_damage for fault in check.faults)


@pytest.mark.parametrize("damage", [*SEEN_BY_SIZE, *OF_METADATA])
def test_what_sizes_tell_is_seen_without_reading(
    made: tuple[Path, Path], onto: Path, damage: Damage
) -> None:
    damage(onto)
    assert not checked(backup_in(onto), made[0], "quick").is_complete


def test_the_first_byte_that_differs_is_named(made: tuple[Path, Path], onto: Path) -> None:
    flipped(1234)(onto)
    faults = checked(backup_in(onto), made[0]).faults
    assert {fault.offset for fault in faults} == {1234}
    assert all(fault.operator and fault.subtask is not None for fault in faults)


def test_a_copy_that_agrees_with_a_damaged_snapshot_is_told_by_its_name(tmp_path: Path) -> None:
    """The same byte is flipped in both: bytes are equal, but the name has the checksum of before."""
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    Savepoint.open(snapshot).backup(onto)
    original = snapshot.parent / "shared" / Path(tables_of(snapshot)[0].path).name
    data = bytearray(original.read_bytes())
    (copy,) = (path for path in (onto / "shared").iterdir() if path.read_bytes() == data)
    data[9] ^= 1
    original.write_bytes(data)
    copy.write_bytes(data)
    faults = checked(backup_in(onto), snapshot).faults
    assert ["its name says another one" in fault.problem for fault in faults] == [True]


def test_a_copy_that_leads_to_the_snapshots_own_files_is_none(tmp_path: Path) -> None:
    """``cp -r chk-2`` has no file of ``shared``; its absolute paths still lead to them."""
    snapshot, _ = next_checkpoint(job_at(tmp_path / "job"), 99)
    alone = Path(shutil.copytree(snapshot, tmp_path / "elsewhere" / snapshot.name))
    assert Savepoint.open(alone).verify("quick").is_whole
    assert not checked(alone, snapshot, "quick").is_complete
    beside = Path(shutil.copytree(snapshot, snapshot.parent / "chk-77"))
    assert not checked(beside, snapshot, "quick").is_complete
    itself = checked(snapshot, snapshot)
    assert not itself.is_complete
    assert "the snapshot's own file" in itself.faults[0].problem


def test_a_snapshot_without_files_is_no_copy_of_itself(tmp_path: Path) -> None:
    snapshot = job_at(tmp_path / "job", "currency-1.20.5-hashmap-inline")
    copy = Path(shutil.copytree(snapshot, tmp_path / "copy"))
    (tmp_path / "link").symlink_to(snapshot)
    assert checked(copy, snapshot).is_complete
    for same in (snapshot, tmp_path / "link"):
        assert not checked(same, snapshot, "quick").is_complete


@pytest.mark.parametrize("depth", ["quick", "deep"])
@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("name", ["_metadata", "largest"])
def test_links_to_files_of_the_snapshot_are_no_copies(
    tmp_path: Path, depth: Depth, link: Callable[[Path, Path], None], name: str
) -> None:
    source = Path(shutil.copytree(SAMPLES / "currency-2.2.1-rocksdb-native", tmp_path / "source"))
    copy = Path(shutil.copytree(source, tmp_path / "copy"))
    if name == "largest":
        name = max(source.glob("[!_]*"), key=lambda path: path.stat().st_size).name
    (copy / name).unlink()
    link(source / name, copy / name)
    check = checked(copy, source, depth)
    assert (len(check.faults), check.is_complete) == (1, False)


def test_a_copy_of_the_whole_job_is_complete_though_its_paths_lead_to_the_snapshot(
    tmp_path: Path,
) -> None:
    snapshot, _ = next_checkpoint(job_at(tmp_path / "job"), 99)
    copied = Path(shutil.copytree(snapshot.parent, tmp_path / "far" / "job")) / snapshot.name
    assert checked(copied, snapshot).is_complete
    victim = copied.parent / "shared" / Path(tables_of(snapshot)[0].path).name
    victim.unlink()
    assert not checked(copied, snapshot).is_complete


def test_extra_files_are_named_and_do_no_harm(tmp_path: Path) -> None:
    source = SAMPLES / "currency-2.2.1-rocksdb-native"
    copy = Path(shutil.copytree(source, tmp_path / "copy"))
    (copy / "expected.json").unlink()
    (copy / "notes").write_text("mine")
    check = checked(copy, source)
    assert (check.is_complete, check.extra) == (True, ("notes",))


@pytest.mark.parametrize(
    "name", ["states-1.20.5-hashmap-changelog", "states-2.2.1-rocksdb-filemerging"]
)
def test_copies_of_other_kinds(tmp_path: Path, name: str) -> None:
    snapshot = job_at(tmp_path / "job", name)
    written = Savepoint.open(snapshot).writer().write(str(tmp_path / "copy"))
    assert checked(Path(written.path), snapshot).is_complete
    backup = Savepoint.open(snapshot).backup(tmp_path / "onto")
    assert checked(Path(backup.path), snapshot).is_complete


def test_the_command(made: tuple[Path, Path], onto: Path) -> None:
    code, text = run("verify", backup_in(onto), "--replica-of", made[0])
    assert (code, "complete" in text) == (0, True)
    flipped(7)(onto)
    assert run("verify", backup_in(onto), "--replica-of", made[0], "--quick")[0] == 0
    code, text = run("verify", backup_in(onto), "--replica-of", made[0])
    assert (code, "at byte 7" in text) == (1, True)
    assert run("verify", backup_in(onto), "--replica-of", made[0].parent / "nothing")[0] == 1


def test_wrong_calls(made: tuple[Path, Path]) -> None:
    savepoint = Savepoint.open(made[0])
    with pytest.raises(ValueError, match="expected 'quick' or 'deep'"):
        savepoint.verify_replica(made[0], "shallow")  # type: ignore[arg-type]  # the mistake
    with pytest.raises(SavepointNotFoundError):
        savepoint.verify_replica(made[0].parent / "nothing")
    assert INCREMENTAL in str(SAMPLES / INCREMENTAL)
