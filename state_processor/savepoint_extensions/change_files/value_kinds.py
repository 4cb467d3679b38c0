"""Changes of the values of a state as entries of a file: fields, and expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_database.snapshot import FORM_NAMES
from savepoint_extensions.change_files.change_kinds import ChangeKind
from savepoint_extensions.change_files.change_words import TextWord
from savepoint_extensions.change_files.state_kinds import OPERATOR, STATE, SUBCLASSES

if TYPE_CHECKING:
    from savepoint_extensions.change_files.change_words import ChangeWord, Words
    from state_processor import SavepointWriter

_NANOSECONDS = TextWord(
    "nanoseconds",
    "How expressions see times with nanoseconds; refuse by default.",
    choices=("refuse", "struct", "text"),
)


def _of_values(*words: ChangeWord) -> tuple[ChangeWord, ...]:
    return (OPERATOR, STATE, *words, _NANOSECONDS, SUBCLASSES)


def _in_forms(writer: SavepointWriter, words: Words) -> SavepointWriter:
    """The writer that sees values in the forms that an entry names."""
    forms: dict[str, Any] = {name: words[name.replace("_", "-")] for name in FORM_NAMES}
    return writer.with_forms(**{name: form or "refuse" for name, form in forms.items()})


def _rename_field(writer: SavepointWriter, words: Words) -> SavepointWriter:
    place = (words["operator"], words["state"])
    return _in_forms(writer, words).rename_field(*place, words["old"], words["new"])


def _add_field(writer: SavepointWriter, words: Words) -> SavepointWriter:
    value = None
    if words["value"] is not None:
        from pyspark.sql import functions  # noqa: PLC0415  # Spark is slow to import

        value = functions.expr(words["value"])
    field = (words["operator"], words["state"], words["field"], words["type"])
    return _in_forms(writer, words).add_field(*field, value, before=words["before"])


def _drop_field(writer: SavepointWriter, words: Words) -> SavepointWriter:
    field = (words["operator"], words["state"], words["field"])
    return _in_forms(writer, words).drop_field(*field)


def _widen_field(writer: SavepointWriter, words: Words) -> SavepointWriter:
    field = (words["operator"], words["state"], words["field"], words["type"])
    return _in_forms(writer, words).widen_field(*field)


def _update_state(writer: SavepointWriter, words: Words) -> SavepointWriter:
    return _in_forms(writer, words).update_state(
        words["operator"],
        words["state"],
        words["set"],
        where=words["where"],
        last_access=words["last-access"],
    )


def _has_value(words: Words) -> bool:
    return words["value"] is not None


def _always(_words: Words) -> bool:
    return True


_FIELD = TextWord("field", "The field, after the fields around it: address.zip.", is_required=True)

CHANGES = (
    ChangeKind(
        "rename-field",
        "Rename a field of a state's values.",
        _of_values(
            TextWord("old", "The field, after the fields around it.", is_required=True),
            TextWord("new", "The new name, without a path.", is_required=True),
        ),
        _rename_field,
    ),
    ChangeKind(
        "add-field",
        "Add a field to a state's values.",
        _of_values(
            _FIELD,
            TextWord("type", "The type, such as LONG; BIGINT in a row of SQL.", is_required=True),
            TextWord("value", "SQL: the field's value; null by default."),
            TextWord("before", "The column of a query that a new column comes before."),
        ),
        _add_field,
        needs_session=_has_value,
    ),
    ChangeKind(
        "drop-field", "Remove a field from a state's values.", _of_values(_FIELD), _drop_field
    ),
    ChangeKind(
        "widen-field",
        "Widen the type of a field of a state's values.",
        _of_values(_FIELD, TextWord("type", "The wider type, such as LONG.", is_required=True)),
        _widen_field,
    ),
    ChangeKind(
        "update-state",
        "Update the values of a state, by SQL.",
        _of_values(
            TextWord("set", "SQL: the new value; null removes the entry.", is_required=True),
            TextWord("where", "SQL: the rows to change; all by default."),
            TextWord("last-access", "SQL: the last access of new values with a time to live."),
        ),
        _update_state,
        needs_session=_always,
    ),
)
"""The rows of changes of values."""
