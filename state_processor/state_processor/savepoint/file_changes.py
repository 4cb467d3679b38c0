"""Changes of a savepoint that stand in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_processor.savepoint.source_changes import SourceChanges

if TYPE_CHECKING:
    from savepoint_extensions.change_files.change_file import Changes
    from state_processor.savepoint.writer import SavepointWriter


class FileChanges(SourceChanges):
    """Changes that are listed, reviewed and used again; see ``SavepointChanges``."""

    __slots__ = ()

    def apply(self, changes: Changes) -> SavepointWriter:
        """Makes all changes of a file, in their order.

        An entry has the name of a command and its words: ``rename-state: {operator: summarize, old:
        total, new: sum}``. ``savepoint apply --schema`` prints all of them as JSON Schema, and each
        command prints its entry with ``--print-change``. Paths in a file are relative to its folder.

        Args:
            changes: The file, in YAML or JSON; or a list of dicts, each with one entry.

        Raises:
            DescriptionError: The file has mistakes; the message has all of them, with lines and
                columns.
            SavepointError, ValueError: As the verb of an entry; the message ends with the place of
                the entry.

        Example:
            >>> savepoint.apply("changes.yaml").write("s3://jobs/changed")
        """
        from savepoint_extensions.change_files.applied_changes import applied  # noqa: PLC0415  # loads no extension before it is used

        return applied(self.writer(), changes)
