"""Changes of the life of state as entries of a file: rows of the table of changes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from savepoint_database.types import milliseconds, moment
from state_processor.plugins import ChangeKind, TextWord

if TYPE_CHECKING:
    from state_processor import SavepointWriter
    from state_processor.plugins import Words


def age(text: str) -> timedelta:
    """A duration with a unit, such as ``7d``; raises ``ValueError`` for another text, or one too long."""
    if text.strip().isdigit():
        # Without a unit, Flink's words would mean milliseconds, and young files or values would go.
        raise ValueError(f"{text!r} has no unit, expected such as 7d or 12h")
    try:
        return timedelta(milliseconds=milliseconds(text))
    except OverflowError as error:
        raise ValueError(f"{text!r} is longer than any time that has passed") from error


def _set_ttl(writer: SavepointWriter, words: Words) -> SavepointWriter:
    place = (words["operator"], words["state"])
    return writer.set_ttl(*place, on=words["ttl"] == "on", at=moment(words["at"]))


def _expire(writer: SavepointWriter, words: Words) -> SavepointWriter:
    older_than = age(words["older-than"])
    return writer.expire(
        words["operator"], words["state"], older_than=older_than, at=moment(words["at"])
    )


_OPERATOR = TextWord("operator", "The operator: its uid, name, or hash.", is_required=True)

CHANGES = (
    ChangeKind(
        "set-ttl",
        "Give an existing state a time to live, or take it away.",
        (
            _OPERATOR,
            TextWord("state", "The state.", is_required=True),
            TextWord(
                "ttl", "Whether the job has one for it.", is_required=True, choices=("on", "off")
            ),
            TextWord("at", "The last access of all values; the time of the change by default."),
        ),
        _set_ttl,
    ),
    ChangeKind(
        "expire",
        "Remove values past a time to live.",
        (
            _OPERATOR,
            TextWord("state", "A state with a time to live; all of the operator by default."),
            TextWord("older-than", "The time to live, such as 7d.", is_required=True),
            TextWord("at", "The time that counts as now; that of the change by default."),
        ),
        _expire,
    ),
    ChangeKind(
        "dedupe-list",
        "Leave each element of a list of an operator once.",
        (_OPERATOR, TextWord("state", "A list or union list of the operator.", is_required=True)),
        lambda writer, words: writer.dedupe_list(words["operator"], words["state"]),
    ),
)
"""The rows of changes of the life of state."""
