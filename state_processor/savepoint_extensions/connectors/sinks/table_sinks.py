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
| i32, …   | messages   | count, then messages; those before version 6 are not decoded     |

A message of Paimon, of version 6 or 7:

| bytes    | field      | meaning                                                          |
|----------|------------|------------------------------------------------------------------|
| i32, …   | partition  | size, then number of fields and a row, whose types only the table knows |
| i32      | bucket     |                                                                  |
| bool, i32| buckets    | version 7: whether their number follows                          |
| 6 lists  | files      | new, deleted, changelog; compacted before, after, changelog      |
| 2 lists  | indexes    | new and deleted                                                  |

A list is an i32 count, then for each file an i32 size and a binary row, whose first field is the file's name.

Iceberg: ``IcebergCommittableSerializer``. Paimon: ``ManifestCommittableSerializer``,
``CommitMessageSerializer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_formats.bytes import DataInputView
from savepoint_formats.errors import UnsupportedVersionError

if TYPE_CHECKING:
    from savepoint_extensions.connectors.connector_rows import Facts

_ICEBERG_VERSION = 1
_PAIMON_VERSIONS = range(1, 5)
_MESSAGE_VERSIONS = range(1, 32)
_DECODED_MESSAGES = (6, 7)
_LISTS = ("new", "deleted", "changelog", "compacted", "compacted to", "compacted changelog")
_INDEXES = 2
_SHOWN_FILES = 20
_FIRST_SLOT = 8


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
    """Identifier, watermark, and the files of the messages; the size of messages before version 6."""
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
    if messages not in _DECODED_MESSAGES:
        return facts | {"message bytes": view.remaining}
    return facts | _messages(view, messages)


def _messages(view: DataInputView, version: int) -> Facts:
    """Number of messages, their buckets, and the files of each kind."""
    count = view.read_count(16)
    files: dict[str, list[str]] = {kind: [] for kind in _LISTS}
    buckets: list[int] = []
    for _ in range(count):
        view.read_bytes(view.read_count())
        buckets.append(view.read_int())
        if version == _DECODED_MESSAGES[-1] and view.read_strict_bool():
            view.read_int()
        for kind in _LISTS:
            files[kind] += _file_names(view)
        for _ in range(_INDEXES):
            _file_names(view)
    view.expect_end()
    listed = {"buckets": list(map(str, dict.fromkeys(buckets)))}
    listed |= {f"{kind} files": names for kind, names in files.items()}
    return {"messages": count} | {name: _listed(names) for name, names in listed.items() if names}


def _file_names(view: DataInputView) -> list[str]:
    return [_first_text(view) for _ in range(view.read_count(4 + 2 * _FIRST_SLOT))]


def _first_text(view: DataInputView) -> str:
    """The first field of a binary row of up to 56 fields, whose slots are little endian."""
    row = view.read_bytes(view.read_count())
    slot = int.from_bytes(row[_FIRST_SLOT : 2 * _FIRST_SLOT], "little")
    start, size = slot >> 32, slot & 0xFFFF_FFFF
    if slot >> 63:
        start, size = _FIRST_SLOT, slot >> 56 & 0x7F
    if len(row) < 2 * _FIRST_SLOT or start + size > len(row):
        raise view.error(f"a file name of {size} bytes in a row of {len(row)}")
    return row[start : start + size].decode(errors="backslashreplace")


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN_FILES
    return ", ".join(names[:_SHOWN_FILES]) + (f" and {more} more" if more > 0 else "")
