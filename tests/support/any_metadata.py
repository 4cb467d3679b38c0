"""Any metadata of a snapshot that a version can hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.metadata import (
    CheckpointMetadata,
    DistributionMode,
    KeyedHandleType,
    KeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.metadata.checkpoint import MasterState
from savepoint_formats.metadata.keyed_handles import (
    ChangelogHandle,
    ChangeSetStream,
    FileChanges,
    IncrementalHandle,
    InMemoryChanges,
    LocalFile,
    StateChange,
)
from savepoint_formats.metadata.operator_handles import (
    ChannelDirection,
    ChannelStateHandle,
    MergedChannelStateHandle,
    MergedDirectories,
    OperatorStateOffsets,
)
from savepoint_formats.metadata.stream_handles import (
    EmptySegment,
    FileStream,
    InlineStream,
    KeyGroupRangeOffsets,
    KeyGroupsStream,
    SegmentStream,
)

names = st.text(max_size=8)
longs = st.integers(-(1 << 63), (1 << 63) - 1)
ints = st.integers(-(1 << 31), (1 << 31) - 1)
counts = st.integers(0, 1 << 40)
key_groups = st.builds(
    lambda start, count: KeyGroupRange(start, start + count - 1),
    st.integers(0, 100),
    st.integers(1, 5),
)
offsets = key_groups.flatmap(
    lambda groups: st.builds(
        KeyGroupRangeOffsets,
        st.just(groups),
        st.tuples(*[longs] * len(groups)),
    )
)
plain_streams = st.one_of(
    st.builds(InlineStream, names, st.binary(max_size=8)),
    st.builds(FileStream, longs, names),
    st.builds(RelativeFile, names, longs),
    st.builds(SegmentStream, counts, counts, st.integers(0, 1), names, names),
    st.builds(EmptySegment),
)
streams = st.one_of(plain_streams, st.builds(KeyGroupsStream, offsets, plain_streams))


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=2).map(tuple)


local_files = several(st.builds(LocalFile, names, streams))
T = KeyedHandleType
old_key_groups = st.builds(
    KeyGroupsHandle,
    st.sampled_from([T.KEY_GROUPS_V1, T.CANONICAL_SAVEPOINT]),
    offsets,
    plain_streams,
)
base_handles = st.one_of(
    old_key_groups,
    st.builds(KeyGroupsHandle, st.just(T.KEY_GROUPS), offsets, plain_streams, names),
    st.builds(
        IncrementalHandle,
        st.just(T.INCREMENTAL_V1),
        longs,
        names,
        key_groups,
        st.none(),
        plain_streams,
        local_files,
        local_files,
        st.none(),
    ),
    st.builds(
        IncrementalHandle,
        st.just(T.INCREMENTAL),
        longs,
        names,
        key_groups,
        longs,
        plain_streams,
        local_files,
        local_files,
        names,
    ),
)
file_changes = st.one_of(
    *(
        st.builds(
            FileChanges,
            st.just(kind),
            key_groups,
            several(st.builds(ChangeSetStream, longs, plain_streams)),
            longs,
            longs,
            names,
            storage,
        )
        for kind, storage in ((T.FILE_CHANGES_V1, st.none()), (T.FILE_CHANGES, names))
    )
)
changes = st.one_of(
    st.builds(
        InMemoryChanges,
        st.just(T.IN_MEMORY_CHANGES),
        key_groups,
        longs,
        longs,
        several(st.builds(StateChange, ints, st.binary(max_size=4))),
        names,
    ),
    file_changes,
)


def around_its_parts(changelog: ChangelogHandle) -> ChangelogHandle:
    """The handle with the key groups of all handles within it, none of which may lie outside."""
    parts = (changelog, *changelog.base, *changelog.changes)
    start = min(part.key_groups.start for part in parts)
    end = max(part.key_groups.end for part in parts)
    return replace(changelog, key_groups=KeyGroupRange(start, end))


changelogs = st.one_of(
    *(
        st.builds(
            ChangelogHandle,
            st.just(kind),
            key_groups,
            longs,
            several(base_handles),
            several(changes),
            longs,
            checkpoint_id,
            names,
        ).map(around_its_parts)
        for kind, checkpoint_id in ((T.CHANGELOG_V1, st.none()), (T.CHANGELOG, longs))
    )
)
keyed_handles = st.one_of(st.none(), base_handles, changelogs)
operator_handles = st.one_of(
    st.none(),
    st.builds(
        OperatorStateHandle,
        several(
            st.builds(
                OperatorStateOffsets, names, st.sampled_from(DistributionMode), several(longs)
            )
        ),
        plain_streams,
        st.one_of(st.none(), st.builds(MergedDirectories, names, names, st.booleans())),
    ),
)
indexes = st.tuples(ints, ints)


def channels(version: int) -> st.SearchStrategy[tuple[Any, ...]]:
    if version < 3:
        return st.just(())
    if version < 6:
        return several(
            st.builds(ChannelStateHandle, st.none(), ints, indexes, several(longs), longs, streams)
        )
    plain = st.sampled_from([ChannelDirection.INPUT, ChannelDirection.OUTPUT])
    merged = st.sampled_from([ChannelDirection.MERGED_INPUT, ChannelDirection.MERGED_OUTPUT])
    return several(
        st.one_of(
            st.builds(ChannelStateHandle, plain, ints, indexes, several(longs), longs, streams),
            st.builds(
                MergedChannelStateHandle, merged, ints, longs, streams, st.binary(max_size=4)
            ),
        )
    )


def subtasks(version: int) -> st.SearchStrategy[SubtaskState]:
    running = st.builds(
        SubtaskState,
        st.integers(0, 1 << 20),
        st.just(False),
        operator_handles,
        operator_handles,
        keyed_handles,
        keyed_handles,
        channels(version),
        channels(version),
        st.one_of(st.none(), longs) if version >= 7 else st.none(),
        longs if version == 2 else st.just(-1),
    )
    finished = st.builds(SubtaskState, st.integers(0, 1 << 20), st.just(True))
    return running if version == 2 else st.one_of(running, finished)


def operators(version: int) -> st.SearchStrategy[OperatorState]:
    texts = names if version >= 5 else st.just("")
    parallelism = st.integers(1, 50)
    ids = st.binary(min_size=16, max_size=16).map(OperatorId)
    coordinator = st.one_of(st.none(), st.builds(InlineStream, names, st.binary(max_size=4)))
    running = st.builds(
        OperatorState,
        ids,
        parallelism,
        st.integers(50, 32768),
        several(subtasks(version)),
        st.none() if version == 2 else coordinator,
        st.just(False),
        texts,
        texts,
        ints if version == 2 else st.just(1),
    )
    finished = st.builds(
        OperatorState,
        ids,
        parallelism,
        st.integers(50, 32768),
        st.just(()),
        st.none(),
        st.just(True),
        texts,
        texts,
    )
    return running if version == 2 else st.one_of(running, finished)


@st.composite
def metadata_of(draw: st.DrawFn, version: int) -> CheckpointMetadata:
    return CheckpointMetadata(
        version,
        draw(counts),
        draw(several(operators(version))),
        draw(several(st.builds(MasterState, ints, names, st.binary(max_size=4)))),
    )
