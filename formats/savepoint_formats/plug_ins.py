"""Plug-ins: entry points of other packages, which add rows to tables of this one.

| group                   | an entry is                                          | asked when               |
|-------------------------|------------------------------------------------------|--------------------------|
| savepoint.serializers   | a mapping: snapshot class -> ``SnapshotKind``        | a class is not known     |
| savepoint.connectors    | rows ``SourceConnector`` and ``SinkConnector``       | no own row reads a state |
| savepoint.commands      | rows ``PlugInCommand``                               | a command is not known   |
| savepoint.changes       | rows ``ChangeKind``                                  | changes are in a file    |

Only what is installed beside this package is a plug-in: nothing in a savepoint names code, and a package
that lies in the current directory is none. An entry that fails is left out with one warning, and takes
nothing else along.

``SAVEPOINT_PLUGINS=off`` in the environment, which tasks of Spark inherit, switches all plug-ins off.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from savepoint_formats.savepoint_warnings import PlugInWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.metadata import EntryPoint

    RowsOf = Callable[["PlugIn", Any], Iterator[tuple[str, Any]]]

SERIALIZERS = "savepoint.serializers"
CONNECTORS = "savepoint.connectors"
COMMANDS = "savepoint.commands"
CHANGES = "savepoint.changes"
GROUPS = (SERIALIZERS, CONNECTORS, COMMANDS, CHANGES)

SWITCH = "SAVEPOINT_PLUGINS"
OFF = "off"


@dataclass(frozen=True, slots=True)
class PlugIn:
    """An entry point of a package: what it adds, and the package's name and version."""

    group: str
    name: str
    distribution: str
    version: str
    entry: EntryPoint

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True, slots=True)
class Row:
    """A row that a plug-in adds to a table."""

    plug_in: PlugIn
    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Loaded:
    """The rows of a group's plug-ins.

    Attributes:
        rows: Rows that are used, by their names.
        refused: Name -> why a row of this name is not used.
        problems: Why plug-ins are not used, or only in part.
    """

    rows: dict[str, Row]
    refused: dict[str, str]
    problems: tuple[tuple[PlugIn, str], ...]

    def lines(self) -> Iterator[str]:
        """Each problem as a line of a warning."""
        for plug_in, problem in dict.fromkeys(self.problems):
            yield (
                f"plug-in {plug_in}, {plug_in.name} of {plug_in.group}, is not used, or only in part:"
                f" {problem}"
            )

    def problem_of(self, plug_in: PlugIn) -> str:
        """Why a plug-in, or one of its rows, is not used; empty if all of it is."""
        return "; ".join(problem for other, problem in self.problems if other == plug_in)


def are_on() -> bool:
    """Whether plug-ins are used."""
    return os.environ.get(SWITCH, "").strip().lower() != OFF


def switch_off() -> None:
    """Switches plug-ins off in this process and its children."""
    os.environ[SWITCH] = OFF


@cache
def installed(group: str) -> tuple[PlugIn, ...]:
    """The plug-ins of a group, sorted by the names of their packages; also those that are off."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # most commands ask for no plug-in

    plug_ins = (
        PlugIn(
            group,
            entry.name,
            entry.dist.name if entry.dist else entry.value,
            entry.dist.version if entry.dist else "",
            entry,
        )
        for entry in entry_points(group=group)
        if not _is_of_current_directory(entry)
    )
    return tuple(sorted(plug_ins, key=lambda plug_in: (plug_in.distribution, plug_in.name)))


def _is_of_current_directory(entry: EntryPoint) -> bool:
    """Whether a package lies where the program stands, which may be the directory of a savepoint.

    It is installed there all the same if ``PYTHONPATH`` names that directory.
    """
    try:
        here = Path.cwd()
    except OSError:
        return False  # the directory was removed
    named = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    is_here = entry.dist is not None and Path(str(entry.dist.locate_file(""))).resolve() == here
    return is_here and here not in (Path(path).resolve() for path in named)


def loaded(
    group: str, rows_of: RowsOf, is_own: Callable[[str], bool], name: str | None = None
) -> Loaded:
    """Loads the plug-ins of a group; nothing if they are off.

    Args:
        group: The group.
        rows_of: Names and rows of a plug-in's entry; ``TypeError`` or ``ValueError`` says what is wrong with it.
        is_own: Whether this package has a row of a name, which no plug-in replaces.
        name: The name of the entries to load; all by default.
    """
    rows: list[Row] = []
    problems: list[tuple[PlugIn, str]] = []
    for plug_in in installed(group) if are_on() else ():
        if name not in (None, plug_in.name):
            continue
        value, problem = _load(plug_in, rows_of)
        rows += [Row(plug_in, name, row) for name, row in value]
        if problem:
            problems.append((plug_in, problem))
    return _without_doubles(rows, problems, is_own)


def _load(plug_in: PlugIn, rows_of: RowsOf) -> tuple[list[tuple[str, Any]], str]:
    """The rows of a plug-in, or why it has none."""
    try:
        return list(rows_of(plug_in, plug_in.entry.load())), ""
    except (Exception, SystemExit) as error:  # a plug-in may do anything
        return [], " ".join(f"{type(error).__name__}: {error}".split())


def _without_doubles(
    rows: list[Row], problems: list[tuple[PlugIn, str]], is_own: Callable[[str], bool]
) -> Loaded:
    """Refuses all rows that share a name, because no order among plug-ins decides."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    used: dict[str, Row] = {}
    refused: dict[str, str] = {}
    for name, same in by_name.items():
        owners = [str(row.plug_in) for row in same]
        if is_own(name):
            owners.insert(0, "savepoint-state-processor itself")
        if len(owners) == 1:
            used[name] = same[0]
            continue
        refused[name] = f"{name} is registered by {' and by '.join(owners)}"
        problems += [(row.plug_in, refused[name]) for row in same]
    return Loaded(used, refused, tuple(problems))


def failure(owner: str, error: Exception) -> str:
    """Why something is not read: the code of a plug-in, named with its version, has failed."""
    return f"plug-in {owner} failed: {type(error).__name__}: {error}"


def warn_of(problems: Loaded) -> None:
    """Warns of each problem in one line."""
    for line in problems.lines():
        warnings.warn(line, PlugInWarning, stacklevel=2)
