"""Descriptors of PyFlink for the states of a table, as Python to copy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from savepoint_database.types.sql_names import unused
from savepoint_formats import layout as layouts
from savepoint_formats.errors import StateTypeError
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated
from savepoint_formats.state_files.state import StateKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_formats.state_files.state import State
    from savepoint_formats.tables.tables import Table

_TYPES: dict[type[Layout], str] = {
    layouts.Boolean: "BOOLEAN",
    layouts.Byte: "BYTE",
    layouts.Short: "SHORT",
    layouts.Int: "INT",
    layouts.Long: "LONG",
    layouts.Float: "FLOAT",
    layouts.Double: "DOUBLE",
    layouts.Char: "CHAR",
    layouts.Text: "STRING",
    layouts.BigInteger: "BIG_INT",
    layouts.BigDecimal: "BIG_DEC",
    layouts.Instant: "INSTANT",
    layouts.SqlTimestamp: "SQL_TIMESTAMP",
}
_DESCRIPTORS = {
    StateKind.VALUE: "ValueStateDescriptor",
    StateKind.LIST: "ListStateDescriptor",
    StateKind.MAP: "MapStateDescriptor",
    StateKind.REDUCING: "ReducingStateDescriptor",
    StateKind.AGGREGATING: "AggregatingStateDescriptor",
}
_FUNCTIONS = {
    StateKind.REDUCING: "reduce_function, ",
    StateKind.AGGREGATING: "aggregate_function, ",
}


def pyflink_descriptors(table: Table) -> str:
    """Descriptors of a table's states, and the type of its keys.

    Raises:
        StateTypeError: The table is not of keyed state, or of timers, which have no descriptors.
    """
    kind = table.states[0].kind
    if not kind.is_keyed or kind is StateKind.TIMERS:
        raise StateTypeError(
            f"table {table.name} is no keyed state, and only keyed state has descriptors"
        )
    used = sorted(
        {_DESCRIPTORS[state.kind] for state in table.states if state.kind in _DESCRIPTORS}
    )
    lines = [
        "from pyflink.common import Types",
        f"from pyflink.datastream.state import {', '.join(used)}",
        "",
    ]
    key = table.states[0].key
    if key is not None:
        lines += [_assignment("key_type", _type(key), key)]
    taken = ["key_type"]
    for state in table.states:
        name = unused(re.sub(r"^(?=\d)", "_", re.sub(r"\W", "_", state.name)), taken)
        taken.append(name)
        lines += _descriptor(state, name)
    return "\n".join(lines)


def _descriptor(state: State, name: str) -> Iterable[str]:
    descriptor = _DESCRIPTORS.get(state.kind)
    if descriptor is None:
        yield f"# {state.name}: PyFlink has no {state.kind.value} state"
        return
    parts = _parts(state)
    types = [_type(part) for part in parts]
    for part, text in zip(parts, types, strict=True):
        if text is None:
            yield f"# {state.name}: PyFlink has no type for {_class_name(part)}"
            return
    arguments = _FUNCTIONS.get(state.kind, "") + ", ".join(map(str, types))
    if state.has_ttl:
        yield f"# {state.name} has a time to live: enable_time_to_live(ttl_config)"
    yield f"{name} = {descriptor}({state.name!r}, {arguments})"


def _assignment(name: str, text: str | None, layout: Layout) -> str:
    return (
        f"{name} = {text}" if text else f"# {name}: PyFlink has no type for {_class_name(layout)}"
    )


def _class_name(layout: Layout) -> str:
    return getattr(layout, "class_name", "") or type(layout).__name__


def _parts(state: State) -> tuple[Layout, ...]:
    match state.kind, state.value:
        case StateKind.LIST, Repeated(element):
            return (element,)
        case StateKind.MAP, MapOf(key, Nullable(value)) | MapOf(key, value):
            return key, value
        case _, value:
            return (value,)


def _type(layout: Layout) -> str | None:
    plain = _TYPES.get(type(layout))
    if plain:
        return f"Types.{plain}()"
    match layout:
        case Repeated(element):
            return _of("LIST", [_type(element)])
        case MapOf(key, value):
            return _of("MAP", [_type(key), _type(value)])
        case layouts.Struct(names, fields) if names == tuple(f"f{n}" for n in range(len(names))):
            return _listed("TUPLE", "", fields)
        case layouts.MaskedStruct(names, fields):
            return _listed("ROW_NAMED", f"{list(names)!r}, ", fields)
        case _:
            return None


def _of(name: str, types: list[str | None]) -> str | None:
    known = [text for text in types if text]
    return f"Types.{name}({', '.join(known)})" if len(known) == len(types) else None


def _listed(name: str, before: str, fields: tuple[Layout, ...]) -> str | None:
    types = [_type(field) for field in fields]
    known = [text for text in types if text]
    return f"Types.{name}({before}[{', '.join(known)}])" if len(known) == len(types) else None
