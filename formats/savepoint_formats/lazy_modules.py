"""Modules that are imported when the first of their names is used.

For packages that are slow to import, in modules that most commands import and few use::

    if TYPE_CHECKING:
        import numpy as np
    else:
        np = LazyModule("numpy")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module until a name of it is used, and hands on its names."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._module), name)
        setattr(self, name, value)
        return value
