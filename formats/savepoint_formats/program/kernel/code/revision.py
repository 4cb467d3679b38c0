"""Keeps machine code and sources in step.

The library's name has the revision of all compiled sources, because functions are compiled into each
other: machine code of another revision is never loaded.
"""

from __future__ import annotations

import zlib
from importlib.resources import files

# A cluster may have the package as an archive, which has no paths.
_PACKAGE = files("savepoint_formats")

LIBRARIES = _PACKAGE / "program" / "kernel" / "built"
"""The folder of libraries; a path, unless the package is in an archive."""

_ROOMS = {
    "program/kernel": ".py",
    "program/kernel/code": ".py",
    "program/kernel/kryo": ".py",
    "state_files/rocksdb": "_kernel.py",
}

SOURCES = {
    f"{room}/{source.name}": source
    for room, ending in _ROOMS.items()
    for source in sorted(_PACKAGE.joinpath(room).iterdir(), key=lambda source: source.name)
    if source.name.endswith(ending)
}
"""The files that are compiled, by their paths in the package."""


def _revision() -> int:
    checksum = 0
    for source in SOURCES.values():
        checksum = zlib.crc32(source.read_bytes(), checksum)
    return checksum


REVISION = _revision()
