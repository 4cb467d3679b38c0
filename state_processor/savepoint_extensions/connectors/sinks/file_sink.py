"""Committables and buckets of a ``FileSink``.

Committable, version 1 (up to Flink 1.14) or 2:

| bytes    | field      | meaning                                                        |
|----------|------------|----------------------------------------------------------------|
| i32      | magic      | ``1E765C80``                                                   |
| utf      | bucket     | version 2 only                                                 |
| bool, …  | pending    | file to be finished: a ``Versioned`` pending file              |
| bool, …  | cleanup    | in-progress file to be deleted: a ``Versioned`` one            |
| bool utf | compacted  | path of a compacted file to be deleted; version 2 only         |

Pending file (``2C853C89``) and in-progress file (``B3A4073D``), each i32 magic and, in version 2,
bool and utf path, and i64 size for a pending file; then the ``Versioned`` recoverable of the file
system:

| recoverable  | data (numbers are little-endian)                                            |
|--------------|-----------------------------------------------------------------------------|
| local disk   | i32 ``1E744B57``, i64 offset, i32 and i32 sizes, target, temporary file     |
| Hadoop       | i32 ``D7436C5E``, likewise                                                  |
| others       | shown as bytes                                                              |

Bucket of a writer, version 1 to 3:

| bytes   | field       | meaning                                                         |
|---------|-------------|-----------------------------------------------------------------|
| i32     | magic       | ``1E764B79``                                                    |
| …       | bucket      | ``Versioned`` id; a text by default: little-endian i32, UTF-8   |
| utf     | path        | directory                                                       |
| i64     | created     | milliseconds since 1970                                         |
| bool, … | in_progress | ``Versioned`` in-progress file, in version 1 a recoverable      |
| …       | pending     | below version 3: pending files of each checkpoint               |

A ``StreamingFileSink`` has buckets of version 1 or 2 in its state ``bucket-states``. A ``FileSink`` with the
same uid reads them.

Flink: ``FileSinkCommittableSerializer``, ``FileWriterBucketStateSerializer``,
``SimpleVersionedStringSerializer``, ``OutputStreamBasedPartFileWriter``, ``LocalRecoverableSerializer``, ``HadoopRecoverableSerializer``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_formats.bytes import DataInputView
from savepoint_formats.errors import FormatError, UnsupportedVersionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_extensions.connectors.connector_rows import Facts

_COMMITTABLE = 511073408
_BUCKET = 511069049
_PENDING = 746929289
_IN_PROGRESS = -1281095875
_RECOVERABLE = struct.Struct("<iqii")
_RECOVERABLES = (510937943, -683447202)  # of the local disk, of Hadoop


def committable(versioned: Versioned, path: str) -> Facts:
    """File to be finished or deleted, with its bucket."""
    view = _expect(versioned, _COMMITTABLE, 2, path)
    facts: Facts = {}
    if versioned.version == 2:
        facts["bucket"] = view.read_utf()
    if view.read_strict_bool():
        facts |= _pending(Versioned.read(view), path)
    if view.read_strict_bool():
        cleanup = _in_progress(Versioned.read(view), path)
        facts |= {f"delete {name}": value for name, value in cleanup.items()}
    if versioned.version == 2 and view.read_strict_bool():
        facts["delete compacted"] = view.read_utf()
    view.expect_end()
    return facts


def bucket(versioned: Versioned, path: str) -> Facts:
    """Bucket with its in-progress file and, before version 3, its pending files."""
    return bucket_and_files(versioned, path)[0]


def bucket_and_files(versioned: Versioned, path: str) -> tuple[Facts, list[tuple[int, Facts]]]:
    """Facts of a bucket; checkpoint and facts of the files that one before version 3 has still to finish."""
    view = _expect(versioned, _BUCKET, 3, path)
    facts: Facts = {"bucket": _bucket_id(Versioned.read(view).data), "path": view.read_utf()}
    view.read_long()
    is_bare = versioned.version == 1
    if view.read_strict_bool():
        in_progress = Versioned.read(view)
        facts |= _recoverable(in_progress) if is_bare else _in_progress(in_progress, path)
    pending = list(_pending_of(view, path, is_bare=is_bare)) if versioned.version < 3 else []
    view.expect_end()
    files = [(checkpoint, {"bucket": facts["bucket"], **file}) for checkpoint, file in pending]
    return facts | ({"pending files": len(files)} if files else {}), files


def _bucket_id(data: bytes) -> str:
    """The text; hexadecimal bytes where the id is no text."""
    if len(data) >= 4 and int.from_bytes(data[:4], "little") == len(data) - 4:
        return data[4:].decode("utf-8", "backslashreplace")
    return data.hex()


def _pending_of(view: DataInputView, path: str, *, is_bare: bool) -> Iterator[tuple[int, Facts]]:
    """The pending files of all checkpoints: i32 version, i32 n: i64 id, i32 m: bytes of each file."""
    version = view.read_int()
    for _ in range(view.read_count(12)):
        checkpoint = view.read_long()
        for _ in range(view.read_count(4)):
            file = Versioned(version, view.read_bytes(view.read_count()))
            try:
                facts = _recoverable(file) if is_bare else _pending(file, path)
            except FormatError:
                facts = {"file": file.data.hex()}  # of a file system with a format of its own
            yield checkpoint, facts


def _pending(versioned: Versioned, path: str) -> Facts:
    view = _expect(versioned, _PENDING, 2, path)
    facts: Facts = {}
    if versioned.version == 2:
        if view.read_strict_bool():
            facts["path"] = view.read_utf()
        facts["size"] = view.read_long()
    facts |= _recoverable(Versioned.read(view))
    view.expect_end()
    return facts


def _in_progress(versioned: Versioned, path: str) -> Facts:
    view = _expect(versioned, _IN_PROGRESS, 2, path)
    facts: Facts = {}
    if versioned.version == 2 and view.read_strict_bool():
        facts["path"] = view.read_utf()
    facts |= _recoverable(Versioned.read(view))
    view.expect_end()
    return facts


def _expect(versioned: Versioned, magic: int, newest: int, path: str) -> DataInputView:
    """The bytes behind the magic number, of a version from 1 to ``newest``."""
    view = DataInputView(versioned.data, path)
    if view.remaining < 4 or view.peek_int() != magic:
        raise view.error(f"no magic number {magic & 0xFFFFFFFF:08X}")
    if not 1 <= versioned.version <= newest:
        raise view.error(f"version {versioned.version} of a file sink", UnsupportedVersionError)
    view.read_int()
    return view


def _recoverable(versioned: Versioned) -> Facts:
    """Target, temporary file and length, as far as the file system is known."""
    data = versioned.data
    if len(data) < _RECOVERABLE.size:
        return {"recoverable": data.hex()}
    magic, offset, target, temporary = _RECOVERABLE.unpack_from(data)
    end = _RECOVERABLE.size + target
    if magic not in _RECOVERABLES or min(target, temporary) < 0 or end + temporary != len(data):
        return {"recoverable": data.hex()}
    names = data[_RECOVERABLE.size : end], data[end:]
    texts = [name.decode("utf-8", "backslashreplace") for name in names]
    return {"target": texts[0], "temporary": texts[1], "length": offset}
