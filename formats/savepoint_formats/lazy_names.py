"""Names of a package that are imported on first use.

Modules for bulk state, DuckDB and Spark take long to import, and a look at a savepoint needs none of
them. A package with lazy names can be imported at the top of a module.
"""

from __future__ import annotations

import ast
import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Any

from savepoint_formats.extras import is_too_old, missing

if TYPE_CHECKING:
    from collections.abc import Callable


def lazy_names(package: str, file: str = "__init__.py") -> tuple[Callable[[str], Any], list[str]]:
    """Makes ``__getattr__`` and the names of a package from the imports in a file, as type checkers read it.

    They are all imports of a stub, or the imports of an ``__init__.py`` that are only for type
    checkers. No name may equal that of a module of the package, which would hide it. ``import *``
    leaves out names that need a later release of an installed package.
    """
    source = pkgutil.get_data(package, file)
    assert source is not None
    tree = ast.parse(source)
    block = next((node for node in tree.body if isinstance(node, ast.If)), tree)
    modules = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def attribute(name: str) -> Any:
        if name == "__all__":
            return [name for name in modules if _is_for_this_release(modules[name], package)]
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        try:
            module = import_module(modules[name], package)
        except ModuleNotFoundError as error:
            raise missing(error) from error
        return getattr(module, name)

    return attribute, [*modules]


def named(place: str) -> Any:
    """What ``module:name`` names. The core has tables of such texts, since it imports no extension."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _is_for_this_release(module: str, package: str) -> bool:
    try:
        import_module(module, package)
    except ModuleNotFoundError as error:
        return not is_too_old(error)
    return True
