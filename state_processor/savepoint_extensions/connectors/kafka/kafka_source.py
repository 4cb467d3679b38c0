"""State of Kafka sources: splits of readers, state of coordinators, and offsets before Flink 1.14.

Kafka's connector: ``KafkaPartitionSplitSerializer``, ``KafkaSourceEnumStateSerializer``.

``FlinkKafkaConsumer`` is the Kafka source before Flink 1.14. Its union list
``topic-partition-offset-states`` has a tuple per partition: a Kryo object and a number.

Kafka's connector: ``FlinkKafkaConsumerBase``, ``KafkaTopicPartitionStateSentinel``.

| number        | meaning                                                    |
|---------------|------------------------------------------------------------|
| -1 or more    | offset of the last record that was read; -1 for none       |
| -915623761775 | the reader begins with the earliest record                 |
| -915623761774 | the reader begins after the latest record                  |
| -915623761773 | the reader begins where its consumer group has committed   |

A coordinator has the state that its enumerator wrote:

| bytes  | field      | meaning                                        |
|--------|------------|------------------------------------------------|
| i32    | version    | 0 or 1; with 0, Flink's own data follows       |
| i32, … | enumerator | a ``Versioned`` state of the enumerator        |
| …      | rest       | version 0 only: splits on their way to readers |

Flink: ``SourceCoordinatorSerdeUtils``, ``SourceCoordinator``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Self

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_formats.bytes import (
    BYTES,
    LONG,
    Codec,
    DataInputView,
    DataOutputView,
    FormRecord,
    Record,
    constant,
    enum_codec,
    list_codec,
)
from savepoint_formats.errors import FormatError, RefusedError, UnsupportedVersionError
from savepoint_formats.metadata import KAFKA_POSITIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.metadata import OperatorState


@dataclass(frozen=True, slots=True)
class CoordinatorState:
    """State of an enumerator, as its coordinator stores it."""

    version: int
    enumerator: Versioned
    rest: bytes = b""

    @classmethod
    def of(cls, state: bytes, path: str) -> Self:
        """Raises ``FormatError`` if the bytes aren't the state of a source's coordinator."""
        view = DataInputView(state, path)
        version = view.read_int()
        if version not in (0, 1):
            raise view.error(f"a coordinator of version {version}", UnsupportedVersionError)
        enumerator = Versioned.read(view)
        if version:
            view.expect_end()
        return cls(version, enumerator, view.read_rest())

    @classmethod
    def of_source(cls, operator: OperatorState) -> Self | None:
        """The state of a source's coordinator; None if the operator is no source, or has no such state."""
        state = operator.coordinator_state
        try:
            return None if state is None else cls.of(state.data, state.name)
        except FormatError:
            return None

    def to_bytes(self) -> bytes:
        """The state, in the version that was read."""
        view = DataOutputView()
        view.write_int(self.version)
        self.enumerator.write(view)
        view.write_bytes(self.rest)
        return view.to_bytes()


SPLIT_VERSION = 0
NO_STOPPING_OFFSET = -(1 << 63)
UNKNOWN_OFFSET = -(1 << 63)
"""``KafkaPartitionSplit.MIGRATED``: the enumerator of an older release didn't store the offset."""
LATEST, EARLIEST, COMMITTED = -1, -2, -3
STARTS = {EARLIEST: "earliest", LATEST: "latest", COMMITTED: "committed"}
"""Special offset of a split -> its name."""

_OFFSETS = {name: offset for offset, name in STARTS.items()}
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def _topic(view: DataInputView) -> str:
    topic = view.read_utf()
    if not _TOPIC_NAME.fullmatch(topic):
        raise view.error(f"{topic!r}, which is not a topic name")
    return topic


def _partition(view: DataInputView) -> int:
    partition = view.read_int()
    if partition < 0:
        raise view.error(f"partition {partition}")
    return partition


_TOPIC = Codec(_topic, DataOutputView.write_utf)
_PARTITION = Codec(_partition, DataOutputView.write_int)


