"""The migration of a SQL job as an entry of a file: a row of the table of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_processor.plugins import ChangeKind, FileWord, FlagWord, PairsWord, TextsWord

if TYPE_CHECKING:
    from state_processor import SavepointWriter
    from state_processor.plugins import Words


def _migrate(writer: SavepointWriter, words: Words) -> SavepointWriter:
    return writer.sql_migrate(
        words["new"],
        matches=words["matches"],
        allow_loss=words["allow-loss"],
        accept=words["accept"],
        renames=words["rename"],
    )


CHANGES = (
    ChangeKind(
        "sql-migrate",
        "Rewrite the state of a SQL job for a changed query; open the savepoint with the old plan.",
        (
            FileWord("new", "The compiled plan of the new query.", is_required=True),
            FileWord("matches", "A file of pairs of operator numbers, old to new."),
            PairsWord("rename", "New names of columns of tables, by their old names."),
            TextsWord("accept", "Aggregates that may begin empty, and new columns."),
            FlagWord("allow-loss", "Leave out state that the new query can't use."),
        ),
        _migrate,
        of_command=lambda parameters: {
            name: value
            for name, value in parameters.items()
            # PATH and --plan of savepoint apply.
            if name not in ("old", "savepoint")
        },
    ),
)
"""The row of the migration of a SQL job."""
