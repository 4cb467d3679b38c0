"""Plug-ins in folders, as ``pip install --target`` leaves them."""

from __future__ import annotations

import shutil
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from savepoint_cli import command_table
from savepoint_extensions.change_files import change_table
from savepoint_extensions.connectors import plug_in_connectors
from savepoint_formats import plug_ins
from savepoint_formats.snapshots import plug_in_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXAMPLE = Path(__file__).parent.parent / "plugin_package"
"""The package that ``docs/how-to/write-a-plugin.md`` shows."""

OWNER = "shop-savepoint 1.2"
MONEY = "shop.MoneySerializer$MoneySerializerSnapshot"
SKU = "shop.SkuSerializer$SkuSerializerSnapshot"
INTERVAL = "shop.IntervalSerializerSnapshot"


def example_in(folder: Path) -> Path:
    """The example package in a folder that can be put on ``sys.path``."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    shutil.copytree(
        EXAMPLE / "shop_savepoint",
        folder / "shop_savepoint",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    _describe(folder, project["name"], project["version"], project["entry-points"])
    return folder


def package_in(
    folder: Path, name: str, entries: Mapping[str, Mapping[str, str]], **modules: str
) -> Path:
    """A package of version 1.0 with entry points and the texts of modules."""
    folder.mkdir(exist_ok=True)
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    _describe(folder, name, "1.0", entries)
    return folder


def _describe(
    folder: Path, name: str, version: str, entries: Mapping[str, Mapping[str, str]]
) -> None:
    described = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    )
    lines = [
        line
        for group, rows in entries.items()
        for line in (f"[{group}]", *(f"{entry} = {place}" for entry, place in rows.items()))
    ]
    (described / "entry_points.txt").write_text("\n".join(lines))


@contextmanager
def on_path(*folders: Path) -> Iterator[None]:
    """The plug-ins of these folders, and no others that were looked for before."""
    modules = {path.stem for folder in folders for path in folder.iterdir()}
    sys.path[:0] = [str(folder) for folder in folders]
    _forget()
    try:
        yield
    finally:
        del sys.path[: len(folders)]
        for name in [name for name in sys.modules if name.partition(".")[0] in modules]:
            del sys.modules[name]
        _forget()


def _forget() -> None:
    plug_ins.installed.cache_clear()
    plug_in_kinds._loaded.cache_clear()
    command_table._loaded.cache_clear()
    change_table._loaded.cache_clear()
    plug_in_kinds._kinds.cache_clear()
    plug_in_connectors._loaded.cache_clear()
    plug_in_connectors._used.cache_clear()