@dataclass(frozen=True, slots=True)
class KafkaSplit(Record):
    """A partition, and the offset of its reader.

    | bytes    | field           | meaning                                                       |
    |----------|-----------------|---------------------------------------------------------------|
    | utf      | topic           |                                                               |
    | i32      | partition       |                                                               |
    | i64      | offset          | of the next record; -1 latest, -2 earliest, -3 committed      |
    | i64      | stopping_offset | of the first record that is not read; Long.MIN_VALUE for none |

    The element is ``Versioned``, of version 0.
    """

    FIELDS: ClassVar[tuple[Codec, ...]] = (_TOPIC, _PARTITION, LONG, LONG)
    topic: str
    partition: int
    offset: int
    stopping_offset: int = NO_STOPPING_OFFSET

    @classmethod
    def of(cls, element: bytes, path: str) -> Self:
        """The split in an element of ``SourceReaderState``."""
        return cls.of_versioned(Versioned.whole(element, path), path)

    @classmethod
    def of_versioned(cls, versioned: Versioned, path: str) -> Self:
        """The split in an element whose version has been read."""
        if versioned.version != SPLIT_VERSION:
            message = f"a split of version {versioned.version}"
            raise UnsupportedVersionError(message, path, 0)
        return cls.whole(versioned.data, path)

    def at(self, offset: str | int, stopping_offset: str | int | None) -> Self:
        """The split with another offset; without a stopping offset it keeps its own.

        Raises ``ValueError`` if the offset is neither a number from 0 on nor ``earliest``,
        ``latest`` or ``committed``.
        """
        if isinstance(offset, str) and offset in _OFFSETS:
            moved = replace(self, offset=_OFFSETS[offset])
        else:
            moved = replace(self, offset=_offset(offset, self.topic))
        if stopping_offset in (None, ""):
            return moved
        return replace(moved, stopping_offset=_offset(stopping_offset, self.topic))

    def to_bytes(self) -> bytes:
        return self.to_versioned().to_bytes()

    def to_versioned(self) -> Versioned:
        """The split, of version 0."""
        return Versioned(SPLIT_VERSION, Record.to_bytes(self))


class AssignmentStatus(IntEnum):
    """Whether a partition has a reader."""

    ASSIGNED = 0
    UNASSIGNED = 1


_STATUS = enum_codec(AssignmentStatus, "an assignment status")


@dataclass(frozen=True, slots=True)
class KafkaPartition(FormRecord):
    """A partition that the coordinator knows.

    Attributes:
        topic: The topic.
        partition: The partition.
        status: Whether a reader has it.
        offset: Offset at which its reader began or will begin, ``UNKNOWN_OFFSET`` if it is not stored.
            No position: the reader has that.
    """

    topic: str
    partition: int
    status: AssignmentStatus
    offset: int = UNKNOWN_OFFSET

    @classmethod
    def fields(cls, form: bool) -> dict[str, Codec]:
        """``form`` is whether the status is stored."""
        assigned = constant(AssignmentStatus.ASSIGNED)
        return {
            "topic": _TOPIC,
            "partition": _PARTITION,
            "status": _STATUS if form else assigned,
            "offset": constant(UNKNOWN_OFFSET),
        }


