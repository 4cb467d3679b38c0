"""Changes of sources and sinks as entries of a file: rows of the table of changes.

They change records of the savepoint itself, before anything else that was changed of an operator.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import state_processor
from savepoint_formats.errors import SchemaChangeError
from state_processor.plugins import (
    ChangeKind,
    FileWord,
    FlagWord,
    NumberWord,
    PairsWord,
    Rows,
    TextsWord,
    TextWord,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from state_processor import PlannedOperator, Savepoint, SavepointWriter
    from state_processor.plugins import Words


def offset_rows(file: Path) -> list[dict[str, Any]]:
    """The rows of a CSV file of offsets; ``ValueError`` if it is none."""
    try:
        lines = io.StringIO(file.read_bytes().decode("utf-8-sig"), newline="")
        return list(csv.DictReader(lines))
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 at byte {error.start}") from error
    except csv.Error as error:
        raise ValueError(f"{file} can't be read as CSV: {error}") from error


def _set_offsets(writer: SavepointWriter, words: Words) -> SavepointWriter:
    offsets = words["set-offsets"]
    if isinstance(offsets, Rows):
        rows = [
            {name: value for name, value in row.items() if value is not None}
            for row in offsets.values
        ]
    else:
        rows = offset_rows(Path(offsets))
    source, operator = _source(writer), _source_name(writer, words["operator"])
    return _of_source(writer, source.set_kafka_offsets(rows, operator=operator).source)


def _change_sinks(writer: SavepointWriter, words: Words) -> SavepointWriter:
    changed = _source(writer).change_sinks(
        drop=words["drop"],
        keep=words["keep"],
        checkpoint=words["renumber"],
        transactional_prefix=words["transactional-prefix"],
    )
    return _of_source(writer, changed.source)


def _change_sources(writer: SavepointWriter, words: Words) -> SavepointWriter:
    if words["to-new"] is not None:
        return writer.renew_connectors(
            words["to-new"],
            without_topics=words["without-topic"],
            allow_empty=words["allow-empty"],
            stream_arns=words["stream-arn"],
            directory=words["directory"] or "",
            positions=words["set"],
        )
    version, name = (
        version_and_operator(words["as-version"]) if words["as-version"] else (None, None)
    )
    changed = _source(writer).change_sources(
        words["set"],
        drop_tables=words["drop-table"],
        add_tables=words["add-table"],
        release_finished=words["release-finished"],
        stream_from=words["stream-from"],
        as_version=version,
        drop_topics=words["drop-topic"],
        drop_partitions=words["drop-partition"],
        drop_files=words["drop-file"],
        reset=[_source_name(writer, source) or source for source in words["reset"]],
        operator=_source_name(writer, name or words["operator"]),
    )
    return _of_source(writer, changed.source)


def version_and_operator(texts: Sequence[str]) -> tuple[int, str]:
    """The version and the operator; ``ValueError`` if they are not two, or the first is no number."""
    if len(texts) != 2 or not texts[0].isdecimal():
        raise ValueError(f"as-version is {', '.join(texts)}, expected a number and an operator")
    return int(texts[0]), texts[1]


def _transplant(writer: SavepointWriter, words: Words) -> SavepointWriter:
    return transplanted(writer, words["other"], words["operator"], words["new-uid"])


def transplanted(
    writer: SavepointWriter, other: str, operator: str, to: str | None
) -> SavepointWriter:
    """The writer with an operator of another savepoint; see ``SavepointWriter.with_operator``."""
    uids = [] if _HASH.fullmatch(operator) else [operator]
    source = state_processor.Savepoint.open(other, uids=uids).operator(operator)
    return writer.with_operator(to or source.name, source)


def _source(writer: SavepointWriter) -> Savepoint:
    if writer.source is None:
        raise ValueError("a savepoint that is based on no other has no sources and sinks to change")
    return writer.source


def _source_name(writer: SavepointWriter, name: str | None) -> str | None:
    """The operator's name in the savepoint, whatever it is called in the new one."""
    source = None if name is None else writer.operator(name).source
    return name if source is None else source.name


def _of_source(writer: SavepointWriter, source: Savepoint | None) -> SavepointWriter:
    """The writer with other records in its savepoint."""
    assert source is not None  # a changed savepoint
    changed = {operator.id: operator for operator in source.operators()}

    def based(planned: PlannedOperator) -> PlannedOperator:
        known = None if planned.source is None else changed.get(planned.source.id)
        # An operator that an earlier change added is not in the savepoint.
        if known is None or planned.source is None or known.record == planned.source.record:
            return planned
        if not planned.is_copied:
            raise SchemaChangeError(
                f"state of operator {planned.name} was changed before its positions or commits: put"
                " this change before the others"
            )
        return replace(planned, source=known)

    return replace(writer, source=source, operators=tuple(map(based, writer.operators)))


