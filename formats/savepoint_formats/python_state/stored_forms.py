"""State of PyFlink as Flink stores it in process mode: bytes, in states with a prefix.

| in the job                    | in the savepoint                                                |
|-------------------------------|-----------------------------------------------------------------|
| value, reducing, aggregating  | a list of one byte array, the value by its coder                |
| list                          | a list of byte arrays, one or more elements in each             |
| map, broadcast                | a map of byte arrays                                            |
| key                           | a row of one field, whose serializer is Java's                  |

| window of a number of elements| values ``count``, ``tumble-count-assigner``, ``slide-count-assigner``: an i64 |
| aggregate function of a query | values ``accumulators``, ``window_state``: a pickle of a list   |
|                               | of accumulators; ``agg0$NAME``: a view of the first one         |

The key of a query's function is a row of SQL. A state without a given type may hold pickles: its
frames are read as pickles. In thread mode states have the job's names and Java's serializers; only
a type without a Java serializer is a pickle there.

PyFlink: ``state_impl.RemoteKeyedStateBackend``, ``CountTrigger``, ``aggregate_fast``; Flink: ``BeamStateRequestHandler``.
"""

from __future__ import annotations

from dataclasses import replace

from savepoint_formats.layout import (
    BinaryRow,
    Bytes,
    Framed,
    Layout,
    MapOf,
    MaskedStruct,
    Nullable,
    Packed,
    Pickle,
    Repeated,
    Struct,
    Ttl,
    nodes_of,
    rebuilt,
)

PREFIX = "python-state-"

KEY = "key"
"""Stands for the keys of an operator among the names of its states that have a type."""

KEY_FIELD = "$key"
"""Name of the only field of a key, which readers see without the row around it."""

_UNTOLD = Pickle(is_open=True)


def is_python_state(name: str) -> bool:
    """Whether PyFlink registered the state of this name."""
    return name.startswith(PREFIX)


def job_name(name: str) -> str:
    """Name of a state in its job."""
    return name.removeprefix(PREFIX)


def own_type(name: str, key: Layout | None, namespace: Layout | None) -> str | None:
    """Text of the type of PyFlink's own states, in window operators and in operators of queries."""
    match name, key, namespace:
        case "tumble-count-assigner" | "slide-count-assigner", _, None:
            return "Types.LONG()"
        case "count", _, Struct(("id",)):
            return "Types.LONG()"
        case "fire-time", _, Struct(("start", "end")):
            return "Types.LONG()"
        case "accumulators" | "window_state", Framed(BinaryRow()), _:
            return "Types.PICKLED_BYTE_ARRAY()"
        case _:
            return None


def as_python_key(key: Layout, told: Layout | None = None) -> Layout:
    """A key of PyFlink: its row has one field, with a name that readers never see.

    ``told`` has the names of fields, which no savepoint has. Raises ``ValueError`` if it has other fields.
    """
    match key, told:
        case MaskedStruct((_,), (MaskedStruct() as row,), True), MaskedStruct(names, fields):
            if len(row.fields) != len(fields):
                raise ValueError(
                    f"they have {len(row.fields)} fields, and their type {len(fields)}"
                )
            return MaskedStruct((KEY_FIELD,), (replace(row, names=names),), has_kind=True)
        case MaskedStruct(("f0",), fields, True), _:
            return MaskedStruct((KEY_FIELD,), fields, has_kind=True)
        case _:
            return key


def python_key(key: Layout) -> Layout | None:
    """The key of the job; None if the key is none of PyFlink."""
    match key:
        case MaskedStruct((name,), (inner,), True) if name == KEY_FIELD:
            return inner
        case _:
            return None


def as_python_timer(timer: Layout, key: Layout) -> Layout:
    """A timer of PyFlink, which has a key of this layout in it."""
    match timer:
        case Struct((_, "key", _), (timestamp, _, namespace)):
            return replace(timer, fields=(timestamp, key, namespace))
        case _:
            return timer


def as_python_state(stored: Layout, told: Layout | None) -> Layout:
    """A state of bytes with the type that the user gave; without one, as pickles."""
    match stored, told:
        case Repeated(Ttl(Bytes())), Repeated(frame):
            return Repeated(Ttl(frame))
        case Repeated(Ttl(Bytes())), None:
            return Repeated(Ttl(Framed(Packed(_UNTOLD))))
        case Repeated(Bytes()), Repeated():
            return told
        case Repeated(Bytes()), None:
            return Repeated(Framed(Packed(_UNTOLD)))
        case MapOf(Bytes(), Nullable(Ttl(Bytes()))), MapOf(key, Nullable(value)):
            return MapOf(key, Nullable(Ttl(value)))
        case MapOf(Bytes(), Nullable(Bytes())), MapOf():
            return told
        case MapOf(Bytes(), Nullable(Ttl(Bytes()))), None:
            return MapOf(Framed(_UNTOLD), Nullable(Ttl(Framed(_UNTOLD))))
        case MapOf(Bytes(), Nullable(Bytes())), None:
            return MapOf(Framed(_UNTOLD), Nullable(Framed(_UNTOLD)))
        case _:
            return stored


def as_thread_state(stored: Layout, told: Layout) -> Layout:
    """A state of thread mode: its byte arrays are pickles, unless the job has byte arrays."""
    if any(nodes_of(told, Bytes)):
        return stored
    return rebuilt(stored, lambda part: Pickle() if part == Bytes() else part)


def as_python_entry(
    key: Layout | None, value: Layout, told: Layout | None
) -> tuple[Layout, Layout]:
    """Key and value of broadcast state."""
    match as_python_state(MapOf(Bytes(), Nullable(Bytes())), told):
        case MapOf(python_key, Nullable(python_value)) if key == value == Bytes():
            return python_key, python_value
        case _:
            return key or value, value
