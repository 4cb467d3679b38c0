"""The releases of Flink that can have written a ``_metadata`` file.

The version of the file gives a range of releases; each type of handle in it narrows the range.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.metadata.keyed_handles import ChangelogHandle
from savepoint_formats.metadata.records import KeyedHandleType
from savepoint_formats.metadata.stream_handles import EmptySegment, SegmentStream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.metadata.checkpoint import CheckpointMetadata, SubtaskState

Release = tuple[int, int]

OLDEST: Release = (1, 3)
NEWEST: Release = (2, 4)
FLINK_2: Release = (2, 0)

TARGETS: tuple[Release, ...] = ((1, 18), (1, 19), (1, 20), (2, 0), (2, 1), (2, 2), (2, 3))
"""The releases for which rules of compatibility and tests are there."""

_RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?")

_BY_METADATA_VERSION: dict[int, tuple[Release, Release]] = {
    2: ((1, 3), (1, 10)),
    3: ((1, 11), (1, 15)),
    4: ((1, 16), (1, 20)),
    5: ((2, 0), (2, 0)),
    6: ((2, 1), (2, 3)),
    7: ((2, 4), NEWEST),
}
"""Version of ``_metadata`` -> the first and last release that writes it.

So far no release writes 7; it is in the sources after 2.3.
"""

_BY_KEYED_HANDLE: dict[KeyedHandleType, tuple[Release, Release]] = {
    KeyedHandleType.KEY_GROUPS_V1: (OLDEST, (1, 14)),
    KeyedHandleType.INCREMENTAL_V1: (OLDEST, (1, 14)),
    KeyedHandleType.CANONICAL_SAVEPOINT: ((1, 13), NEWEST),
    KeyedHandleType.CHANGELOG_V1: ((1, 14), (1, 15)),
    KeyedHandleType.FILE_CHANGES_V1: ((1, 14), (1, 15)),
    KeyedHandleType.INCREMENTAL: ((1, 15), NEWEST),
    KeyedHandleType.KEY_GROUPS: ((1, 15), NEWEST),
    KeyedHandleType.FILE_CHANGES: ((1, 15), NEWEST),
    KeyedHandleType.CHANGELOG: ((1, 15), NEWEST),
}
_FILE_MERGING: Release = (1, 20)


@dataclass(frozen=True, slots=True)
class FlinkVersionRange:
    """The oldest and newest release that can have written a file."""

    oldest: Release
    newest: Release

    def __str__(self) -> str:
        oldest, newest = (".".join(map(str, release)) for release in (self.oldest, self.newest))
        return oldest if oldest == newest else f"{oldest} to {newest}"

    @classmethod
    def of(cls, metadata: CheckpointMetadata) -> FlinkVersionRange:
        """The releases that can have written ``metadata``.

        A rewritten file may hold handles of releases that its version excludes; then only the
        version counts.
        """
        by_version = cls(*_BY_METADATA_VERSION[metadata.version])
        oldest, newest = by_version.oldest, by_version.newest
        for low, high in _evidence(metadata):
            oldest, newest = max(oldest, low), min(newest, high)
        return cls(oldest, newest) if oldest <= newest else by_version


def release(text: str) -> Release:
    """The release of a text such as ``2.2`` or ``2.2.1``; else ``ValueError``."""
    match = _RELEASE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a release of Flink, expected one such as 2.2")
    return int(match[1]), int(match[2])


def is_flink_2(number: Release) -> bool:
    """Whether it is a release of Flink 2, which has another Kryo than Flink 1."""
    return number >= FLINK_2


def release_text(number: Release) -> str:
    """The release as a text."""
    return ".".join(map(str, number))


def newest_known(release: Release) -> int:
    """The newest version of ``_metadata`` that a release knows."""
    return max(version for version, (first, _) in _BY_METADATA_VERSION.items() if first <= release)


def is_of_flink_2(version: int) -> bool:
    """Whether Flink 2 writes this version of ``_metadata``."""
    first, _ = _BY_METADATA_VERSION[version]
    return first >= FLINK_2


def _evidence(metadata: CheckpointMetadata) -> Iterator[tuple[Release, Release]]:
    for operator in metadata.operators:
        for subtask in operator.subtasks:
            yield from (_BY_KEYED_HANDLE[kind] for kind in _keyed_types(subtask))
            handle = subtask.managed_operator_state
            if handle and isinstance(handle.stream, SegmentStream | EmptySegment):
                yield _FILE_MERGING, NEWEST


def _keyed_types(subtask: SubtaskState) -> Iterator[KeyedHandleType]:
    for handle in (subtask.managed_keyed_state, subtask.raw_keyed_state):
        if handle is None:
            continue
        yield handle.type
        if isinstance(handle, ChangelogHandle):
            yield from (base.type for base in handle.base)
