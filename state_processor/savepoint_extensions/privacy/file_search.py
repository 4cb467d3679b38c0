"""Texts looked for in all bytes of a snapshot's files, old versions and deleted keys included."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_extensions.privacy.hidden_contents import (
    CHUNK_SIZE,
    block_contents,
    framed_contents,
    table_versions,
)
from savepoint_formats.locations import METADATA_FILE, StateFile
from savepoint_formats.metadata import ChangelogHandle, stream_references
from savepoint_formats.state_files import has_former_keys, version_edits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.privacy.text_forms import SoughtTexts

_SST_SUFFIX = ".sst"
_MANIFEST_PREFIX = "MANIFEST-"
_LOG_SUFFIX = ".log"
_BLOB_SUFFIX = ".blob"
_REWRITE = "; delete-keys --rewrite writes the operator without them"


class FileSearch:
    """A search for texts in files; notes what could hide a value from it."""

    def __init__(self, sought: SoughtTexts) -> None:
        self._sought = sought
        self.counts: dict[str, int] = {}
        """Matches by file."""
        self.digests: dict[str, str] = {}
        """SHA-256 by file."""
        self.versions = 0
        """Entries of tables of RocksDB."""
        self.has_former_keys = False
        """Whether a log may have keys of former tables of RocksDB."""
        self.problems: list[str] = []

    def in_metadata(self, data: bytes) -> None:
        """Searches ``_metadata``, which may have state of operators."""
        self._digest(METADATA_FILE, [data])
        self._in_frames(StateFile(METADATA_FILE, data), METADATA_FILE)

    def in_bytes(self, file: StateFile) -> None:
        """Searches the bytes of the whole file."""
        # Flink can merge many files into one; tables are ranges of it.
        whole = replace(file, start=0, size=None, declared_size=None)
        self._digest(path_of(file), whole.chunks(CHUNK_SIZE))

    def in_contents(self, file: StateFile, *, is_table: bool) -> None:
        """Searches what is compressed in the range of a file, or its blocks if it is a table of RocksDB."""
        if is_table:
            self._in_table(file, path_of(file))
        else:
            self._in_frames(file, path_of(file))

    def in_log(self, role: str, file: StateFile) -> None:
        """Searches a log of RocksDB, by its role."""
        is_manifest, is_log = role.startswith(_MANIFEST_PREFIX), role.endswith(_LOG_SUFFIX)
        if is_manifest or is_log:
            # Heads of records divide its texts.
            self._count(path_of(file), version_edits(file))
        if is_log and self._sought.has_others:
            self.problems.append(f"{file.path}: a log of writes is only searched as text{_REWRITE}")
        if role.endswith(_BLOB_SUFFIX):
            self.problems.append(
                f"{file.path}: blobs may be compressed, and are only searched as bytes{_REWRITE}"
            )
        self.has_former_keys |= is_manifest and has_former_keys(file)

    def _digest(self, path: str, buffers: Iterable[bytes | pa.Buffer]) -> None:
        """Searches a file; a form may begin in one buffer and end in the next."""
        digest = hashlib.sha256()

        def digested() -> Iterator[bytes | pa.Buffer]:
            for buffer in buffers:
                digest.update(buffer)
                yield buffer

        self._count(path, digested())
        self.digests[path] = digest.hexdigest()

    def _in_frames(self, file: StateFile, path: str) -> None:
        self._count(path, block_contents(file))
        self._count(path, _with_blocks(framed_contents(file)))

    def _in_table(self, file: StateFile, path: str) -> None:
        def contents() -> Iterator[bytes]:
            for versions, data in table_versions(file):
                self.versions += versions
                yield data

        self._count(path, _with_blocks(contents()))

    def _count(self, path: str, buffers: Iterable[bytes | pa.Buffer]) -> None:
        count, rest = 0, b""
        most = max(map(len, self._sought.forms)) - 1
        for buffer in buffers:
            data = rest + bytes(buffer)
            # What ends in the rest was counted with the buffer before.
            count += sum(end > len(rest) for end in self._sought.search.ends(data))
            rest = data[len(data) - min(most, len(data)) :]
        if count:
            self.counts[path] = self.counts.get(path, 0) + count


def _with_blocks(contents: Iterable[bytes]) -> Iterator[bytes]:
    """The contents, and what Java's serialization divided in them."""
    for content in contents:
        yield content
        yield from block_contents(StateFile("", content))


def hidden_parts(
    operator: Operator,
    sought: SoughtTexts,
    *,
    has_old_versions: bool,
    has_former_keys: bool,
) -> Iterator[str]:
    """What the operator's files may hide from a search for texts."""
    handles = [subtask.managed_keyed_state for subtask in operator.record.subtasks]
    has_changes = any(isinstance(it, ChangelogHandle) and it.changes for it in handles)
    if sought.has_others and (has_old_versions or has_changes):
        where = "its changelog" if has_changes else "tables of RocksDB"
        yield f"old versions and deleted keys in {where} are only searched as text{_REWRITE}"
    elif sought.has_others and has_former_keys:
        yield f"keys of former tables of RocksDB are only searched as text{_REWRITE}"
    if sought.has_others:
        for state in operator.catalog.states:
            if state.kind.is_raw:
                yield f"its {state.kind} state is only searched as text"
    if any(it.input_channels or it.output_channels for it in operator.record.subtasks):
        yield (
            "records in flight are only searched as bytes, and two buffers may share a value;"
            " take a savepoint, or drain the job"
        )


def keyed_files(operator: Operator) -> frozenset[str]:
    """Files with keyed state of an operator, by the paths that a search names."""
    keyed = (it.stream for it in stream_references(operator.record) if it.is_keyed)
    return frozenset(path_of(operator.directory.file(stream)) for stream in keyed)


def table_role(role: str) -> bool:
    """Whether a file is a table of RocksDB, by its role."""
    return role.endswith(_SST_SUFFIX)


def path_of(file: StateFile) -> str:
    """The path of a file by which an answer names it."""
    return file.path if file.data is None else METADATA_FILE
