"""Snapshots inside a snapshot: nested ones, and those framed in the maps of POJOs and Kryo."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import FormatError
from savepoint_formats.snapshots.fields import OptionalEntry
from savepoint_formats.snapshots.resynchronised import read_resynchronised
from savepoint_formats.snapshots.snapshot import SnapshotView, TypeSerializerSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def framed_snapshot(entry: OptionalEntry) -> TypeSerializerSnapshot | None:
    """The snapshot of an entry; None if there is none, or it can't be read."""
    if entry.value is None:
        return None
    try:
        return read_resynchronised(TypeSerializerSnapshot.read, framed_view(entry))
    except FormatError:
        return None


def framed_view(entry: OptionalEntry) -> SnapshotView:
    """A view of the value of an entry, whose errors name its place in the file."""
    return SnapshotView(entry.value or b"", entry.name, entry.value_offset, entry.depth)


def snapshot_bytes(snapshot: TypeSerializerSnapshot) -> bytes:
    """A snapshot as an entry holds it."""
    view = DataOutputView()
    snapshot.write(view)
    return view.to_bytes()


def with_nested(
    snapshot: TypeSerializerSnapshot,
    change: Callable[[TypeSerializerSnapshot], TypeSerializerSnapshot],
) -> TypeSerializerSnapshot:
    """The snapshot after a change of each snapshot directly inside it."""

    def changed(value: Any) -> Any:
        match value:
            case TypeSerializerSnapshot():
                return change(value)
            case OptionalEntry():
                inside = framed_snapshot(value)
                if inside is None or (new := change(inside)) == inside:
                    return value
                return replace(value, value=snapshot_bytes(new))
            case tuple():
                return tuple(map(changed, value))
            case _:
                return value

    return replace(snapshot, values=changed(snapshot.values))


def all_snapshots(value: Any) -> Iterator[TypeSerializerSnapshot]:
    """A snapshot and all snapshots inside it."""
    match value:
        case TypeSerializerSnapshot():
            yield value
            yield from all_snapshots(value.values)
        case OptionalEntry():
            yield from all_snapshots(framed_snapshot(value))
        case tuple():
            for element in value:
                yield from all_snapshots(element)
