"""Names of Java classes in serializer snapshots, and renames of these classes.

| snapshot of         | where classes are named                                                   |
|---------------------|---------------------------------------------------------------------------|
| any serializer      | the snapshot class itself                                                 |
| POJO                | its class, the declaring class of each field, subclasses                  |
| tuple, case class   | the class                                                                 |
| array of objects    | the class of the components                                               |
| enum                | the class                                                                 |
| Kryo                | the class, registrations, serializers                                     |
| Avro                | the class, and the schema: named types, ``java-class`` and its like       |
| classes that write  | the class                                                                 |
| themselves          |                                                                           |

Names inside Java objects and bodies of unknown classes cannot be changed: a serial version belongs
to a class, and sizes count the bytes of names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError, SchemaChangeError
from savepoint_formats.snapshots.avro import AvroNames
from savepoint_formats.snapshots.fields import JavaBytes, OptionalEntry
from savepoint_formats.snapshots.kryo import SERIALIZER_CLASS
from savepoint_formats.snapshots.legacy import ResilientList
from savepoint_formats.snapshots.nested import framed_snapshot, snapshot_bytes
from savepoint_formats.snapshots.snapshot import OpaqueSnapshot, TypeSerializerSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Change = Callable[[str], str]

_NAMED_BY = frozenset(["pojo_class", "type_class", "component", "enum_class", "runtime_class"])
_ARRAY = re.compile(r"(\[+L)(.+)(;)")


@dataclass(frozen=True, slots=True)
class ClassRename:
    """A rename of a Java class and of arrays of it; names as of ``Class.getName``, with ``$``."""

    old: str
    new: str

    def of(self, snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """The renamed snapshot.

        Raises ``SchemaChangeError`` if the old name is where it cannot be changed.
        """
        return _Names(self._of_class, self._refuse).of(snapshot)

    def name(self, name: str) -> str:
        """The new name of a class, or of an array of it."""
        return _of_arrays(self._of_class, name)

    def is_in(self, data: bytes) -> bool:
        """Whether bytes contain the old name; see ``is_named_in``."""
        return is_named_in(data, self.old)

    def _of_class(self, name: str) -> str:
        return self.new if name == self.old else name

    def _refuse(self, data: bytes, what: str) -> None:
        if self.is_in(data):
            raise SchemaChangeError(
                f"class {self.old} is named in {what}, where it cannot be renamed: restore the"
                " savepoint with both classes, and save it again"
            )


def class_names(snapshots: Iterable[TypeSerializerSnapshot]) -> frozenset[str]:
    """Names of all classes in the snapshots, without Flink's own and Java's."""
    seen: set[str] = set()

    def note(name: str) -> str:
        seen.add(name)
        return name

    names = _Names(note, lambda _data, _what: None)
    for snapshot in snapshots:
        names.of(snapshot)
    return frozenset(name for name in seen if not name.startswith(("org.apache.flink.", "java.")))


def _of_arrays(change: Change, name: str) -> str:
    match = _ARRAY.fullmatch(name)
    return match[1] + change(match[2]) + match[3] if match else change(name)


def is_named_in(data: bytes, name: str) -> bool:
    """Whether bytes contain the name of a class as Java or Kryo writes it.

    Kryo marks the end of an ASCII name by the highest bit of its last letter.
    """
    encoded = name.encode()
    dotted = re.escape(encoded[:-1]) + b"[" + re.escape(bytes([encoded[-1] | 0x80])) + b"]"
    slashed = re.escape(encoded.replace(b".", b"/"))
    plain = re.escape(encoded)
    return re.search(rb"(?:%s|%s)(?![\w$])|%s" % (plain, slashed, dotted), data) is not None


@dataclass(frozen=True, slots=True)
class _Names:
    """A walk that changes names in a snapshot.

    ``refuse`` gets bytes that cannot be changed, and their description.
    """

    change: Change
    refuse: Callable[[bytes, str], None]

    def of(self, snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        if isinstance(snapshot, OpaqueSnapshot):
            self.refuse(snapshot.body, f"a snapshot of the unknown {snapshot.class_name}")
        values = tuple(map(self._value, snapshot.names, snapshot.values))
        class_name = self.change(snapshot.class_name)
        if values == snapshot.values and class_name == snapshot.class_name:
            return snapshot
        return replace(snapshot, class_name=class_name, values=values)

    def _value(self, field: str, value: Any) -> Any:
        match value:
            case str() if field in _NAMED_BY:
                return self._array_or_class(value)
            case str() if field == "schema":
                return AvroNames(self.change).of(value)
            case TypeSerializerSnapshot():
                return self.of(value)
            case JavaBytes():
                self.refuse(value.data, "a Java object")
            case ResilientList():
                self.refuse(value.data, "a snapshot of Flink 1.7")
            case bytes():
                self.refuse(value, "a Java object")
            case tuple() if value and isinstance(value[0], OptionalEntry):
                return tuple(self._entry(field, entry) for entry in value)
            case tuple():
                return tuple(self._value("", part) for part in value)
        return value

    def _array_or_class(self, name: str) -> str:
        return _of_arrays(self.change, name)

    def _entry(self, field: str, entry: OptionalEntry) -> OptionalEntry:
        key, value = entry.key, entry.value
        return replace(
            entry,
            # An entry of fields is named like the field, any other like its class.
            name=entry.name if field == "fields" else self._array_or_class(entry.name),
            key=key and self._class(key, entry),
            value=value and _VALUES[field](self, value, entry),
        )

    def _class(self, data: bytes, entry: OptionalEntry) -> bytes:
        """Renames the utf class at the beginning."""
        view, written = DataInputView(data, entry.name), DataOutputView()
        try:
            written.write_utf(self._array_or_class(view.read_utf()))
        except FormatError:
            self.refuse(data, f"a damaged entry {entry.name!r}")
            return data
        return written.to_bytes() + data[view.position :]

    def _registration(self, data: bytes, entry: OptionalEntry) -> bytes:
        """Utf class, i32 definition, and by it: utf serializer class, or a Java object."""
        class_name = self._class(data, entry)
        view, written = DataInputView(class_name, entry.name), DataOutputView()
        try:
            written.write_utf(view.read_utf())
            definition = view.read_int()
            written.write_int(definition)
            if definition == SERIALIZER_CLASS:
                written.write_utf(self.change(view.read_utf()))
        except FormatError:
            self.refuse(data, f"a damaged entry {entry.name!r}")
            return data
        rest = class_name[view.position :]
        self.refuse(rest, "a Java object")
        return written.to_bytes() + rest

    def _snapshot(self, data: bytes, entry: OptionalEntry) -> bytes:
        snapshot = framed_snapshot(entry)
        if snapshot is None:
            self.refuse(data, f"a damaged snapshot of {entry.name!r}")
            return data
        changed = self.of(snapshot)
        return data if changed is snapshot else snapshot_bytes(changed)

    def _java(self, data: bytes, entry: OptionalEntry) -> bytes:
        self.refuse(data, f"a Java object of {entry.name!r}")
        return data


_VALUES: dict[str, Callable[[_Names, bytes, OptionalEntry], bytes]] = {
    "fields": _Names._snapshot,
    "registered": _Names._snapshot,
    "unregistered": _Names._snapshot,
    "registrations": _Names._registration,
    "default_serializers": _Names._java,
    "default_serializer_classes": _Names._class,
}
