"""Splits of Kinesis and Pulsar.

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

Pulsar, version 0 to 2:

| bytes      | field     | meaning                                                                 |
|------------|-----------|-------------------------------------------------------------------------|
| utf i32    | partition | topic, partition; -1 for a topic without partitions                     |
| i32 n: …   | ranges    | i32 start, i32 end; version 0 has one without a count                   |
| i32        | mode      | version 1 only                                                          |
| i32, …     | stop      | a serialized Java object, which is passed over                          |
| bool, …    | consumed  | i32 size, id of the last message that was read                          |
| bool, …    | open      | two i64: a transaction that is not committed                            |

Connectors: ``KinesisShardSplitSerializer``, ``PulsarPartitionSplitSerializer``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import RefusedError, UnsupportedVersionError
from savepoint_formats.kafka.versioned import Versioned

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        topic, partition = view.read_utf(), view.read_int()
        if not topic or partition < -1:
            raise view.error(f"partition {partition} of topic {topic!r}")
        view.read_bytes(8 * (view.read_count(8) if version else 1))
        if version == 1:
            view.read_int()
        view.read_bytes(view.read_count())
        consumed = view.read_bytes(view.read_count()).hex() if view.read_strict_bool() else None
        if has_open_transaction := view.read_strict_bool():
            view.read_longs(2)
        view.expect_end()
        return cls(topic, partition, consumed, has_open_transaction)


def _known(view: DataInputView, versioned: Versioned) -> int:
    if not 0 <= versioned.version <= _NEWEST:
        raise view.error(f"a split of version {versioned.version}", UnsupportedVersionError)
    return versioned.version
