"""The table of changes: kinds of this package, of its extensions, and of plug-ins."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from savepoint_extensions.change_files.change_kinds import ChangeKind
from savepoint_formats.plug_ins import CHANGES, Loaded, are_on, loaded, warn_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_formats.plug_ins import PlugIn

_OWN = (
    "savepoint_extensions.change_files.state_kinds",
    "savepoint_extensions.change_files.value_kinds",
    "savepoint_extensions.connectors.connector_changes",
    "savepoint_extensions.lifecycle.lifecycle_kinds",
    "savepoint_extensions.privacy.privacy_kinds",
    "savepoint_extensions.sql_jobs.sql_kinds",
    "savepoint_extensions.upgrade.migrate_kinds",
)
"""The modules with rows; each extension has its own."""


@cache
def own_kinds() -> Mapping[str, ChangeKind]:
    """The kinds of changes of this package, by their names."""
    rows = (row for module in _OWN for row in import_module(module).CHANGES)
    return {row.name: row for row in rows}


def all_kinds() -> dict[str, ChangeKind]:
    """All kinds of changes by their names; those of plug-ins come last."""
    plug_ins = plug_in_changes()
    warn_of(plug_ins)
    return {**own_kinds(), **{name: row.value for name, row in plug_ins.rows.items()}}


def plug_in_changes() -> Loaded:
    """The kinds of changes that plug-ins add."""
    return _loaded(are_on())


@cache
def _loaded(_are_on: bool) -> Loaded:
    return loaded(CHANGES, _rows_of, lambda name: name in own_kinds())


def _rows_of(_plug_in: PlugIn, entry: Any) -> Iterator[tuple[str, Any]]:
    for row in entry if isinstance(entry, list | tuple) else [entry]:
        if not isinstance(row, ChangeKind):
            raise TypeError(f"{type(row).__name__}, expected a ChangeKind, or a list of them")
        yield row.name, row
