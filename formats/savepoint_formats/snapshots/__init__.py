"""Serializer snapshots: Java's descriptions of types, read into a tree and written back.

Importing this package fills the table of known snapshot classes.
"""

from savepoint_formats.snapshots import (  # they register what they know
    avro,
    basic,
    composite,
    flinkx,
    kryo,
    legacy,
    pojo,
)
from savepoint_formats.snapshots.resynchronised import read_resynchronised
from savepoint_formats.snapshots.snapshot import (
    SERIALIZER,
    OpaqueSnapshot,
    SnapshotView,
    TypeSerializerSnapshot,
    read_serializer,
    write_serializer,
)
from savepoint_formats.snapshots.sql import row_serializers
