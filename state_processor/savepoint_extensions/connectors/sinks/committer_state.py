"""Commits that a committer has received but not finished, in an element of its state.

The element is ``Versioned``; its data depends on that version:

| version | data                                                             | written by      |
|---------|------------------------------------------------------------------|-----------------|
| 1       | i32 ``B91F252C``, list of committables                           | before 1.15     |
| 2       | i32 ``B91F252C``, list of checkpoints                            | 1.15 and later  |

A list is i32 version of its items, i32 count, then i32 size and the bytes of each item. The version
determines the layout of an item:

| item       | data                                                                               |
|------------|------------------------------------------------------------------------------------|
| checkpoint | i64 id; from version 1 on i32 number of subtasks; list of subtasks                 |
| subtask    | from version 1 on i32 subtask; list of requests; i32 number of committables; below |
|            | version 2 i32 number of drained ones; i32 number of failed ones                    |
| request    | ``Versioned`` committable; i32 retries; i32 state                                  |

Flink: ``CommittableCollectorSerializer``, ``SinkV1CommittableDeserializer``,
``CommitRequestState``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Self

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_formats.bytes import (
    BYTES,
    INT,
    Codec,
    DataInputView,
    DataOutputView,
    Record,
    enum_codec,
    list_codec,
    record_of,
)
from savepoint_formats.errors import UnsupportedVersionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MAGIC = 0xB91F252C - (1 << 32)
_LEGACY_VERSION = 1
_VERSION = 2

END_OF_INPUT = (1 << 63) - 1
"""Checkpoint id of commits at the end of the input."""


class RequestState(IntEnum):
    """Progress of a commit."""

    RECEIVED = 0
    RETRY = 1
    FAILED = 2
    COMMITTED = 3


@dataclass(frozen=True, slots=True)
class VersionedItems(Record):
    """A list whose items share one version."""

    FIELDS: ClassVar[tuple[Codec, ...]] = (INT, list_codec(BYTES, 4))
    version: int
    items: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class CommitRequest(Record):
    """A committable, with its retries and its state."""

    FIELDS: ClassVar[tuple[Codec, ...]] = (
        *(record_of(Versioned), INT),
        enum_codec(RequestState, "a commit of state"),
    )
    committable: Versioned
    retries: int
    state: RequestState


@dataclass(frozen=True, slots=True)
class SubtaskCommits:
    """Requests of one subtask of the writer.

    Attributes:
        subtask: The subtask; None in version 0, which doesn't store it.
        request_version: Version of the requests' layout.
        committables: Number of committables, requests that are gone included.
        drained: Number of drained committables; None from version 2 on.
    """

    subtask: int | None
    requests: tuple[CommitRequest, ...]
    request_version: int
    committables: int
    drained: int | None
    failed: int

    @classmethod
    def of(cls, version: int, data: bytes, path: str) -> Self:
        """Raises ``FormatError`` if the bytes are no requests of a subtask."""
        view = DataInputView(data, path)
        if not 0 <= version <= 2:
            message = f"requests of a subtask of version {version}"
            raise view.error(message, UnsupportedVersionError)
        subtask = view.read_int() if version else None
        listed = VersionedItems.read(view)
        if listed.version:
            message = f"a request of version {listed.version}"
            raise view.error(message, UnsupportedVersionError)
        committables = view.read_int()
        drained = view.read_int() if version < 2 else None
        failed = view.read_int()
        view.expect_end()
        requests = tuple(CommitRequest.whole(item, path) for item in listed.items)
        return cls(subtask, requests, listed.version, committables, drained, failed)

    def to_bytes(self) -> bytes:
        """Bytes in the version that was read."""
        view = DataOutputView()
        if self.subtask is not None:
            view.write_int(self.subtask)
        items = tuple(request.to_bytes() for request in self.requests)
        VersionedItems(self.request_version, items).write(view)
        view.write_int(self.committables)
        if self.drained is not None:
            view.write_int(self.drained)
        view.write_int(self.failed)
        return view.to_bytes()

    def with_requests(self, requests: Sequence[CommitRequest]) -> Self:
        """Fewer requests; the number of committables falls with them.

        A restored committer waits until it has as many committables as this number says.
        """
        gone = len(self.requests) - len(requests)
        committables = max(0, self.committables - gone)
        return replace(self, requests=tuple(requests), committables=committables)


@dataclass(frozen=True, slots=True)
class CheckpointCommits:
    """Requests of one checkpoint.

    Attributes:
        checkpoint_id: Id of the checkpoint; ``END_OF_INPUT`` at the end of the input.
        parallelism: Number of subtasks of the writer; None in version 0.
        subtask_version: Version of the subtasks' layout.
    """

    checkpoint_id: int
    parallelism: int | None
    subtasks: tuple[SubtaskCommits, ...]
    subtask_version: int

    @classmethod
    def of(cls, version: int, data: bytes, path: str) -> Self:
        """Raises ``FormatError`` if the bytes are no requests of a checkpoint."""
        view = DataInputView(data, path)
        if version not in (0, 1):
            message = f"commits of a checkpoint of version {version}"
            raise view.error(message, UnsupportedVersionError)
        checkpoint_id = view.read_long()
        parallelism = view.read_int() if version else None
        listed = VersionedItems.read(view)
        view.expect_end()
        subtasks = tuple(SubtaskCommits.of(listed.version, item, path) for item in listed.items)
        return cls(checkpoint_id, parallelism, subtasks, listed.version)

    def to_bytes(self) -> bytes:
        """Bytes in the version that was read."""
        view = DataOutputView()
        view.write_long(self.checkpoint_id)
        if self.parallelism is not None:
            view.write_int(self.parallelism)
        items = tuple(subtask.to_bytes() for subtask in self.subtasks)
        VersionedItems(self.subtask_version, items).write(view)
        return view.to_bytes()


@dataclass(frozen=True, slots=True)
class PendingCommit:
    """A committable with its place in the state.

    Attributes:
        checkpoint_id: Id of its checkpoint; None before Flink 1.15.
        subtask: Subtask of the writer; None where it is not stored.
        retries: Number of retries so far; None before Flink 1.15.
        state: State of the request; None before Flink 1.15.
    """

    checkpoint_id: int | None
    subtask: int | None
    committable: Versioned
    retries: int | None = None
    state: RequestState | None = None


@dataclass(frozen=True, slots=True)
class CommitterState:
    """An element of a committer's state.

    Attributes:
        checkpoints: Commits by checkpoint, from Flink 1.15 on.
        item_version: Version of the checkpoints, or of the committables before 1.15.
        committables: Committables before Flink 1.15; None from then on.
    """

    checkpoints: tuple[CheckpointCommits, ...]
    item_version: int
    committables: tuple[bytes, ...] | None = None

    @classmethod
    def of(cls, element: bytes, path: str) -> Self:
        """Raises ``FormatError`` if the element is no state of a committer."""
        versioned = Versioned.whole(element, path)
        view = DataInputView(versioned.data, path)
        if versioned.version not in (_LEGACY_VERSION, _VERSION):
            message = f"a committer of version {versioned.version}"
            raise view.error(message, UnsupportedVersionError)
        if (magic := view.read_int()) != _MAGIC:
            raise view.error(f"{magic & 0xFFFFFFFF:08X}, expected B91F252C of a committer")
        listed = VersionedItems.read(view)
        view.expect_end()
        if versioned.version == _LEGACY_VERSION:
            return cls((), listed.version, listed.items)
        checkpoints = [CheckpointCommits.of(listed.version, item, path) for item in listed.items]
        return cls(tuple(checkpoints), listed.version)

    def to_bytes(self) -> bytes:
        """The element, in the versions that were read."""
        items = self.committables
        if items is None:
            items = tuple(checkpoint.to_bytes() for checkpoint in self.checkpoints)
        view = DataOutputView()
        view.write_int(_MAGIC)
        VersionedItems(self.item_version, items).write(view)
        version = _VERSION if self.committables is None else _LEGACY_VERSION
        return Versioned(version, view.to_bytes()).to_bytes()

    def commits(self) -> Iterator[PendingCommit]:
        """All commits, in the order of the state."""
        for data in self.committables or ():
            yield PendingCommit(None, None, Versioned(self.item_version, data))
        for checkpoint in self.checkpoints:
            for subtask in checkpoint.subtasks:
                for request in subtask.requests:
                    yield PendingCommit(
                        checkpoint.checkpoint_id,
                        subtask.subtask,
                        request.committable,
                        request.retries,
                        request.state,
                    )

    def kept(self, is_kept: Callable[[int], bool]) -> Self:
        """The state with some of its commits.

        Subtasks without commits stay, because a committer counts them; a checkpoint goes with
        its last commit. One that never had a commit stays.

        Args:
            is_kept: Decides about a commit by its number in ``commits()``.
        """
        numbers = iter(range(sum(1 for _ in self.commits())))
        committables = self.committables
        if committables is not None:
            committables = tuple(data for data in committables if is_kept(next(numbers)))
        checkpoints = []
        for checkpoint in self.checkpoints:
            subtasks = tuple(
                subtask.with_requests(
                    [request for request in subtask.requests if is_kept(next(numbers))]
                )
                for subtask in checkpoint.subtasks
            )
            if subtasks == checkpoint.subtasks or any(subtask.requests for subtask in subtasks):
                checkpoints.append(replace(checkpoint, subtasks=subtasks))
        return replace(self, checkpoints=tuple(checkpoints), committables=committables)

    def renumbered(self, difference: int) -> Self:
        """The state with other checkpoint ids; the end of the input keeps its id."""
        checkpoints = tuple(
            checkpoint
            if checkpoint.checkpoint_id == END_OF_INPUT
            else replace(checkpoint, checkpoint_id=checkpoint.checkpoint_id + difference)
            for checkpoint in self.checkpoints
        )
        return replace(self, checkpoints=checkpoints)
