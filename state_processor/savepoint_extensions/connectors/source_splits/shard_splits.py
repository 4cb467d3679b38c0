"""Splits and enumerators of Kinesis and Pulsar.

Kinesis, version 0 to 2:

| bytes      | field     | meaning                                                                 |
|------------|-----------|-------------------------------------------------------------------------|
| utf utf    | shard     | name of the stream, id of the shard                                     |
| utf        | type      | type of the shard iterator, such as ``AFTER_SEQUENCE_NUMBER``           |
| bool       | is_marked | whether there is a marker                                               |
| bool i64   | timestamp | marker in milliseconds, behind a bool that says whether it is there     |
| bool utf   | number    | sequence number, likewise                                               |
| i32 n: utf | parents   | from version 1 on: ids of shards                                        |
| utf utf    | hashes    | from version 1 on: first and last hash key                              |
| bool       | finished  | version 2                                                               |

Its enumerator, version 0 or 1:

| bytes      | field     | meaning                                                                 |
|------------|-----------|-------------------------------------------------------------------------|
| bool utf   | last seen | id of the last shard that it has listed, if there is one                |
| i32 i32    | splits    | their number and their version                                          |
| i32, …     | split     | size and bytes of each split; the reader of an assigned one has its     |
|            |           | position                                                                |
| i32        | status    | version 1: 0 assigned, 1 unassigned, behind each split                  |

Pulsar, version 0 to 2:

| bytes      | field     | meaning                                                                 |
|------------|-----------|-------------------------------------------------------------------------|
| utf i32    | partition | topic, partition; -1 for a topic without partitions                     |
| i32 n: …   | ranges    | i32 start, i32 end; version 0 has one without a count                   |
| i32        | mode      | version 1 only                                                          |
| i32, …     | stop      | a serialized Java object, which is passed over                          |
| bool, …    | consumed  | i32 size, id of the last message that was read                          |
| bool, …    | open      | two i64: a transaction that is not committed                            |

Its enumerator, version 1 to 3: i32 n, then n partitions with ranges and mode, as splits of the version
before have them. Version 0 has splits as well, and is not read.

Connectors: ``KinesisShardSplitSerializer``, ``KinesisStreamsSourceEnumeratorStateSerializer``,
``PulsarPartitionSplitSerializer``, ``PulsarSourceEnumStateSerializer``. Those of Kinesis are known from their source alone, which is that of
release 5.0 and later of flink-connector-aws: no release could be run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_formats.bytes import BYTES, DataInputView, DataOutputView
from savepoint_formats.errors import RefusedError, UnsupportedVersionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_NEWEST = 2
_BARE = ("TRIM_HORIZON", "LATEST")
_NUMBERED = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")
_TIMED = "AT_TIMESTAMP"


@dataclass(frozen=True, slots=True)
class KinesisSplit:
    """A shard, and the position of its reader; ``rest`` has the bytes behind the position."""

    version: int
    stream: str
    shard: str
    iterator: str
    marker: int | str | None
    rest: bytes
    is_finished: bool

    @classmethod
    def of(cls, versioned: Versioned, path: str) -> Self:
        """Raises ``FormatError`` if the bytes are no split of Kinesis."""
        view = DataInputView(versioned.data, path)
        version = _known(view, versioned)
        stream, shard, iterator = view.read_utf(), view.read_utf(), view.read_utf()
        if iterator not in (*_BARE, *_NUMBERED, _TIMED):
            raise view.error(f"{iterator!r}, which is no type of a shard iterator")
        marker: int | str | None = None
        if view.read_strict_bool():
            marker = view.read_long() if view.read_strict_bool() else None
            if view.read_strict_bool():
                marker = view.read_utf()
        rest = versioned.data[view.position :]
        if version:
            for _ in range(view.read_count(2) + 2):
                view.read_utf()
        is_finished = version == _NEWEST and view.read_strict_bool()
        view.expect_end()
        return cls(version, stream, shard, iterator, marker, rest, is_finished)

    @classmethod
    def of_version_1(
        cls, stream: str, shard: str, parents: Sequence[str], hash_keys: tuple[str, str]
    ) -> Self:
        """A split that begins with the oldest record of its shard; ``stream`` is an ARN."""
        view = DataOutputView()
        view.write_int(len(parents))
        for text in (*parents, *hash_keys):
            view.write_utf(text)
        return cls(1, stream, shard, _BARE[0], None, view.to_bytes(), False)

    def to_versioned(self) -> Versioned:
        """The split, in the version that was read."""
        view = DataOutputView()
        for text in (self.stream, self.shard, self.iterator):
            view.write_utf(text)
        view.write_bool(self.marker is not None)
        if self.marker is not None:
            view.write_bool(isinstance(self.marker, int))
            if isinstance(self.marker, int):
                view.write_long(self.marker)
            view.write_bool(isinstance(self.marker, str))
            if isinstance(self.marker, str):
                view.write_utf(self.marker)
        view.write_bytes(self.rest)
        return Versioned(self.version, view.to_bytes())

    def position(self) -> dict[str, int | str]:
        """Type of the iterator, with its timestamp or sequence number."""
        position: dict[str, int | str] = {"type": self.iterator}
        if self.marker is not None:
            name = "timestamp" if isinstance(self.marker, int) else "sequence_number"
            position[name] = self.marker
        return position

    def at(self, position: Mapping[str, int | str]) -> Self:
        """Raises ``RefusedError`` unless the position has the marker that its type needs."""
        iterator = position.get("type")
        names = {_TIMED: ("timestamp", int)} | dict.fromkeys(_NUMBERED, ("sequence_number", str))
        if iterator in _BARE and set(position) == {"type"}:
            return replace(self, iterator=str(iterator), marker=None)
        name, kind = names.get(str(iterator), ("", object))
        if set(position) != {"type", name} or not isinstance(position[name], kind):
            raise RefusedError(
                f"{dict(position)}: expected a type of {', '.join(_BARE)}; {_TIMED} and a timestamp"
                f" in milliseconds; {' or '.join(_NUMBERED)} and a text sequence_number"
            )
        return replace(self, iterator=str(iterator), marker=position[name])


@dataclass(frozen=True, slots=True)
class KinesisEnumerator:
    """The last shard that was listed, and the shards that are not finished.

    Attributes:
        splits: Each with whether a reader has it.
        split_version: Version of all splits.
    """

    version: int
    last_seen: str | None
    splits: tuple[tuple[KinesisSplit, bool], ...]
    split_version: int

    @classmethod
    def of(cls, versioned: Versioned, path: str) -> Self:
        """Raises ``FormatError`` for another enumerator."""
        view = DataInputView(versioned.data, path)
        if versioned.version not in (0, 1):
            message = f"an enumerator of version {versioned.version}"
            raise view.error(message, UnsupportedVersionError)
        last_seen = view.read_utf() if view.read_strict_bool() else None
        count, split_version = view.read_count(4), view.read_int()
        splits = []
        for _ in range(count):
            split = Versioned(split_version, view.read_bytes(view.read_count()))
            status = view.read_int() if versioned.version else 1
            if status not in (0, 1):
                raise view.error(f"a status {status} of a shard, expected 0 or 1")
            splits.append((KinesisSplit.of(split, path), not status))
        view.expect_end()
        return cls(versioned.version, last_seen, tuple(splits), split_version)

    def to_versioned(self) -> Versioned:
        """The state, in its version."""
        view = DataOutputView()
        view.write_bool(self.last_seen is not None)
        if self.last_seen is not None:
            view.write_utf(self.last_seen)
        view.write_int(len(self.splits))
        view.write_int(self.split_version)
        for split, is_assigned in self.splits:
            BYTES.write(view, split.to_versioned().data)
            if self.version:
                view.write_int(int(not is_assigned))
        return Versioned(self.version, view.to_bytes())


@dataclass(frozen=True, slots=True)
class PulsarSplit:
    """A partition, and the id of the last message that was read, in hexadecimal digits."""

    topic: str
    partition: int
    consumed: str | None
    has_open_transaction: bool

    @classmethod
    def of(cls, versioned: Versioned, path: str) -> Self:
        """Raises ``FormatError`` if the bytes are no split of Pulsar."""
        view = DataInputView(versioned.data, path)
        version = _known(view, versioned)
        topic, partition = _pulsar_partition(view, version)
        view.read_bytes(view.read_count())
        consumed = view.read_bytes(view.read_count()).hex() if view.read_strict_bool() else None
        if has_open_transaction := view.read_strict_bool():
            view.read_longs(2)
        view.expect_end()
        return cls(topic, partition, consumed, has_open_transaction)


def pulsar_partitions(versioned: Versioned, path: str) -> list[tuple[str, int]]:
    """The partitions of an enumerator; raises ``FormatError`` for another one."""
    view = DataInputView(versioned.data, path)
    if not 1 <= versioned.version <= _NEWEST + 1:
        message = f"an enumerator of version {versioned.version}"
        raise view.error(message, UnsupportedVersionError)
    count = view.read_count(14)
    partitions = [_pulsar_partition(view, versioned.version - 1) for _ in range(count)]
    view.expect_end()
    return partitions


def _pulsar_partition(view: DataInputView, version: int) -> tuple[str, int]:
    topic, partition = view.read_utf(), view.read_int()
    if not topic or partition < -1:
        raise view.error(f"partition {partition} of topic {topic!r}")
    view.read_bytes(8 * (view.read_count(8) if version else 1))
    if version == 1:
        view.read_int()
    return topic, partition


def _known(view: DataInputView, versioned: Versioned) -> int:
    if not 0 <= versioned.version <= _NEWEST:
        raise view.error(f"a split of version {versioned.version}", UnsupportedVersionError)
    return versioned.version
