"""Files of subtasks that are written by the tasks that read what goes into them.

Where the number of key groups becomes a multiple, and the files are canonical, the subtasks of a family
get their entries from key groups that no other one needs. So a task reads these, and writes a family's
files as it goes: no run is left anywhere, shuffled or copied.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_formats.errors import within
from savepoint_formats.key_groups.families import Family, families
from savepoint_formats.metadata import KeyedHandleType, KeyGroupsHandle
from savepoint_formats.pass_through.sectioned_file import SectionedFile, whole_sections
from savepoint_formats.pass_through.stored_runs import stored_runs
from savepoint_formats.scan.splits import key_group_sizes
from savepoint_formats.sources.entry_source import SourceSettings
from state_processor.types.user_frames import user_frames_first
from state_processor.writing.keyed_files import WRITTEN_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_formats.layout import Layout
    from savepoint_formats.pass_through.stored_runs import PassThrough
    from state_processor.snapshot.operator import Operator
    from state_processor.writing.keyed_files import KeyedFiles

_LARGEST_KEY_GROUP = 16 << 20
"""A task holds all of it."""

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
    """

    operator: Operator
    handles: tuple[KeyGroupsHandle, ...]
    key: Layout
    target: PassThrough
    hash_code: HashKeys | None
    files: KeyedFiles
    families: tuple[Family, ...]

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
        if not target.keeps_entries or after == before or after % before:
            return None
        handles = []
        for subtask in record.subtasks:
            handle = subtask.managed_keyed_state
            if subtask.raw_keyed_state is not None:
                return None
            if handle is not None:
                if not isinstance(handle, KeyGroupsHandle) or _is_large(handle):
                    return None
                handles.append(handle)
        shares = families(before, after, files.parallelism)
        if max(len(family.subtasks) for family in shares) > _MOST_SUBTASKS:
            return None
        return cls(operator, tuple(handles), key, target, hash_code, files, shares)

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes the files of the families whose numbers are the rows: rows of ``WRITTEN``."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = list(self._written(self.families[number]))
                yield pa.RecordBatch.from_pylist(rows, WRITTEN_SCHEMA)

    def _written(self, family: Family) -> Iterator[dict[str, Any]]:
        sections = whole_sections(self._runs(family), self.operator.record.max_parallelism)
        files = self.files
        with ExitStack() as stack:
            opened = {
                subtask: stack.enter_context(files.target.create(f"keyed-{subtask}"))
                for subtask in family.subtasks
            }
            sectioned = {
                subtask: SectionedFile(file, files.header) for subtask, file in opened.items()
            }
            for key_group, runs in sections:
                with sectioned[files.subtask_of(key_group)].section(key_group) as file:
                    for run in runs:
                        file.write(run)
        for subtask, file in opened.items():
            known = sectioned[subtask].known(files.key_groups(subtask))
            # One file says which states there are, even if no key has any. To the others nobody
            # refers then, and they go when the savepoint is committed.
            if not subtask or any(known.offsets):
                yield files.written_row(subtask, file, known)

    def _runs(self, family: Family) -> Iterator[pa.RecordBatch]:
        """The runs of all key groups of a family, one file after the other."""
        settings = SourceSettings(self.operator.record.max_parallelism, self.operator.kryo)
        with within(f"operator {self.operator.name}"):
            for handle in self.handles:
                for key_groups in family.key_groups:
                    own = key_groups.intersection(handle.key_groups)
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


def _is_large(handle: KeyGroupsHandle) -> bool:
    """Whether a file is not canonical, or too large a key group is in it."""
    if handle.type is not KeyedHandleType.CANONICAL_SAVEPOINT:
        return True
    sizes = key_group_sizes(handle)
    return bool(len(sizes)) and int(sizes.max()) > _LARGEST_KEY_GROUP
