"""Names of a package that are imported when somebody asks for them.

What reads bulk state, DuckDB and Spark take long to import, and who only inspects has no need of
them. A package that lists such names can be imported at the top of a module, as any other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """What a package has as ``__getattr__``: it imports the module of a name, and gives the name.

    Args:
        package: The full name of the package.
        modules: Name -> the module that has it, from the package on: ``.verification``. No name
            may be that of a module of the package, which would hide it.

    Example:
        >>> __getattr__ = lazy_names(__name__, {"Verification": ".verification"})
    """

    def attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        return getattr(import_module(modules[name], package), name)

    return attribute
