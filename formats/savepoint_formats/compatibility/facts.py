"""What the rules look at: a snapshot, its operators, their states, and all serializers of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.snapshots.fields import OptionalEntry
from savepoint_formats.snapshots.nested import framed_snapshot
from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.metadata import CheckpointMetadata, OperatorState

_SUBCLASSES = ("registered", "unregistered")
_NUMBERED = (
    *("TupleSerializerSnapshot", "RowSerializerSnapshot", "RowDataSerializerSnapshot"),
    *("ScalaCaseClassSerializerSnapshot", "Tuple2CaseClassSerializerSnapshot"),
)
_PARTS = {
    "MapSerializerSnapshot": ("{key}", "{value}"),
    "NullAwareMapSerializerSnapshot": ("{key}", "{value}"),
    "TimerSerializerSnapshot": (".key", ".namespace"),
    "ListSerializerSnapshot": ("[]",),
    "ArrayListSerializerSnapshot": ("[]",),
    "SetSerializerSnapshot": ("[]",),
    "GenericArraySerializerSnapshot": ("[]",),
    "TraversableSerializerSnapshot": ("[]",),
}


@dataclass(frozen=True, slots=True)
class SerializerUse:
    """A serializer somewhere in a state.

    Attributes:
        path: Where: ``value.tags`` is the field of a POJO, ``value[]`` the element of a list.
        snapshot: What Flink stored of it.
        is_field: Whether it is that of a field of a POJO.
    """

    path: str
    snapshot: TypeSerializerSnapshot
    is_field: bool = False

    @property
    def type_class(self) -> str:
        """The class that it is for, if the snapshot tells; else the snapshot's own."""
        names = self.snapshot.names
        return str(self.snapshot["type_class"] if "type_class" in names else self.snapshot_class)

    @property
    def snapshot_class(self) -> str:
        """The class of the snapshot."""
        return self.snapshot.class_name


@dataclass(frozen=True, slots=True)
class StateFacts:
    """A state.

    Attributes:
        name: Its name.
        kind: What it is to the job: ``value``, ``map``, ``timers``, ``union list``, ...
        serializers: All of its serializers, those within others too.
        is_repeated: Whether keyed state of the operator has the name twice.
        subclasses: The subclasses of POJOs among its values that nobody has described.
        unseen: Why not all of its values were looked at for those; empty if there was no need.
        is_v2: Whether it is state V2, of an asynchronous operator.
    """

    name: str
    kind: str
    serializers: tuple[SerializerUse, ...] = ()
    is_repeated: bool = False
    subclasses: tuple[str, ...] = ()
    unseen: str = ""
    is_v2: bool = False


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """An operator.

    Attributes:
        record: What ``_metadata`` says of it.
        uid: Its uid; None if nobody knows it.
        states: Its states.
    """

    record: OperatorState
    uid: str | None
    states: tuple[StateFacts, ...]


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """A snapshot as a whole."""

    metadata: CheckpointMetadata


def uses_of(
    snapshot: TypeSerializerSnapshot, path: str, *, is_field: bool = False
) -> Iterator[SerializerUse]:
    """A serializer, and all that are within it."""
    yield SerializerUse(path, snapshot, is_field)
    for name, value in zip(snapshot.names, snapshot.values, strict=True):
        match value:
            case TypeSerializerSnapshot():
                yield from uses_of(value, path)
            case (TypeSerializerSnapshot(), *_):
                for index, part in enumerate(value):
                    yield from uses_of(part, path + _part(snapshot, index))
            case (OptionalEntry(), *_):
                yield from _uses_of_entries(name, value, path)


def _uses_of_entries(
    name: str, entries: tuple[OptionalEntry, ...], path: str
) -> Iterator[SerializerUse]:
    """The serializers of the fields of a POJO, or of its subclasses."""
    if name != "fields" and name not in _SUBCLASSES:
        return
    for entry in entries:
        snapshot = framed_snapshot(entry)
        if snapshot is not None:
            is_field = name == "fields"
            part = f".{entry.name}" if is_field else f"({entry.name})"
            yield from uses_of(snapshot, path + part, is_field=is_field)


def _part(snapshot: TypeSerializerSnapshot, index: int) -> str:
    """What a nested serializer is called behind the path of that around it."""
    kind = snapshot.class_name.rpartition(".")[2].rpartition("$")[2]
    if kind in _NUMBERED:
        return f".f{index}"
    parts = _PARTS.get(kind, ())
    return parts[index] if index < len(parts) else ""
