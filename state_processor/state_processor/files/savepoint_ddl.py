"""``CREATE TABLE`` for Flink's connector ``savepoint``, which reads the keyed state of an operator.

The connector infers the classes of plain types from the SQL types of columns; of others it is told
the class, and shows what ``toString`` makes of it in a column ``STRING``. It has no words for
reducing and aggregating state, and reads no state with a time to live.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.errors import StateTypeError
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated
from savepoint_formats.metadata import IncrementalHandle
from savepoint_formats.state_files.state import StateKind, key_layout
from savepoint_formats.tables.catalog import base_handles
from savepoint_formats.tables.tables import KEYED_STATE
from state_processor.types.sql_names import unused

if TYPE_CHECKING:
    from savepoint_formats.state_files.state import State
    from savepoint_formats.tables.tables import Table
    from state_processor.snapshot.operator import Operator

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
_CLASSES: dict[type[Layout], str] = {
    layouts.BigInteger: "java.math.BigInteger",
    layouts.BigDecimal: "java.math.BigDecimal",
    layouts.Instant: "java.time.Instant",
    layouts.LocalDate: "java.time.LocalDate",
    layouts.LocalTime: "java.time.LocalTime",
    layouts.LocalDateTime: "java.time.LocalDateTime",
    layouts.SqlTimestamp: "java.sql.Timestamp",
    layouts.JavaDate: "java.util.Date",
    layouts.Char: "java.lang.Character",
}
_KINDS = {StateKind.VALUE: "value", StateKind.LIST: "list", StateKind.MAP: "map"}


def create_table(path: str, operator: Operator, table: Table) -> str:
    """The statement for a table of keyed state.

    Args:
        path: Where the savepoint is.
        operator: Its operator.
        table: The table.

    Raises:
        StateTypeError: It is another table, or a key that SQL has no type for.
    """
    if table.name != KEYED_STATE:
        message = (
            f"table {table.name} is no keyed_state, of which alone Flink's connector has tables"
        )
        raise StateTypeError(message)
    key = _SQL_TYPES.get(type(key_layout(table.states[0])))
    if key is None:
        layout = type(key_layout(table.states[0])).__name__
        raise StateTypeError(f"keys are {layout}, expected a number or text as the connector has")
    columns = [f"  `k` {key}"]
    options: dict[str, str] = {}
    comments: list[str] = []
    taken = ["k"]
    for state in table.states:
        reason = _reason_against(state)
        if reason:
            comments.append(f"-- {state.name} is left out: {reason}")
            continue
        name = unused(re.sub(r"\W", "_", state.name), taken)
        taken.append(name)
        columns.append(f"  `{name}` {_column_type(state)}")
        options |= _column_options(state, name)
    named = {"operator.uid": operator.uid} if operator.uid else {"operator.uid.hash": operator.id}
    general = {
        "connector": "savepoint",
        "state.backend.type": _backend(operator),
        "state.path": path,
        **{option: str(value) for option, value in named.items()},
    }
    listed = ",\n".join(
        f"  {_text(name)} = {_text(value)}" for name, value in (general | options).items()
    )
    columns.append("  PRIMARY KEY (`k`) NOT ENFORCED")
    lines = [*comments, "CREATE TABLE state_table (", ",\n".join(columns), ") WITH (", listed, ");"]
    return "\n".join(lines)


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _backend(operator: Operator) -> str:
    """The backend that reads the files; canonical ones any can."""
    handles = (
        handle
        for subtask in operator.record.subtasks
        for handle in base_handles(subtask.managed_keyed_state)
    )
    return "rocksdb" if any(isinstance(one, IncrementalHandle) for one in handles) else "hashmap"


def _reason_against(state: State) -> str:
    """Why the connector cannot read a state; empty if it can."""
    if state.kind not in _KINDS:
        return f"the connector has no {state.kind.value} state"
    if state.has_ttl:
        return "its values have a time to live"
    parts = _parts(state)
    unnamed = [part for part in parts if _sql_type(part) is None]
    return f"no class is known for {type(unnamed[0]).__name__}" if unnamed else ""


def _parts(state: State) -> tuple[Layout, ...]:
    """The layouts of a value, of an element, or of a user key and its value."""
    match state.kind, state.stored:
        case StateKind.LIST, Repeated(element):
            return (element,)
        case StateKind.MAP, MapOf(key, Nullable(value)) | MapOf(key, value):
            return key, value
        case _:
            return (state.stored,)


def _column_type(state: State) -> str:
    types = [_sql_type(part) or "STRING" for part in _parts(state)]
    match state.kind:
        case StateKind.LIST:
            return f"ARRAY<{types[0]}>"
        case StateKind.MAP:
            return f"MAP<{types[0]}, {types[1]}>"
        case _:
            return types[0]


def _sql_type(layout: Layout) -> str | None:
    """The SQL type of a layout; ``STRING`` of one whose class has to be told."""
    return _SQL_TYPES.get(type(layout)) or ("STRING" if _class_of(layout) else None)


def _class_of(layout: Layout) -> str:
    """The class of a layout whose SQL type does not tell it; empty if nothing does."""
    if isinstance(layout, layouts.Pojo | layouts.Enum | layouts.Kryo):
        return layout.class_name
    return _CLASSES.get(type(layout), "")


def _column_options(state: State, column: str) -> dict[str, str]:
    options = {"state-type": _KINDS[state.kind]}
    if column != state.name:
        options["state-name"] = state.name
    *keys, value = _parts(state)
    for option, layout in zip(("key-class", "value-class"), (*keys, None, value)[-2:], strict=True):
        name = _class_of(layout) if layout is not None else ""
        if name:
            options[option] = name
    return {f"fields.{column}.{option}": text for option, text in options.items()}
