"""The migration to Flink 2.x as an entry of a file: a row of the table of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from savepoint_extensions.upgrade.migrated_writer import RELEASES
from savepoint_formats.snapshots.from_scala import ScalaTarget
from state_processor.plugins import ChangeKind, PairsWord, TextsWord, TextWord

if TYPE_CHECKING:
    from state_processor import SavepointWriter
    from state_processor.plugins import Words


def _migrate(writer: SavepointWriter, words: Words) -> SavepointWriter:
    for skipped in words["skip-state"]:
        operator, _, state = skipped.rpartition("/")
        writer = writer.remove_state(operator, state)
    target: Any = words["target"] or "2.2"
    return writer.migrate(target, rename_classes=words["rename-class"], scala=words["scala"])


def _mistake(words: Words) -> str:
    wrong = [skipped for skipped in words["skip-state"] if "/" not in skipped]
    return f"'skip-state' has {wrong[0]!r}, expected OPERATOR/STATE" if wrong else ""


CHANGES = (
    ChangeKind(
        "migrate",
        "Rewrite state of Flink 1.x so that Flink 2.x restores it.",
        (
            TextWord("target", "The release that restores it; 2.2 by default.", choices=RELEASES),
            TextsWord("skip-state", "States to leave out, each as OPERATOR/STATE."),
            PairsWord("rename-class", "Classes with new names in the job of Flink 2.x."),
            TextWord("scala", "What Scala state becomes.", choices=get_args(ScalaTarget)),
        ),
        _migrate,
        _mistake,
    ),
)
"""The row of the migration to Flink 2.x."""