def _mistake_of_offsets(words: Words) -> str:
    return "" if words["set-offsets"] else "kafka needs 'set-offsets'"


def _mistake_of_sinks(words: Words) -> str:
    if words["drop"] is not None and words["keep"] is not None:
        return "'drop' and 'keep' exclude each other"
    is_empty = all(value is None for value in words.values())
    return "sinks needs 'drop', 'keep', 'renumber' or 'transactional-prefix'" if is_empty else ""


def _mistake_of_sources(words: Words) -> str:
    changes = (
        *("set", "drop-table", "add-table", "release-finished", "stream-from", "as-version"),
        *("drop-topic", "drop-partition", "drop-file", "reset"),
    )
    has_change = any(words[name] for name in changes)
    names_one = words["as-version"] or words["to-new"]
    if names_one and words["operator"] is not None:
        return "'as-version' and 'to-new' name their operator themselves"
    if words["to-new"] is not None:
        others = any(words[name] for name in changes[1:])
        return "'to-new' goes with 'set' alone: add an entry" if others else ""
    of_renewal = ("without-topic", "allow-empty", "stream-arn", "directory")
    if any(words[name] for name in of_renewal):
        return f"{', '.join(map(repr, of_renewal))} need 'to-new'"
    return "" if has_change else f"sources needs {', '.join(map(repr, changes))} or 'to-new'"


_HASH = re.compile("[0-9a-f]{32}")
_ONE_SOURCE = TextWord("operator", "The only source to change; all that fit by default.")
_OFFSETS = (
    TextWord("topic", "The topic.", is_required=True),
    NumberWord("partition", "The number of the partition.", is_required=True),
    TextWord("offset", "The next record's, or earliest, latest, committed.", is_required=True),
    TextWord("stopping_offset", "The offset where the source ends, if it does."),
)

CHANGES = (
    ChangeKind(
        "kafka",
        "Let Kafka sources continue at other offsets.",
        (
            FileWord("set-offsets", "A CSV file, or a list, of offsets.", rows=_OFFSETS),
            _ONE_SOURCE,
        ),
        _set_offsets,
        _mistake_of_offsets,
    ),
    ChangeKind(
        "sinks",
        "Drop or renumber pending commits of sinks.",
        (
            TextWord("drop", "SQL: the entries to drop, or all."),
            TextWord("keep", "SQL: the entries to keep; others are dropped."),
            NumberWord("renumber", "The checkpoint id of the newest pending commit."),
            TextWord("transactional-prefix", "The prefix of Kafka writers' transactional ids."),
        ),
        _change_sinks,
        _mistake_of_sinks,
    ),
    ChangeKind(
        "sources",
        "Let sources continue at other positions, or with other tables.",
        (
            PairsWord("set", "Split to its position, which is JSON."),
            TextsWord("drop-table", "Tables that a source of change data capture forgets."),
            TextsWord("add-table", "Tables that it reads from now on, without a snapshot."),
            FlagWord("release-finished", "Remember one finished split per table."),
            TextWord("stream-from", "Leave the snapshot phase, and read from this position on."),
            TextsWord("as-version", "A version for the state of a coordinator, and its operator."),
            TextsWord("drop-topic", "Topics that a source forgets, with all partitions."),
            TextsWord("drop-partition", "Partitions that a source forgets, such as orders-3."),
            TextsWord("drop-file", "Paths that a source of files forgets."),
            TextsWord("reset", "Sources that forget everything, and start as in a new job."),
            TextWord(
                "to-new", "An operator of an old connector whose state becomes that of the new one."
            ),
            TextsWord(
                "without-topic", "With to-new: topics and streams that the job no longer reads."
            ),
            TextsWord("stream-arn", "With to-new: ARNs of streams of Kinesis."),
            TextWord("directory", "With to-new: the directory that a source of files watches."),
            FlagWord("allow-empty", "With to-new: a source may have no position."),
            _ONE_SOURCE,
        ),
        _change_sources,
        _mistake_of_sources,
    ),
    ChangeKind(
        "transplant",
        "Take an operator of another savepoint, with the state of its coordinator.",
        (
            TextWord("other", "The path of the other savepoint.", is_required=True),
            TextWord("operator", "The operator, by uid or hash.", is_required=True),
            TextWord("new-uid", "Its uid in the new savepoint; by default the one that it has."),
        ),
        _transplant,
    ),
)
"""The rows of changes of sources and sinks."""
