"""Serializer snapshots: Java's descriptions of types, read into a tree and written back.

Importing this package fills the table of known snapshot classes.
"""

from savepoint_formats.snapshots import (  # noqa: F401  # they register what they know
    avro,
    basic,
    composite,
    flinkx,
    kryo,
    legacy,
    pojo,
    pyflink,
    row_data,
)
from savepoint_formats.snapshots.entry import SerializerEntry
from savepoint_formats.snapshots.resynchronised import read_resynchronised
from savepoint_formats.snapshots.snapshot import (
    OpaqueSnapshot,
    SnapshotView,
    TypeSerializerSnapshot,
)

__all__ = [
    "OpaqueSnapshot",
    "SerializerEntry",
    "SnapshotView",
    "TypeSerializerSnapshot",
    "read_resynchronised",
]
