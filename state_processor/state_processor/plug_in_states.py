"""The plug-ins that are installed, and which of them work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_extensions.change_files.change_table import plug_in_changes
from savepoint_extensions.connectors.plug_in_connectors import plug_in_connectors
from savepoint_extensions.connectors.sinks.connectors import CONNECTORS as SINKS
from savepoint_extensions.connectors.source_splits.split_connectors import CONNECTORS as SOURCES
from savepoint_formats.plug_ins import CHANGES, COMMANDS, CONNECTORS, SERIALIZERS, are_on, installed
from savepoint_formats.snapshots import plug_in_serializers

if TYPE_CHECKING:
    from savepoint_formats.plug_ins import Loaded, PlugIn

_WORKS, _OFF = "works", "off"


@dataclass(frozen=True, slots=True)
class PlugInState:
    """A plug-in as ``savepoint plugins`` shows it.

    Attributes:
        group: The group of its entry point, such as ``savepoint.serializers``.
        name: The name of its entry point.
        distribution: The package.
        version: The package's version.
        state: ``works``, ``off``, or why it, or a part of it, is not used.
    """

    group: str
    name: str
    distribution: str
    version: str
    state: str


def plug_in_states(commands: Loaded) -> list[PlugInState]:
    """All plug-ins that are installed, in the order of their groups.

    Args:
        commands: The commands of plug-ins, which the command line loads.
    """
    of_group = {
        SERIALIZERS: plug_in_serializers(),
        CONNECTORS: plug_in_connectors((*SOURCES, *SINKS)),
        COMMANDS: commands,
        CHANGES: plug_in_changes(),
    }
    return [
        PlugInState(
            group,
            plug_in.name,
            plug_in.distribution,
            plug_in.version,
            _state(plug_in, rows),
        )
        for group, rows in of_group.items()
        for plug_in in installed(group)
    ]


def _state(plug_in: PlugIn, rows: Loaded) -> str:
    if not are_on():
        return _OFF
    problem = rows.problem_of(plug_in)
    if not problem:
        return _WORKS
    is_partly_used = any(row.plug_in == plug_in for row in rows.rows.values())
    return f"{'in part' if is_partly_used else 'broken'}: {problem}"
