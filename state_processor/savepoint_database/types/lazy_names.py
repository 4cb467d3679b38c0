"""Names of a package that are imported on first use.

Modules for bulk state, DuckDB and Spark take long to import, and a look at a savepoint needs none of
them. A package with lazy names can be imported at the top of a module.
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
    """Makes the ``__getattr__`` of a package.

    ``modules`` maps a name to its module, relative to the package: ``.verification``. No name may equal
    that of a module of the package, which would hide it.
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
    """Makes ``__getattr__`` and ``__all__`` of a package from the imports in its ``__init__.pyi``.

    Type checkers and Python thus read one list of names.
    """
    stub = pkgutil.get_data(package, "__init__.pyi")
    assert stub is not None
    modules = {
        alias.name: node.module
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    return lazy_names(package, modules), ["__version__", *modules]