@dataclass(frozen=True, slots=True)
class KafkaEnumerator:
    """The state of an enumerator, by its version.

    | version | data                                                                                |
    |---------|-------------------------------------------------------------------------------------|
    | 0       | i32 version of splits, i32 n readers: i32 reader, i32 m splits: i32 size, the split |
    | 1       | i32 n partitions, all assigned: utf topic, i32 partition                            |
    | 2       | i32 n partitions: utf topic, i32 partition, i32 status; bool is_discovered          |
    | 3       | i32 n splits, i32 version of splits: i32 size, the split, i32 status; bool          |
    |         | is_discovered                                                                       |

    ``is_discovered``: the coordinator has looked for partitions at least once.
    """

    version: int
    partitions: tuple[KafkaPartition, ...]
    is_discovered: bool

    @classmethod
    def of(cls, state: bytes, path: str) -> Self:
        """Raises ``FormatError`` for coordinators of other sources."""
        return cls.of_versioned(CoordinatorState.of(state, path).enumerator, path)

    @classmethod
    def of_versioned(cls, versioned: Versioned, path: str) -> Self:
        """The state in bytes whose version has been read."""
        inner = DataInputView(versioned.data, path)
        match versioned.version:
            case 0:
                partitions, is_discovered = tuple(_assigned(inner)), True
            case 1:
                partitions, is_discovered = _partitions(inner, has_status=False), True
            case 2:
                partitions = _partitions(inner, has_status=True)
                is_discovered = inner.read_strict_bool()
            case 3:
                partitions = tuple(_with_offsets(inner))
                is_discovered = inner.read_strict_bool()
            case _:
                message = f"an enumerator of version {versioned.version}"
                raise inner.error(message, UnsupportedVersionError)
        inner.expect_end()
        return cls(versioned.version, partitions, is_discovered)

    def to_versioned(self) -> Versioned:
        """The state in its version.

        Raises ``RefusedError`` for what the version has no room for.
        """
        view = DataOutputView()
        match self.version:
            case 1 | 2:
                self._expect_room()
                list_codec(KafkaPartition.codec(self.version > 1), 6).write(view, self.partitions)
            case 3:
                view.write_int(len(self.partitions))
                view.write_int(SPLIT_VERSION)
                for known in self.partitions:
                    split = KafkaSplit(known.topic, known.partition, known.offset)
                    BYTES.write(view, split.to_versioned().data)
                    _STATUS.write(view, known.status)
            case _:
                raise RefusedError(f"enumerators of version {self.version} are not written")
        if self.version > 1:
            view.write_bool(self.is_discovered)
        return Versioned(self.version, view.to_bytes())

    def _expect_room(self) -> None:
        waiting = [known for known in self.partitions if known.status.value]
        names = ", ".join(f"{known.topic}-{known.partition}" for known in waiting)
        if self.version == 1 and (waiting or not self.is_discovered):
            raise RefusedError(
                "version 1 of an enumerator has only assigned partitions, and calls them all that there"
                f" were: {names or 'the first look for partitions'} can't be stored"
            )
        if any(known.offset != UNKNOWN_OFFSET for known in waiting):
            raise RefusedError(
                f"partitions {names} have offsets but no reader yet, and version 2 of an enumerator has no"
                " offsets: take another savepoint when readers have them"
            )


def _partitions(view: DataInputView, *, has_status: bool) -> tuple[KafkaPartition, ...]:
    partitions: tuple[KafkaPartition, ...] = list_codec(KafkaPartition.codec(has_status), 6).read(
        view
    )
    return partitions


def _assigned(view: DataInputView) -> Iterator[KafkaPartition]:
    version = view.read_int()
    for _ in range(view.read_count(8)):
        view.read_int()
        for _ in range(view.read_count(4)):
            versioned = Versioned(version, view.read_bytes(view.read_count()))
            split = KafkaSplit.of_versioned(versioned, view.path)
            yield KafkaPartition(split.topic, split.partition, AssignmentStatus.ASSIGNED)


def _with_offsets(view: DataInputView) -> Iterator[KafkaPartition]:
    count, version = view.read_count(8), view.read_int()
    for _ in range(count):
        versioned = Versioned(version, view.read_bytes(view.read_count()))
        split = KafkaSplit.of_versioned(versioned, view.path)
        yield KafkaPartition(split.topic, split.partition, _STATUS.read(view), split.offset)


def _offset(offset: object, topic: str) -> int:
    text = str(offset).strip()
    if not text.isdecimal() or int(text) >= 1 << 63:
        raise ValueError(f"offset {text} of {topic}, expected 0 or more, or {', '.join(_OFFSETS)}")
    return int(text)


_STARTS = {-915623761775: EARLIEST, -915623761774: LATEST, -915623761773: COMMITTED}
_NUMBERS = {start: number for number, start in _STARTS.items()}


def next_offset(number: int) -> int:
    """The offset of the next record, or ``EARLIEST``, ``LATEST`` or ``COMMITTED``."""
    if number not in _STARTS and number < -1:
        raise FormatError(f"an offset {number}, expected -1 or more", KAFKA_POSITIONS, -1)
    return _STARTS.get(number, number + 1)


def stored_number(offset: int) -> int:
    """The number in the state for a ``next_offset``."""
    return _NUMBERS.get(offset, offset - 1)
