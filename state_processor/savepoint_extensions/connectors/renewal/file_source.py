"""``ContinuousFileMonitoringFunction`` and its reader -> ``FileSource``.

The old source knows the time of the newest file, the new one the path of each file that it won't read
again. So the directory is listed now: files that are no newer were read.

| the old source has                  | the new one gets                                                 |
|-------------------------------------|------------------------------------------------------------------|
| the time of the newest file         | paths of all files that are no newer, in its enumerator          |
| no time: it reads a directory once  | paths of all files                                               |
| a file that no reader has begun     | a split of the whole file, in a reader                           |
| a file that a reader is in          | nothing: where it is, is in a form of the old format. The user   |
|                                     | tells how many records were read                                 |

The old monitoring function has no uid. It loses its state; the reader's operator becomes the source.

Tried from 1.20.5 to 2.2.1, with ``TextInputFormat`` and ``TextLineInputFormat``.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from pyarrow import fs

from savepoint_extensions.connectors.monitored_files import (
    NEVER,
    ONCE,
    SPLITS_STATE,
    WaitingSplit,
    waiting_splits,
)
from savepoint_extensions.connectors.renewal.renewed_operator import Renewed, with_byte_lists
from savepoint_extensions.connectors.renewal.renewed_source import NewSplit, renewed_source
from savepoint_extensions.connectors.renewal.stopped_jobs import RIGHT_WAY
from savepoint_extensions.connectors.source_splits.file_splits import FileEnumerator, FileSplit
from savepoint_extensions.connectors.source_splits.split_connectors import file_facts
from savepoint_formats.errors import RefusedError
from savepoint_formats.locations import Location, absolute, is_local, reading_errors
from savepoint_formats.metadata import NEWEST_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.connectors.renewal.renewed_operator import RenewalOptions

_NOTHING_READ = '{"offset": -1, "records": 0}'


class _File(NamedTuple):
    """Path as Flink writes it, time in milliseconds and size of a file."""

    path: str
    modified_ms: int
    size: int


def without_time(operator: Operator) -> Renewed:
    """The operator of the monitoring function, without its state."""
    return Renewed(with_byte_lists(operator, {NEWEST_FILE}, {}))


def renewed_reader(operator: Operator, options: RenewalOptions) -> Renewed:
    """The operator of a ``FileSource``, in place of the reader.

    Raises:
        RefusedError: The savepoint has several monitoring functions; the directory is not known, or a file
            is not there any more; a part of a file was read.
        SavepointError: A file of the savepoint is gone or damaged, or the directory can't be read.
    """
    if len(options.newest_files_ms) != 1:
        raise RefusedError(
            f"operator {operator.name}: the savepoint has {len(options.newest_files_ms)} monitoring functions"
            " of files, and nothing tells which of them is that of this reader: let the old job read all"
            " files, move these elsewhere, and leave both states out (savepoint remove-operator)"
        )
    (newest,) = options.newest_files_ms
    if newest == ONCE and options.is_stopped:
        raise RefusedError(
            f"operator {operator.name}: the savepoint stopped the job, and its source of files then stores no"
            f" time of the newest file: all files would count as read, or none. {RIGHT_WAY}"
        )
    waiting = waiting_splits(operator)
    files = {}
    if newest != NEVER or waiting:
        files = {file.path: file for file in _listed(operator, options.directory)}
    processed = [file.path for file in files.values() if file.modified_ms <= newest]
    splits = list(_splits(operator, waiting, files))
    enumerator = FileEnumerator((), tuple(sorted(processed))).to_versioned()
    renewed = renewed_source(operator, {SPLITS_STATE}, splits, lambda _: enumerator, options)
    remark = (
        f"operator {operator.name}: its FileSource won't read {len(processed)} files that were listed now and"
        f" are no newer than the newest that the old source had found, and goes on with {len(splits)} of them."
        " A file that was changed since is read again as a whole, as the old source would"
    )
    return replace(renewed, remarks=(remark,))


def _listed(operator: Operator, directory: str) -> Iterator[_File]:
    if not directory:
        raise RefusedError(
            f"operator {operator.name}: a FileSource knows the paths of files that it has read, and the old"
            f" source only the time of the newest: savepoint sources PATH OUT --to-new {operator.name}"
            " --directory URI lists them, with the directory as the job names it; then migrate OUT"
        )
    location = Location.of(directory)
    uri = f"file:{absolute(directory)}" if is_local(directory) else directory
    with reading_errors(directory):
        infos = location.filesystem.get_file_info(fs.FileSelector(location.path, recursive=True))
    for info in infos:
        if info.type == fs.FileType.File:
            below = posixpath.relpath(info.path, location.path)
            path = flink_path(posixpath.join(uri.rstrip("/"), below))
            yield _File(path, info.mtime_ns // 1_000_000, info.size)


def flink_path(uri: str) -> str:
    """A URI without escapes as ``Path.toString`` of Flink gives it: ``file:/a`` and not ``file:///a``."""
    scheme, colon, rest = uri.partition(":")
    if rest.startswith("///"):
        rest = f"/{rest.lstrip('/')}"
    return f"{scheme}{colon}{rest}"


def _splits(
    operator: Operator, waiting: Iterable[WaitingSplit], files: dict[str, _File]
) -> Iterator[NewSplit]:
    """A split for each file that was not read to its end."""
    by_file = defaultdict[str, list[WaitingSplit]](list)
    for split in waiting:
        by_file[flink_path(unquote(split.uri))].append(split)
    for number, (path, ranges) in enumerate(sorted(by_file.items()), 1):
        file = files.get(path)
        if file is None:
            raise RefusedError(
                f"operator {operator.name}: {path} was not read to its end, and is not in the directory"
            )
        whole = FileSplit.of_file(f"{number:010}", path, file.size, ranges[0].modified_ms)
        facts = replace(file_facts(whole, "reading"), split=path, position=_NOTHING_READ)
        yield NewSplit(ranges[0].subtask, facts, whole.to_versioned(), _problem(ranges, file))


def _problem(ranges: list[WaitingSplit], file: _File) -> str:
    """Why a file can't be read from its beginning."""
    if any(split.has_begun for split in ranges):
        return (
            "a part of it was read, and where its reader is, is in a form of the old format: give the number"
            ' of records that were read, {"offset": -1, "records": N}'
        )
    ends = sorted((split.start, split.length) for split in ranges)
    position = 0
    for start, length in ends:
        position = -1 if start != position else (file.size if length < 0 else start + length)
    if position != file.size:
        return "only some of its parts were read, and a source of whole files can't leave them out"
    return ""
