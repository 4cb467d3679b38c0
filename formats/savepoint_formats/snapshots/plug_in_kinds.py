"""Kinds of snapshots that plug-ins register, for classes that Flink does not have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.layout import Coded, Layout, OfClass, Opaque, rebuilt
from savepoint_formats.plug_ins import SERIALIZERS, Loaded, are_on, failure, loaded, warn_of
from savepoint_formats.snapshots.fields import Following, codec_of
from savepoint_formats.snapshots.snapshot import CLASS_NAME, KINDS, SnapshotKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from savepoint_formats.bytes.codecs import Codec
    from savepoint_formats.plug_ins import PlugIn
    from savepoint_formats.snapshots.fields import Field
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot


def plug_in_kind(class_name: str) -> SnapshotKind | None:
    """The kind that a plug-in has registered for a class; None if none has."""
    return _kinds(are_on()).get(class_name)


def refusal(class_name: str) -> str:
    """Why the kinds that plug-ins have registered for a class are not used; empty if there are none."""
    return plug_in_serializers().refused.get(class_name, "")


def plug_in_serializers() -> Loaded:
    """All kinds of plug-ins, by snapshot class; those of Flink's own classes are refused."""
    return _loaded(are_on())


@cache
def _loaded(_are_on: bool) -> Loaded:
    return loaded(SERIALIZERS, _rows_of, KINDS.__contains__)


@cache
def _kinds(_are_on: bool) -> Mapping[str, SnapshotKind]:
    serializers = plug_in_serializers()
    warn_of(serializers)
    return {
        name: owned_kind(name, row.value, str(row.plug_in))
        for name, row in serializers.rows.items()
    }


def _rows_of(_plug_in: PlugIn, entry: Any) -> Iterator[tuple[str, SnapshotKind]]:
    items = getattr(entry, "items", None)
    if items is None:
        raise TypeError(f"{type(entry).__name__}, expected a mapping of snapshot classes to kinds")
    for class_name, kind in items():
        if not isinstance(class_name, str) or not CLASS_NAME.fullmatch(class_name):
            raise ValueError(f"{class_name!r} is no name of a Java class")
        if not isinstance(kind, SnapshotKind):
            raise TypeError(f"{class_name}: {type(kind).__name__}, expected a SnapshotKind")
        yield class_name, kind


def owned_kind(class_name: str, kind: SnapshotKind, owner: str) -> SnapshotKind:
    """A kind whose errors name its plug-in; its layouts name the class and the plug-in."""
    owned = _Owned(class_name, owner, kind)
    return replace(kind, layout=owned.layout, body=owned.body)


@dataclass(frozen=True, slots=True)
class _Owned:
    """The functions of a kind, whose errors are those of a savepoint that is not understood."""

    class_name: str
    owner: str
    kind: SnapshotKind

    def layout(self, snapshot: TypeSerializerSnapshot) -> Layout:
        try:
            layout = self.kind.layout(snapshot)
            if not isinstance(layout, Layout):
                raise TypeError(f"{layout!r} is no layout")
            owned = rebuilt(layout, self._named)
        except Exception as error:  # a plug-in may raise anything
            return Opaque(self.class_name, failure(self.owner, error))
        return owned if isinstance(owned, Coded) else OfClass(owned, self.class_name)

    def body(self, version: int) -> tuple[Field, ...]:
        try:
            fields = self.kind.body(version)
            return tuple((name, self._guarded(codec)) for name, codec in fields)
        except Exception as error:
            raise UndecodableError(failure(self.owner, error), self.class_name, 0) from error

    def _named(self, layout: Layout) -> Layout:
        if isinstance(layout, Coded) and not layout.owner:
            return replace(layout, class_name=self.class_name, owner=self.owner)
        return layout

    def _guarded(self, codec: Codec | Following) -> Following:
        def guarded(before: Sequence[Any]) -> Codec:
            inner = codec_of(("", codec), before)
            return replace(inner, read=self._reader(inner.read))

        return Following(guarded)

    def _reader(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def guarded(view: Any) -> Any:
            try:
                return read(view)
            except FormatError:
                raise
            except Exception as error:
                raise view.error(failure(self.owner, error)) from error

        return guarded
