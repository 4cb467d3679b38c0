"""Snapshots of serializers that no job has touched since Flink 1.7: "config snapshots".

Flink 1.7 stored the serializer itself as a Java object, and a config beside it:

| bytes | field              | meaning                                                     |
|-------|--------------------|-------------------------------------------------------------|
| i32   | serializer_version | 1                                                           |
| i32 … | serializer         | size, Java object                                           |
| i32   | config_version     | of the config                                               |
| …     | config             | by class: a class name, or nested serializers               |

The list of nested serializers survives the loss of a class: it has the positions of all Java
objects and snapshots, then their bytes.

| bytes        | field   | meaning                                                        |
|--------------|---------|----------------------------------------------------------------|
| i32          | n       | nested serializers                                             |
| n (i32, i32) | offsets | of the Java object and of the serializer entry, in ``data``    |
| i32 …        | data    | size, bytes                                                    |

Flink: ``TypeSerializerConfigSnapshot``, ``TypeSerializerSerializationUtil``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from savepoint_formats.bytes.codecs import BYTES, UTF, Codec
from savepoint_formats.errors import FormatError
from savepoint_formats.java.stream import JavaClass
from savepoint_formats.layout import Layout, Opaque, Repeated, Struct
from savepoint_formats.snapshots.basic import BASE, RUNTIME, SCALA
from savepoint_formats.snapshots.composite import (
    java_map,
    numbered,
    optional_elements,
    optional_part,
    tagged_union,
)
from savepoint_formats.snapshots.fields import JAVA, number
from savepoint_formats.snapshots.resynchronised import read_resynchronised
from savepoint_formats.snapshots.snapshot import (
    KINDS,
    NO_FIELDS,
    SnapshotKind,
    SnapshotView,
    read_serializer,
    register,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.bytes.data_view import DataOutputView
    from savepoint_formats.snapshots.fields import Field
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

# Flink's ADAPTER_VERSION; versions of newer snapshots are far smaller.
LEGACY_VERSION = 0x7A53C4F0

_CLASS_LOST = "the serializer's entry in a snapshot of Flink 1.7 can't be read: "
_JAVA_TUPLES = "org.apache.flink.api.java.tuple."


@dataclass(frozen=True, slots=True)
class ResilientList:
    """Nested serializers; each entry can be read without those before it.

    ``data`` has Java objects and entries in turn, ``offsets`` where both begin in it. ``base`` (the
    offset of ``data``) and ``depth`` (the number of snapshots around it) are not written.
    """

    offsets: tuple[tuple[int, int], ...]
    data: bytes
    base: int = field(default=0, compare=False)
    depth: int = field(default=0, compare=False)

    @classmethod
    def read(cls, view: SnapshotView) -> ResilientList:
        """Raises ``FormatError`` if an entry lies beyond the end of the data."""
        count = view.read_count(element_size=8)
        offsets = tuple((view.read_int(), view.read_int()) for _ in range(count))
        data = view.read_bytes(view.read_count())
        if any(not 0 <= offset <= len(data) for pair in offsets for offset in pair):
            raise view.error(f"nested serializers at {offsets}, expected 0 to {len(data)}")
        return cls(offsets, data, view.offset - len(data), view.depth)

    def write(self, view: DataOutputView) -> None:
        view.write_int(len(self.offsets))
        for serializer, entry in self.offsets:
            view.write_int(serializer)
            view.write_int(entry)
        view.write_int(len(self.data))
        view.write_bytes(self.data)

    def layouts(self) -> tuple[Layout, ...]:
        """Layouts of the nested serializers; bytes for those that can't be read."""
        starts = [serializer for serializer, _ in self.offsets]
        ends = [*starts[1:], len(self.data)]
        entries = [entry for _, entry in self.offsets]
        return tuple(map(self._layout_between, entries, ends))

    def _layout_between(self, start: int, end: int) -> Layout:
        view = SnapshotView(self.data[start:end], "Flink 1.7", self.base + start, self.depth)
        try:
            return read_resynchronised(read_serializer, view).layout()
        except FormatError as error:
            return Opaque("", _CLASS_LOST + error.message)


def _legacy(layout: Callable[[TypeSerializerSnapshot], Layout], **config: Codec) -> SnapshotKind:
    fields: tuple[Field, ...] = (
        ("serializer_version", number(1, 1)),
        ("serializer", BYTES),
        ("config_version", number(0, 0xFFFF)),
        *config.items(),
    )
    versions = range(LEGACY_VERSION, LEGACY_VERSION + 1)
    return SnapshotKind(layout, lambda _version: fields, versions=versions)


def _by_serializer(snapshot: TypeSerializerSnapshot) -> Layout:
    """The layout of a single type, whose serializer the config names."""
    serializer = snapshot["serializer_class"].replace("$", ".")
    for class_name, kind in KINDS.items():
        is_simple = not kind.is_composite and 3 in kind.versions and kind.body(3) == NO_FIELDS
        if is_simple and _serializer_of(class_name) == serializer:
            return kind.layout(snapshot)
    return Opaque(snapshot["serializer_class"], "its class is not known")


def _serializer_of(snapshot_class: str) -> str:
    """The serializer of a snapshot class; configs may name nested classes with a dot."""
    outer, _, _ = snapshot_class.rpartition("$")
    return (outer or snapshot_class.removesuffix("Snapshot")).replace("$", ".")


def _nested(count: int, layout: Callable[..., Layout]) -> SnapshotKind:
    def checked(snapshot: TypeSerializerSnapshot) -> Layout:
        parts = snapshot["serializers"].layouts()
        if len(parts) != count:
            reason = f"{len(parts)} nested serializers, expected {count}"
            return Opaque(snapshot.class_name, reason, is_damage=True)
        return layout(*parts)

    return _legacy(checked, serializers=RESILIENT_LIST)


def _tuple(snapshot: TypeSerializerSnapshot) -> Layout:
    parts = snapshot["serializers"].layouts()
    java_class = snapshot["tuple_class"].value
    if isinstance(java_class, JavaClass) and not java_class.name.startswith(_JAVA_TUPLES):
        return Struct(numbered("_", len(parts), 1), parts)
    return Struct(numbered("f", len(parts)), parts)


RESILIENT_LIST = Codec(ResilientList.read, lambda view, value: value.write(view))

register(
    {
        "org.apache.flink.api.common.typeutils.ParameterlessTypeSerializerConfig": _legacy(
            _by_serializer, serializer_class=UTF
        ),
        f"{BASE}CollectionSerializerConfigSnapshot": _nested(1, Repeated),
        f"{BASE}MapSerializerConfigSnapshot": _nested(2, java_map),
        f"{RUNTIME}EitherSerializerConfigSnapshot": _nested(2, tagged_union("left", "right")),
        f"{RUNTIME}TupleSerializerConfigSnapshot": _legacy(
            _tuple, serializers=RESILIENT_LIST, tuple_class=JAVA
        ),
        f"{SCALA[0]}ScalaOptionSerializerConfigSnapshot": _nested(1, optional_part),
        f"{SCALA[0]}ScalaTrySerializerConfigSnapshot": _nested(
            2, tagged_union("success", "failure")
        ),
        f"{SCALA[0]}TraversableSerializerConfigSnapshot": _nested(1, optional_elements),
    }
)
