"""All warnings: a call goes on, but does less than it was asked for."""

from __future__ import annotations

from savepoint_formats.printable import without_secrets


class SavepointWarning(UserWarning):
    """The root of warnings: a call goes on, but does less than it was asked for."""

    def __str__(self) -> str:
        return without_secrets(super().__str__())


class UnreadTableWarning(SavepointWarning):
    """A table is skipped because its files are missing or damaged."""


class UnreadStateWarning(SavepointWarning):
    """A state is left out of an answer because its version, name or type is not known."""


class UnknownUidWarning(SavepointWarning):
    """No operator of the savepoint has a given uid."""


class HiddenCommitWarning(SavepointWarning):
    """Commits have the id of a checkpoint that the restored job has yet to complete."""


class ConnectorWarning(SavepointWarning):
    """A connector's state is older than it seems, or something of it must be ended by hand."""


class LostStateWarning(SavepointWarning):
    """An operator of a savepoint is made anew, and loses states that nobody gives."""


class NoMachineCodeWarning(SavepointWarning):
    """Rows are read and written by plain Python because no library of kernels fits this machine."""


class PlugInWarning(SavepointWarning):
    """A plug-in, or a row of one, is not used because it is broken or its name is taken."""


class NewestSnapshotWarning(SavepointWarning):
    """The path is a directory of snapshots; the newest complete one is read."""
