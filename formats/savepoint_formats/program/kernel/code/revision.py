"""Keeps machine code and sources in step.

Each function is stored under a name with the revision of all compiled sources, because functions are
compiled into each other: machine code of another revision is never loaded.
"""

from __future__ import annotations

import zlib
from importlib.resources import files
from pathlib import Path

# A cluster may have the package as an archive, which has no paths.
_PACKAGE = files("savepoint_formats")
PACKAGE_FOLDER = _PACKAGE if isinstance(_PACKAGE, Path) else None
"""Where the package lies; None in an archive."""

_ROOMS = {
    _PACKAGE / "program" / "kernel": ".py",
    _PACKAGE / "program" / "kernel" / "code": ".py",
    _PACKAGE / "program" / "kernel" / "kryo": ".py",
    _PACKAGE / "state_files" / "rocksdb": "_kernel.py",
}

SOURCES = tuple(
    source
    for room, ending in _ROOMS.items()
    for source in sorted(room.iterdir(), key=lambda source: source.name)
    if source.name.endswith(ending)
)
"""The files that are compiled."""


def _revision() -> int:
    checksum = 0
    for source in SOURCES:
        checksum = zlib.crc32(source.read_bytes(), checksum)
    return checksum


REVISION = _revision()
