"""Backups and prunes at the same time, in every order of their steps: no backup loses a file.

Each step of one of them is a call that looks at the directory, or changes it. At each step the other one
runs as a whole. Writes that are taken for dead, though they only slept, are tried in the same way.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.backed_up import aged, broken, complete, job_at, next_checkpoint, spare
from support.nightly import nightly

from savepoint_extensions.backup import backing_up, pruning, shared_files, writes
from savepoint_extensions.backup.backup_store import BackupStore
from savepoint_extensions.backup.pruning import swept
from savepoint_extensions.backup.shared_files import SharedFiles
from savepoint_formats.errors import SavepointError
from state_processor import Savepoint, prune_backups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEPS = [
    (BackupStore, "files"),
    (BackupStore, "names"),
    (BackupStore, "backup"),
    (BackupStore, "living"),
    (SharedFiles, "_placed"),
    (shared_files, "note"),
    (shared_files, "noted"),
    (pruning, "note"),
    (pruning, "noted"),
    (pruning, "signed"),
    (pruning, "remove"),
    (backing_up, "has_sign"),
    (writes, "remove"),
    (writes, "end_dead"),
]
"""What looks at the directory of backups, or changes it."""


every = pytest.mark.parametrize("every", [9, pytest.param(1, marks=nightly)])


class Interruption:
    """Runs a function at the step of a number, before or after it; not within itself."""

    def __init__(self, point: int, function: Callable[[], object]) -> None:
        self.point, self.function, self.count, self.is_running = point, function, 0, False

    def step(self) -> None:
        if self.is_running:
            return
        self.count += 1
        if self.count == self.point:
            self.is_running = True
            self.function()
            self.is_running = False


@contextmanager
def interrupted(point: int, function: Callable[[], object]) -> Iterator[Interruption]:
    """Both before and after each step there is a point."""
    interruption = Interruption(point, function)

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            interruption.step()
            result = original(*arguments, **named)
            interruption.step()
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        # One thread after the other, so that the steps have an order.
        for module in (backing_up, pruning):
            patch.setattr(module, "THREADS", 1)
        for owner, name in STEPS:
            patch.setattr(owner, name, around(getattr(owner, name)))
        yield interruption


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """An old backup, and a younger one that has some of its files; a checkpoint that has others of them,
    and a checkpoint that the old backup has all files of."""
    folder = tmp_path_factory.mktemp("writes")
    first, onto = job_at(folder / "job", "states-2.2.1-rocksdb-incremental"), folder / "onto"
    aged(onto, Path(Savepoint.open(first).backup(onto).path).name, "20200101T000000Z")
    second, _ = next_checkpoint(first, 4)
    aged(onto, Path(Savepoint.open(second).backup(onto).path).name, "20200102T000000Z")
    third, _ = next_checkpoint(first, 2, 9)
    return onto, third, first


class Round:
    """A directory of backups for one order of steps."""

    def __init__(self, made: tuple[Path, Path, Path], folder: Path) -> None:
        self.onto = Path(shutil.copytree(made[0], folder))
        self.snapshot = Savepoint.open(made[1])
        self.paths: list[str] = []
        self.errors: list[SavepointError] = []

    def back_up(self) -> None:
        """Makes a backup; two of its files are new, and two are in the old backup alone."""
        try:
            self.paths.append(self.snapshot.backup(self.onto).path)
        except SavepointError as error:
            self.errors.append(error)

    def prune(self) -> None:
        """Keeps the newest backup, and removes what only others need."""
        prune_backups(self.onto, "1h")

    def prune_as_if_others_were_dead(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BackupStore, "living", lambda _store: frozenset())
            patch.setattr(pruning, "begun", _only_begun)
            self.prune()

    def faults(self) -> list[str]:
        return broken(self.onto)


@contextmanager
def _only_begun(store: BackupStore) -> Iterator[str]:
    """As ``begun``; its own sign goes with those of the writes that it takes for dead."""
    with writes.begun(store) as write_id:
        yield write_id


def rounds(
    made: tuple[Path, Path, Path], folder: Path, outer: str, inner: str, every: int
) -> Iterator[Round]:
    """A round for each step of ``outer``, or every k-th, at which ``inner`` runs."""
    point = 1 - every // 2
    while True:
        point += every
        round_ = Round(made, folder / str(point))
        with interrupted(point, getattr(round_, inner)) as interruption:
            getattr(round_, outer)()
        if interruption.count < point:
            assert point > 15
            return
        yield round_
        shutil.rmtree(round_.onto)


@every
def test_a_prune_at_each_step_of_a_backup(
    made: tuple[Path, Path, Path], tmp_path: Path, every: int
) -> None:
    for round_ in rounds(made, tmp_path, "back_up", "prune", every):
        assert round_.errors == []
        assert round_.faults() == []
        (path,) = round_.paths
        assert Path(path).name in complete(round_.onto)
        swept(BackupStore.of(round_.onto))
        assert spare(round_.onto) == []
        assert round_.faults() == []


@every
def test_a_backup_at_each_step_of_a_prune(
    made: tuple[Path, Path, Path], tmp_path: Path, every: int
) -> None:
    for round_ in rounds(made, tmp_path, "prune", "back_up", every):
        assert round_.errors == []
        assert round_.faults() == []
        assert Path(round_.paths[0]).name in complete(round_.onto)
        swept(BackupStore.of(round_.onto))
        assert spare(round_.onto) == []
        assert round_.faults() == []


@every
def test_a_prune_at_each_step_of_a_prune(
    made: tuple[Path, Path, Path], tmp_path: Path, every: int
) -> None:
    for round_ in rounds(made, tmp_path, "prune", "prune", every):
        assert len(complete(round_.onto)) == 1
        assert round_.faults() == spare(round_.onto) == []


@every
def test_a_backup_at_each_step_of_a_backup(
    made: tuple[Path, Path, Path], tmp_path: Path, every: int
) -> None:
    for round_ in rounds(made, tmp_path, "back_up", "back_up", every):
        assert round_.errors == []
        assert len(round_.paths) == 2
        assert round_.faults() == spare(round_.onto) == []


@every
def test_a_backup_that_is_taken_for_dead_fails_or_is_whole(
    made: tuple[Path, Path, Path], tmp_path: Path, every: int
) -> None:
    ends: set[str] = set()
    for round_ in rounds(made, tmp_path, "back_up", "prune_as_if_others_were_dead", every):
        assert round_.faults() == []
        ends.update(type(error).__name__ for error in round_.errors)
        ends.update("done" for path in round_.paths if Path(path).name in complete(round_.onto))
        assert len(round_.errors) + len(round_.paths) == 1
    expected = {"done", "SavepointExistsError", "StateFileNotFoundError"}
    assert ends == expected if every == 1 else ends <= expected


def test_a_list_of_doomed_files_stays_until_they_are_gone(
    made: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    """Its write may only sleep, and remove them when it wakes up."""
    round_ = Round(made, tmp_path / "onto")
    round_.snapshot = Savepoint.open(made[2])
    store = BackupStore.of(round_.onto)
    store.make("writes")
    needed = store.backup(store.names()[1])
    assert needed is not None
    old = store.backup(store.names()[0])
    assert old is not None
    asleep = "0123456789abcdef"
    own = old.files - needed.files  # the needed one has the highest checkpoint id, and stays
    doomed = writes.note(store, asleep, writes.DOOMED, own)
    round_.back_up()
    # Nobody may refer to a doomed file, so all of them were copied under other names.
    (path,) = round_.paths
    backup = store.backup(Path(path).name)
    assert backup is not None
    assert own
    assert backup.files.isdisjoint(own)
    round_.prune()
    assert round_.faults() == []
    left = frozenset(store.files()) & own
    assert (store.below("writes", doomed).file_size() is None) == (not left)
    for name in own:  # it wakes up
        writes.remove(store, "shared", name)
    assert round_.faults() == []
    swept(store)
    assert spare(round_.onto) == []
