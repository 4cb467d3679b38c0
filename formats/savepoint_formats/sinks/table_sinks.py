"""Committables of sinks that write tables: Iceberg and Paimon.

Iceberg, version 1:

| bytes    | field      | meaning                                                          |
|----------|------------|------------------------------------------------------------------|
| utf      | job        | id of the job                                                    |
| utf      | operator   | id of the operator                                               |
| i64      | checkpoint | id of the checkpoint                                             |
| i32, …   | manifest   | size; nothing, or a ``Versioned`` ``DeltaManifests``             |

Paimon, version 1 to 4:

| bytes    | field      | meaning                                                          |
|----------|------------|------------------------------------------------------------------|
| i64      | identifier | of the commit: id of the checkpoint                              |
| bool     | is_null    | whether there is no watermark                                    |
| i64      | watermark  | milliseconds; absent where there is none                         |
| i32, …   | offsets    | count: i32 bucket, i64 offset                                    |
| i32, …   | properties | version 4: count, then utf name, utf value                       |
| i32      | version    | of the messages                                                  |
| …        | messages   | files of the commit; they are not decoded                        |

Iceberg: ``IcebergCommittableSerializer``. Paimon: ``ManifestCommittableSerializer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import UnsupportedVersionError
from savepoint_formats.kafka.versioned import Versioned

if TYPE_CHECKING:
    from savepoint_formats.sinks.connectors import Facts

_ICEBERG_VERSION = 1
_PAIMON_VERSIONS = range(1, 5)
_MESSAGE_VERSIONS = range(1, 32)


def iceberg_committable(versioned: Versioned, path: str) -> Facts:
    """Job, operator, checkpoint, and the size of the manifest."""
    view = DataInputView(versioned.data, path)
    if versioned.version != _ICEBERG_VERSION:
        message = f"an Iceberg committable of version {versioned.version}"
        raise view.error(message, UnsupportedVersionError)
    facts: Facts = {
        "job": view.read_utf(),
        "operator": view.read_utf(),
        "checkpoint": view.read_long(),
    }
    manifest = view.read_bytes(view.read_count())
    view.expect_end()
    if manifest and Versioned.whole(manifest, path).version not in (1, 2):
        raise view.error("a manifest of an unknown version", UnsupportedVersionError)
    return facts | {"manifest bytes": len(manifest)}


def paimon_committable(versioned: Versioned, path: str) -> Facts:
    """Identifier, watermark, and the size of the messages."""
    view = DataInputView(versioned.data, path)
    if versioned.version not in _PAIMON_VERSIONS:
        message = f"a Paimon committable of version {versioned.version}"
        raise view.error(message, UnsupportedVersionError)
    facts: Facts = {"identifier": view.read_long()}
    if not view.read_strict_bool():
        facts["watermark"] = view.read_long()
    for _ in range(view.read_count(12)):
        view.read_bytes(12)
    if versioned.version == _PAIMON_VERSIONS[-1]:
        for _ in range(view.read_count(4)):
            view.read_utf()
            view.read_utf()
    if (messages := view.read_int()) not in _MESSAGE_VERSIONS:
        raise view.error(f"commit messages of version {messages}", UnsupportedVersionError)
    return facts | {"message bytes": view.remaining}
