"""A canonical file that is written section by section, in any order."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.state_files.canonical_file import END_OF_SECTION, CanonicalFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.new_snapshot.new_file import NewFile
    from savepoint_formats.state_files.header import KeyedBackendHeader


class SectionedFile:
    """The file of a subtask.

    Args:
        file: Takes the bytes.
        header: The states.
    """

    def __init__(self, file: NewFile, header: KeyedBackendHeader) -> None:
        view = DataOutputView()
        header.write(view)
        file.write(view.to_bytes())
        self._file = file
        self._header_size = file.size
        self._sizes: dict[int, int] = {}

    @contextmanager
    def section(self, key_group: int) -> Iterator[NewFile]:
        """What takes the runs of a key group, of which there is one at least.

        Raises:
            ValueError: The key group has come before.
        """
        if key_group in self._sizes:
            raise ValueError(f"key group {key_group} comes twice")
        start = self._file.size
        yield self._file
        self._file.write(END_OF_SECTION)
        self._sizes[key_group] = self._file.size - start

    def known(self, key_groups: KeyGroupRange) -> CanonicalFile:
        """What is known of the file.

        Args:
            key_groups: Those of the subtask.
        """
        return CanonicalFile.of_sections(self._header_size, key_groups, self._sizes)


def whole_sections(
    batches: Iterable[pa.RecordBatch], before: int
) -> Iterator[tuple[int, list[pa.Buffer]]]:
    """Each key group with all of its runs.

    Args:
        batches: Runs of one canonical file after the other, in which each of the old key groups lies
            in one piece: all batches with entries of it follow each other.
        before: How many key groups there were, of whose number the new one is a multiple.
    """
    pending: dict[int, list[pa.Buffer]] = {}
    for batch in batches:
        key_groups = batch.column("key_group").to_pylist()
        present = {key_group % before for key_group in key_groups}
        for key_group in [group for group in pending if group % before not in present]:
            yield key_group, pending.pop(key_group)
        for key_group, run in zip(key_groups, batch.column("run"), strict=True):
            pending.setdefault(key_group, []).append(run.as_buffer())
    yield from pending.items()
