"""Names of a package that are imported when somebody asks for them.

Modules that read bulk state, DuckDB and Spark take long to import, and a look at a savepoint needs none of
them. A package that lists such names can be imported at the top of a module, as any other.
"""

from __future__ import annotations

import ast
import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Any

from savepoint_formats.extras import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Makes the ``__getattr__`` of a package: it imports the module of a name, and returns the name.

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
        try:
            module = import_module(modules[name], package)
        except ModuleNotFoundError as error:
            raise missing(error) from error
        return getattr(module, name)

    return attribute


def stub_names(package: str) -> tuple[Callable[[str], Any], list[str]]:
    """Makes the ``__getattr__`` and the ``__all__`` of a package out of the imports in its stub.

    Type checkers and Python so read one list of names.

    Args:
        package: The full name of the package; ``__init__.pyi`` lies beside its module.
    """
    stub = pkgutil.get_data(package, "__init__.pyi")
    assert stub is not None  # every loader of a package that has files gives them
    modules = {
        alias.name: node.module
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    return lazy_names(package, modules), ["__version__", *modules]
