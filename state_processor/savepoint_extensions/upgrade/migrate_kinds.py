"""The migration to Flink 2.x as an entry of a file: a row of the table of changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from savepoint_extensions.upgrade.flink_releases import RELEASES
from savepoint_extensions.upgrade.from_scala import ScalaTarget
from state_processor.plugins import ChangeKind, FileWord, FlagWord, PairsWord, TextsWord, TextWord

if TYPE_CHECKING:
    from state_processor import SavepointWriter
    from state_processor.plugins import Words


def _migrate(writer: SavepointWriter, words: Words) -> SavepointWriter:
    for skipped in words["skip-state"]:
        operator, _, state = skipped.rpartition("/")
        writer = writer.remove_state(operator, state)
    target: Any = words["target"] or "2.2"
    return writer.migrate(
        target,
        rename_classes=words["rename-class"],
        scala=words["scala"],
        sources=words["sources"] or "new",
        without_topics=words["without-topic"],
        allow_empty=words["allow-empty"],
        to_pojo=words["to-pojo"],
        collections=words["collections"],
    )


def _mistake(words: Words) -> str:
    others = ("target", "scala", "sources", "without-topic", "allow-empty")
    if (words["to-pojo"] or words["collections"]) and any(words[name] for name in others):
        return (
            "'to-pojo' and 'collections' stay within the release: leave 'target' and its like out"
        )
    wrong = [skipped for skipped in words["skip-state"] if "/" not in skipped]
    return f"'skip-state' has {wrong[0]!r}, expected OPERATOR/STATE" if wrong else ""


def _change_avro(writer: SavepointWriter, words: Words) -> SavepointWriter:
    schema = Path(words["schema"]).read_text("utf-8")
    return writer.change_avro(words["operator"], words["state"], schema)


CHANGES = (
    ChangeKind(
        "change-avro",
        "Give values of Avro another schema, by Avro's schema resolution.",
        (
            TextWord("operator", "The operator: its uid, name, or hash.", is_required=True),
            TextWord("state", "The state.", is_required=True),
            FileWord("schema", "The file of the new schema (avsc).", is_required=True),
        ),
        _change_avro,
    ),
    ChangeKind(
        "migrate",
        "Rewrite state of Flink 1.x so that Flink 2.x restores it.",
        (
            TextWord("target", "The release that restores it; 2.2 by default.", choices=RELEASES),
            TextsWord("skip-state", "States to leave out, each as OPERATOR/STATE."),
            PairsWord("rename-class", "Classes with new names in the job of Flink 2.x."),
            TextWord("scala", "What Scala state becomes.", choices=get_args(ScalaTarget)),
            TextWord(
                "sources",
                "Whether old connectors of Kafka become new ones; new by default.",
                choices=("new", "keep"),
            ),
            TextsWord("without-topic", "Topics that the new job no longer reads."),
            FlagWord("allow-empty", "Whether a source of Kafka may have no position."),
            TextsWord(
                "to-pojo", "Within the release: described classes of Kryo to write as POJOs."
            ),
            FlagWord(
                "collections", "Within the release: write collections of Kryo as Flink's own."
            ),
        ),
        _migrate,
        _mistake,
    ),
)
"""The row of the migration to Flink 2.x."""
