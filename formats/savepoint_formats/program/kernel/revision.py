"""Keeps machine code and sources in step.

Numba stores the machine code of a function until the file of that function changes. It does not
look at files that are compiled into the function. So each function is stored under a name with the
revision of all compiled sources: machine code of another revision is never loaded.
"""

from __future__ import annotations

import zlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")

# A cluster may have the package as an archive, which has no paths.
_PACKAGE = files("savepoint_formats")

_ROOMS = {
    _PACKAGE / "program" / "kernel": ".py",
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


_REVISION = _revision()


def with_revision(function: FunctionT) -> FunctionT:
    """Names a function for numba with the revision of the sources."""
    function.__qualname__ += f"_{_REVISION:08x}"
    return function
