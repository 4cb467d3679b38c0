"""A file source's state from nothing: the files that another program has read.

An enumerator that watches a directory has the paths of files that it will not read again, so a source needs
no more than these: its readers have no splits, and files that it doesn't know are new. Paths are compared as
texts of Flink, ``file:/in/a b.txt`` without escapes.

Flink: ``ContinuousFileSplitEnumerator``, ``PendingSplitsCheckpoint``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from savepoint_extensions.connectors.kafka.kafka_source import CoordinatorState
from savepoint_extensions.connectors.renewal.file_source import flink_path
from savepoint_extensions.connectors.source_splits.file_splits import FileEnumerator
from savepoint_formats.locations import absolute, is_local
from savepoint_formats.metadata import InlineStream, OperatorState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_formats.locations import PathText
    from savepoint_spark.writing import WriteContext

_COORDINATOR_VERSION = 1


@dataclass(frozen=True, slots=True)
class FileSourceState:
    """The state of a ``FileSource`` that won't read some files; a transformation of ``with_operator``.

    Attributes:
        processed: Their paths, as Flink writes them.
    """

    processed: tuple[str, ...]

    @classmethod
    def of(cls, files: Iterable[PathText]) -> FileSourceState:
        """See ``SavepointWriter.with_file_source``."""
        if isinstance(files, str):
            raise ValueError(f"files={files!r} is one text, expected the paths of files")
        return cls(tuple(sorted({_path(str(file)) for file in files})))

    def write(self, context: WriteContext) -> OperatorState:
        """The record of the source; its state is in ``_metadata`` itself."""
        enumerator = FileEnumerator((), self.processed).to_versioned()
        state = CoordinatorState(_COORDINATOR_VERSION, enumerator).to_bytes()
        return OperatorState(
            context.operator_id,
            context.parallelism,
            context.max_parallelism,
            (),
            InlineStream(f"file-coordinator-{context.operator_id}", state),
        )


def _path(file: str) -> str:
    """The path of a file as Flink writes it. A URI has escapes, a path of this machine has none."""
    if not file:
        raise ValueError("a path of a file is empty")
    if is_local(file):
        return f"file:{absolute(file)}"
    return flink_path(unquote(file))
