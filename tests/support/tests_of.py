"""The test files of a product module, found by its name in the graph of imports.

They are the files that import it. Where no test does, they are the files that import what imports
it: another module, a package that exports its names, or a helper of ``tests/support``.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
PACKAGES = ("formats", "state_processor", "cli")


@cache
def product_modules() -> Mapping[str, Path]:
    """Dotted name -> file, of all modules; a package has the name of its folder."""
    modules = {}
    for package in PACKAGES:
        for path in [*(ROOT / package).rglob("*.py"), *(ROOT / package).rglob("*.pyi")]:
            parts = path.relative_to(ROOT / package).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


@cache
def _importers() -> Mapping[str, frozenset[str | Path]]:
    """Module -> names of the modules and test files that import it, types counted."""
    helpers = {f"support.{path.stem}": path for path in (ROOT / "tests" / "support").glob("*.py")}
    tests = [(path, path) for path in (ROOT / "tests").rglob("test_*.py")]
    nodes: list[tuple[str | Path, Path]] = [*product_modules().items(), *helpers.items(), *tests]
    importers: dict[str, set[str | Path]] = {}
    for node, path in nodes:
        for name in _imports(path):
            importers.setdefault(name, set()).add(node)
    return {name: frozenset(them) for name, them in importers.items()}


def _imports(path: Path) -> Iterator[str]:
    """Dotted names that a file may import: ``a.b`` and ``a.b.c`` of ``from a.b import c``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(str(module), names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Constant(str(text)) if text.partition(":")[0] in product_modules():
                # A process starts this module by its name, or a table names what is in it.
                yield text.partition(":")[0]


def files_of(module: str) -> frozenset[Path]:
    """The test files of a module.

    Args:
        module: Its dotted name, or the end of it: ``values.kryo.graph``, ``graph``.

    Raises:
        ValueError: No module has this name, or several have.
    """
    chosen = [name for name in product_modules() if f".{name}".endswith(f".{module}")]
    if len(chosen) != 1:
        raise ValueError(f"{module!r} names {len(chosen)} modules: {', '.join(chosen) or 'none'}")
    names, seen = set(chosen), set(chosen)
    while names:
        nodes = {node for name in names for node in _importers().get(name, ())}
        if tests := frozenset(node for node in nodes if isinstance(node, Path)):
            return tests
        names = {node for node in nodes if isinstance(node, str)} - seen
        seen |= names
    return frozenset()
