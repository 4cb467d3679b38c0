"""Strikes: the n-th system call that changes a file below a folder fails, or its process dies there.

``strike.c`` counts and strikes in all processes that load it; a file that they map has the orders.
"""

from __future__ import annotations

import ctypes
import mmap
import subprocess
from pathlib import Path
from shutil import which

from savepoint_formats.errors import SavepointError

_KILL, _SLOW, _TORN = -1, -2, -3
_EIO, _EACCES, _ENOSPC = 5, 13, 28

ACTIONS = {
    "killed": (_KILL, False),
    "torn": (_TORN, False),
    "slow": (_SLOW, False),
    "EIO": (_EIO, False),
    "EACCES": (_EACCES, False),
    "ENOSPC": (_ENOSPC, False),
    "full": (_ENOSPC, True),
}
"""Name -> what happens at the call, and whether later calls that need room fail, too.

A torn write has written half of its bytes when its process dies.
"""


def library(folder: Path) -> Path:
    """Compiles the library. Raises ``SavepointError`` if the machine has no compiler."""
    compiler = which("gcc") or which("cc")
    if compiler is None:
        raise SavepointError("there is no C compiler; install gcc")
    out = folder / "strike.so"
    source = Path(__file__).with_name("strike.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", out, source, "-ldl"], check=True)
    return out


class _Orders(ctypes.Structure):
    """Orders and answers, field by field as in ``strike.c``."""

    _fields_ = (
        ("is_armed", ctypes.c_int),
        ("point", ctypes.c_int),
        ("action", ctypes.c_int),
        ("lasts", ctypes.c_int),
        ("counted", ctypes.c_int),
        ("struck", ctypes.c_int),
        ("name", ctypes.c_char * 32),
        ("folder", ctypes.c_char * 1024),
    )


class Control:
    """The file of orders.

    Args:
        path: The file, which is made.
    """

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(ctypes.sizeof(_Orders)))
        with path.open("r+b") as file:
            self._orders = _Orders.from_buffer(mmap.mmap(file.fileno(), 0))

    def arm(self, folder: Path, point: int = 0, action: str = "killed") -> None:
        """Counts calls from now on, and strikes that of a number; none if it is 0."""
        orders = self._orders
        orders.is_armed = orders.counted = orders.struck = 0
        orders.name = b""
        orders.folder = str(folder).encode()
        orders.point = point
        orders.action, orders.lasts = ACTIONS[action]
        orders.is_armed = 1

    def disarm(self) -> None:
        """Lets all calls go on."""
        self._orders.is_armed = 0

    @property
    def counted(self) -> int:
        """Number of calls since it was armed."""
        return int(self._orders.counted)

    @property
    def struck(self) -> str:
        """Name of the call that was struck; empty if there was none."""
        return bytes(self._orders.name).decode() if self._orders.struck else ""
