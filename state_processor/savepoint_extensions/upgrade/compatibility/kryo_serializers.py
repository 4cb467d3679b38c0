"""The serializers that a job gave to Kryo, and the classes for which a new job gives another one.

Flink compares only the names of classes. It takes the serializers of the new job, which then read what
others wrote. Where the new job names a class no longer, it goes on with the old serializer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.bytes import DataInputView
from savepoint_formats.errors import FormatError
from savepoint_formats.snapshots import NO_SERIALIZER, SERIALIZER_CLASS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.snapshots import OptionalEntry, TypeSerializerSnapshot

Serializer = tuple[int, bytes]
"""Its definition and the bytes that tell it, as a registration has them."""

_NONE: Serializer = (NO_SERIALIZER, b"")
_OBJECT = SERIALIZER_CLASS + 1
_DEFAULTS = {"default_serializer_classes": SERIALIZER_CLASS, "default_serializers": _OBJECT}
_OF_NO_VALUE = b"DummyAvroKryoSerializer"
"""Part of the name of a serializer that never wrote: it stands in for that of Avro's arrays in jobs without Avro."""


def changed_serializers(
    old: TypeSerializerSnapshot, new: TypeSerializerSnapshot
) -> Iterator[tuple[str, str]]:
    """Each class with another serializer, and both serializers; Kryo's own one counts as a serializer."""
    (registered, defaults), (registered_now, defaults_now) = _given(old), _given(new)
    for name in dict.fromkeys((*registered, *defaults, *registered_now, *defaults_now)):
        before = _used(name, registered, defaults)
        after = _used(name, registered | registered_now, defaults | defaults_now)
        if before != after and _OF_NO_VALUE not in before[1]:
            yield name, f"{_shown(before)} → {_shown(after)}"


def _used(
    name: str, registered: dict[str, Serializer], defaults: dict[str, Serializer]
) -> Serializer:
    given = registered.get(name, _NONE)
    return defaults.get(name, _NONE) if given == _NONE else given


def _given(
    snapshot: TypeSerializerSnapshot,
) -> tuple[dict[str, Serializer], dict[str, Serializer]]:
    """The serializers of registered classes, and those of classes that are not numbered."""
    registered = {entry.name: _registered(entry) for entry in snapshot["registrations"]}
    defaults = {
        entry.name: (definition, entry.value)
        for part, definition in _DEFAULTS.items()
        for entry in snapshot[part]
        if entry.value is not None
    }
    return registered, defaults


def _registered(entry: OptionalEntry) -> Serializer:
    if entry.value is None:
        return _NONE
    try:
        view = DataInputView(entry.value)
        view.read_utf()
        return view.read_int(), entry.value[view.position :]
    except FormatError:
        return _OBJECT, entry.value


def _shown(serializer: Serializer) -> str:
    definition, data = serializer
    if definition == NO_SERIALIZER:
        return "Kryo's own serializer"
    return DataInputView(data).read_utf() if definition == SERIALIZER_CLASS else "an object"
