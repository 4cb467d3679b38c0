"""Different names for states whose names SQL takes for the same.

SQL ignores case, and a catalog allows few characters. Names that become the same get a checksum of
the original name at the end, so that a name does not depend on other names of the savepoint.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def told_apart(names: Iterable[str], written: Callable[[str], str] = str) -> dict[str, str]:
    """Maps names to distinct names in SQL; ``written`` replaces characters that SQL doesn't allow.

    Example:
        >>> told_apart(["total", "a", "A"])
        {'total': 'total', 'a': 'a_e8b7be43', 'A': 'A_d3d99e8b'}
    """
    plain = {name: written(name) for name in names}
    folded = Counter(name.casefold() for name in plain.values())
    return {
        name: shown if folded[shown.casefold()] == 1 else _unfolded(name, shown, folded)
        for name, shown in plain.items()
    }


def _unfolded(name: str, shown: str, taken: Iterable[str]) -> str:
    unfolded = f"{shown}_{crc32(name.encode('utf-8', 'surrogatepass')):08x}"
    while unfolded.casefold() in taken:
        unfolded += "_"
    return unfolded
