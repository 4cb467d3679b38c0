"""Key and window of a call of a function; apart, because they are needed before Spark is loaded."""

from __future__ import annotations

from typing import Any, NamedTuple


class Place(NamedTuple):
    """Key and window of a call of a function."""

    key: Any
    window: Any = None

    def __str__(self) -> str:
        window = "" if self.window is None else f", {self.window}"
        return f"key {self.key!r}{window}"
