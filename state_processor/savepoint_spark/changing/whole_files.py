"""Files of subtasks that are written by the tasks that read what goes into them.

Where the number of key groups becomes a multiple or a divisor, and the files are canonical, the subtasks of a family
get their entries from key groups that no other one needs. So a task reads these, and writes a family's
files as it goes: no run is left anywhere, shuffled or copied.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pyarrow as pa

from savepoint_database.types.user_frames import user_frames_first
from savepoint_formats.errors import within
from savepoint_formats.key_groups.families import Family, families, merged
from savepoint_formats.metadata import KeyedHandleType, KeyGroupsHandle
from savepoint_formats.pass_through.sectioned_file import SectionedFile, whole_sections
from savepoint_formats.pass_through.stored_runs import stored_runs
from savepoint_formats.scan.splits import even_pieces, key_group_sizes
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_spark.writing.keyed_files import WRITTEN_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

    from numpy.typing import NDArray

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.metadata import KeyedStateHandle
    from savepoint_formats.pass_through.stored_runs import PassThrough
    from savepoint_spark.writing.keyed_files import KeyedFiles

_HELD_SIZE = 16 << 20
"""Bytes of the key groups that a task holds; the largest must not have more."""

_MOST_SUBTASKS = 64
"""A task has the files of all of them open."""


@dataclass(frozen=True)
class WholeFiles:
    """What a task needs to know to write the files of a family.

    Attributes:
        operator: The operator as it is.
        handles: Its files.
        key: The layout of its keys.
        target: What of it goes where.
        hash_code: Gives the Java hash codes of keys, if it is the user who knows them.
        files: The files of subtasks.
        families: The subtasks of each task.
        held: The bytes of key groups that a task holds at once, about.
    """

    operator: Operator
    handles: tuple[KeyGroupsHandle, ...]
    key: Layout
    target: PassThrough
    hash_code: HashKeys | None
    files: KeyedFiles
    families: tuple[Family, ...]
    held: int

    @classmethod
    def of(
        cls,
        operator: Operator,
        key: Layout,
        target: PassThrough,
        hash_code: HashKeys | None,
        files: KeyedFiles,
    ) -> Self | None:
        """How the files of an operator are written so; None if they can't be."""
        record = operator.record
        before, after = record.max_parallelism, target.max_parallelism
        if not target.keeps_entries or after == before or (after % before and before % after):
            return None
        handles = []
        for subtask in record.subtasks:
            handle = subtask.managed_keyed_state
            if subtask.raw_keyed_state is not None:
                return None
            if handle is not None:
                if not _is_canonical(handle):
                    return None
                handles.append(handle)
        if _sizes(handles, before).reshape(-1, min(before, after)).sum(axis=0).max() > _HELD_SIZE:
            return None
        shares = families(before, after, files.parallelism)
        if max(len(family.subtasks) for family in shares) > _MOST_SUBTASKS:
            return None
        return cls(operator, tuple(handles), key, target, hash_code, files, shares, _HELD_SIZE)

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes the files of the families whose numbers are the rows: rows of ``WRITTEN``."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = list(self._written(self.families[number]))
                yield pa.RecordBatch.from_pylist(rows, WRITTEN_SCHEMA)

    def _written(self, family: Family) -> Iterator[dict[str, Any]]:
        files = self.files
        with ExitStack() as stack:
            opened = {
                subtask: stack.enter_context(files.target.create(f"keyed-{subtask}"))
                for subtask in family.subtasks
            }
            sectioned = {
                subtask: SectionedFile(file, files.header) for subtask, file in opened.items()
            }
            owners = {
                group: sectioned[subtask]
                for subtask in family.subtasks
                for group in files.key_groups(subtask)
            }
            for key_group, runs in self._sections(family):
                with owners[key_group].section(key_group) as file:
                    for run in runs:
                        file.write(run)
        for subtask, file in opened.items():
            known = sectioned[subtask].known(files.key_groups(subtask))
            # One file says which states there are, even if no key has any. To the others nobody
            # refers then, and they go when the savepoint is committed.
            if not subtask or any(known.offsets):
                yield files.written_row(subtask, file, known)

    def _sections(self, family: Family) -> Iterator[tuple[int, list[pa.Buffer]]]:
        """All key groups of a family's subtasks, each with all of its runs."""
        before, after = self.operator.record.max_parallelism, self.target.max_parallelism
        if after > before:
            yield from whole_sections(self._runs(family.key_groups), before)
            return
        (subtask,) = family.subtasks
        own, sizes = self.files.key_groups(subtask), _sizes(self.handles, before)
        together = sizes.reshape(-1, after).sum(axis=0)[own.start :]
        for key_groups in even_pieces(own, together, self.held):
            # What becomes one key group lies in several places: so nothing is over before the end.
            yield from whole_sections(self._runs(merged(key_groups, before, after)), 1)

    def _runs(self, key_groups: Iterable[KeyGroupRange]) -> Iterator[pa.RecordBatch]:
        """The runs of key groups, one file after the other."""
        settings = SourceSettings(self.operator.record.max_parallelism, self.operator.kryo)
        with within(f"operator {self.operator.name}"):
            for handle, of_family in product(self.handles, key_groups):
                own = of_family.intersection(handle.key_groups)
                if own:
                    yield from stored_runs(
                        self.operator.directory,
                        handle,
                        self.key,
                        settings,
                        own,
                        self.target,
                        self.hash_code,
                    )


def _is_canonical(handle: KeyedStateHandle) -> TypeGuard[KeyGroupsHandle]:
    is_one_file = isinstance(handle, KeyGroupsHandle)
    return is_one_file and handle.type is KeyedHandleType.CANONICAL_SAVEPOINT


def _sizes(handles: Iterable[KeyGroupsHandle], max_parallelism: int) -> NDArray[np.int64]:
    """The bytes of all key groups."""
    sizes = np.zeros(max_parallelism, np.int64)
    for handle in handles:
        sizes[handle.key_groups.start : handle.key_groups.end + 1] = key_group_sizes(handle)
    return sizes
