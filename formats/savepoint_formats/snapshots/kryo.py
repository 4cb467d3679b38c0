"""Snapshots of Kryo, and of serializers that call methods of a user's class.

| class                      | body                                                           |
|----------------------------|----------------------------------------------------------------|
| KryoSerializerSnapshot     | utf class; maps: registrations, default serializers,           |
|                            | default serializer classes                                     |
| ValueSerializer and others | utf class                                                      |

The value of a registration is a framed utf class, i32 definition: 0 nothing, 1 utf serializer
class, 2 a Java object.

Flink: ``KryoSerializerSnapshotData``, ``GenericTypeSerializerSnapshot``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.codecs import UTF
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import FormatError
from savepoint_formats.java.stream import JavaObject, read_java_object
from savepoint_formats.layout import Kryo, KryoRegistration, Layout, Opaque
from savepoint_formats.snapshots.basic import RUNTIME, inner
from savepoint_formats.snapshots.fields import OPTIONAL_MAP
from savepoint_formats.snapshots.snapshot import SnapshotKind, TypeSerializerSnapshot, register

if TYPE_CHECKING:
    from savepoint_formats.snapshots.fields import OptionalEntry

KRYO = f"{RUNTIME}kryo.KryoSerializerSnapshot"

NO_SERIALIZER, SERIALIZER_CLASS = 0, 1

_TYPES = "org.apache.flink.types."
_WELL_KNOWN: dict[str, Layout] = {
    f"{_TYPES}BooleanValue": layouts.Boolean(),
    f"{_TYPES}ByteValue": layouts.Byte(),
    f"{_TYPES}ShortValue": layouts.Short(),
    f"{_TYPES}IntValue": layouts.Int(),
    f"{_TYPES}LongValue": layouts.Long(),
    f"{_TYPES}FloatValue": layouts.Float(),
    f"{_TYPES}DoubleValue": layouts.Double(),
    f"{_TYPES}CharValue": layouts.Char(),
    f"{_TYPES}StringValue": layouts.MutableText(),
    "org.apache.hadoop.io.IntWritable": layouts.Int(),
    "org.apache.hadoop.io.LongWritable": layouts.Long(),
    "org.apache.hadoop.io.FloatWritable": layouts.Float(),
    "org.apache.hadoop.io.DoubleWritable": layouts.Double(),
    "org.apache.hadoop.io.BooleanWritable": layouts.Boolean(),
    "org.apache.hadoop.io.ByteWritable": layouts.Byte(),
    "org.apache.hadoop.io.NullWritable": layouts.Marker(None),
}


def _kryo(snapshot: TypeSerializerSnapshot) -> Layout:
    return Kryo(snapshot["type_class"], tuple(map(_registration, snapshot["registrations"])))


def _registration(entry: OptionalEntry) -> KryoRegistration:
    """A registration; a damaged entry still counts, because registrations are numbered."""
    if entry.value is None:
        return KryoRegistration(entry.name)
    view = DataInputView(entry.value, entry.name, entry.value_offset)
    try:
        class_name, definition = view.read_utf(), view.read_int()
        return KryoRegistration(class_name, _serializer(definition, view))
    except FormatError:
        return KryoRegistration(entry.name, UNKNOWN_SERIALIZER)


UNKNOWN_SERIALIZER = "unknown"


def _serializer(definition: int, view: DataInputView) -> str:
    if definition == NO_SERIALIZER:
        return ""
    if definition == SERIALIZER_CLASS:
        return view.read_utf()
    value = read_java_object(view)
    return value.class_name if isinstance(value, JavaObject) else UNKNOWN_SERIALIZER


def _user_written(snapshot: TypeSerializerSnapshot) -> Layout:
    class_name = snapshot["type_class"]
    reason = "the class writes itself, and does not say how"
    return layouts.varying(_WELL_KNOWN.get(class_name) or Opaque(class_name, reason))


register(
    {
        KRYO: SnapshotKind(
            _kryo,
            lambda _version: (
                ("type_class", UTF),
                ("registrations", OPTIONAL_MAP),
                ("default_serializers", OPTIONAL_MAP),
                ("default_serializer_classes", OPTIONAL_MAP),
            ),
            versions=range(2, 3),
        ),
        **{
            inner(f"{RUNTIME}{name}"): SnapshotKind(
                _user_written, lambda _version: (("type_class", UTF),)
            )
            for name in ("ValueSerializer", "CopyableValueSerializer", "WritableSerializer")
        },
    }
)
