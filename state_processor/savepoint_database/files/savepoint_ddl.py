"""``CREATE TABLE`` for the connector ``savepoint`` of Flink 2.3, which reads keyed state.

The connector takes serializers from the savepoint. It shows POJOs as rows, and other objects
by their ``toString``; it needs the job's classes. It doesn't support reducing and
aggregating state, state with a time to live, changelogs, or RocksDB's own files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_database.types.sql_names import unused
from savepoint_formats import layout as layouts
from savepoint_formats.errors import StateTypeError
from savepoint_formats.layout import Layout, MapOf, Nullable, Pojo, Repeated
from savepoint_formats.metadata import KeyGroupsHandle
from savepoint_formats.printable import printable
from savepoint_formats.state_files import StateKind, key_layout, value_parts
from savepoint_formats.tables import KEYED_STATE
from savepoint_formats.values import arrow_type

if TYPE_CHECKING:
    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.state_files import State
    from savepoint_formats.tables import Table

_SQL_TYPES: dict[type[Layout], str] = {
    layouts.Boolean: "BOOLEAN",
    layouts.Byte: "TINYINT",
    layouts.Short: "SMALLINT",
    layouts.Int: "INTEGER",
    layouts.Long: "BIGINT",
    layouts.Float: "FLOAT",
    layouts.Double: "DOUBLE",
    layouts.Text: "STRING",
}
_SHOWN_AS_TEXT = (
    *(layouts.BigInteger, layouts.BigDecimal, layouts.Char, layouts.Enum, layouts.Kryo),
    *(layouts.Instant, layouts.LocalDate, layouts.LocalTime, layouts.LocalDateTime),
    *(layouts.SqlTimestamp, layouts.JavaDate),
)
_KINDS = {StateKind.VALUE: "value", StateKind.LIST: "list", StateKind.MAP: "map"}


def create_table(path: str, operator: Operator, table: Table) -> str:
    """The statement for a table of keyed state; ``StateTypeError`` if the connector can't read it."""
    if table.name != KEYED_STATE:
        message = f"table {table.name} is no keyed_state, and Flink's connector only reads that"
        raise StateTypeError(message)
    stored = key_layout(table.states[0])
    key = _SQL_TYPES.get(type(stored))
    if isinstance(stored, layouts.Framed):
        raise StateTypeError(
            "keys are SQL rows, which Flink's connector can't read: `savepoint export` writes the"
            " table with the names of the query's columns"
        )
    if key is None:
        raise StateTypeError(
            f"keys are {arrow_type(stored)}, expected a number or text, which the connector supports"
        )
    _check_handles(operator)
    key_name = unused("k", [state.name for state in table.states])
    columns = [f"  {_name(key_name)} {key}"]
    options: dict[str, str] = {}
    comments: list[str] = []
    for state in table.states:
        reason = _reason_against(state)
        if reason:
            comments.append(printable(f"-- {state.name} is left out: {reason}"))
            continue
        # The connector looks up the state's type by the name of the column.
        columns.append(f"  {_name(state.name)} {_column_type(state)}")
        options[f"fields.{state.name}.state-type"] = _KINDS[state.kind]
    named = {"operator.uid": operator.uid} if operator.uid else {"operator.uid.hash": operator.id}
    general = {
        "connector": "savepoint",
        "state.backend.type": "hashmap",
        "state.path": path,
        **{option: str(value) for option, value in named.items()},
    }
    listed = ",\n".join(
        f"  {_text(name)} = {_text(value)}" for name, value in (general | options).items()
    )
    columns.append(f"  PRIMARY KEY ({_name(key_name)}) NOT ENFORCED")
    lines = [*comments, "CREATE TABLE state_table (", ",\n".join(columns), ") WITH (", listed, ");"]
    return "\n".join(lines)


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _check_handles(operator: Operator) -> None:
    """Raises ``StateTypeError`` for files that the connector does not read."""
    handles = [subtask.managed_keyed_state for subtask in operator.record.subtasks]
    if any(handle is not None and not isinstance(handle, KeyGroupsHandle) for handle in handles):
        raise StateTypeError(
            "Flink's connector reads canonical savepoints and files of the heap, but no changelogs and"
            " no files of RocksDB's own: `savepoint convert` makes a canonical one"
        )


def _reason_against(state: State) -> str:
    """Why the connector cannot read a state; empty if it can."""
    if state.kind not in _KINDS:
        return f"the connector has no {state.kind.value} state"
    if state.has_ttl:
        return "its values have a time to live"
    parts = value_parts(state.kind, state.stored)
    unnamed = [str(arrow_type(part)) for part in parts if _sql_type(part) is None]
    return f"the connector has no type for {printable(unnamed[0])}" if unnamed else ""


def _column_type(state: State) -> str:
    types = ", ".join(_sql_type(part) or "" for part in value_parts(state.kind, state.stored))
    match state.kind:
        case StateKind.LIST:
            return f"ARRAY<{types}>"
        case StateKind.MAP:
            return f"MAP<{types}>"
        case _:
            return types


def _sql_type(layout: Layout) -> str | None:
    """Type of a column, an element or a user key; None if there is none."""
    match layout:
        case Nullable(inner):
            return _sql_type(inner)
        case Pojo():
            types = [_field_type(field) for field in layout.fields]
            fields = zip(layout.names, types, strict=True)
            named = ", ".join(f"{_name(name)} {type_}" for name, type_ in fields)
            return None if None in types else f"ROW<{named}>"
        case _ if isinstance(layout, _SHOWN_AS_TEXT):
            return "STRING"
        case _:
            return _SQL_TYPES.get(type(layout))


def _field_type(layout: Layout) -> str | None:
    match layout:
        case Nullable(inner):
            return _field_type(inner)
        case Repeated(element):
            type_ = _field_type(element)
            return type_ and f"ARRAY<{type_}>"
        case MapOf(key, value):
            types = _field_type(key), _field_type(value)
            return None if None in types else f"MAP<{types[0]}, {types[1]}>"
        case _:
            return _sql_type(layout)
