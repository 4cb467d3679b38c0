"""Turns state V2 into synchronous state.

Asynchronous operators keep state V2 in ForSt; other backends restore synchronous state.

| state V2 (``KEY_VALUE_V2``)   | synchronous state (``KEY_VALUE``)            |
|-------------------------------|----------------------------------------------|
| list: serializer of elements  | ``ListSerializer`` of it                     |
| map: serializers of user keys | ``MapSerializer`` of both                    |
| and of their values           |                                              |
| all others                    | as they are                                  |
| ``v2.ttl.TtlSerializer``      | ``ttl.TtlSerializer``                        |

Entries have the same bytes. Only ForSt restores state V2, and it restores no canonical file. On
other backends Flink keeps the state of asynchronous operators as synchronous state.

Flink: ``RegisteredKeyValueStateBackendMetaInfo`` of ``runtime.state.v2``,
``AsyncKeyedStateBackendAdaptor``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.errors import ConversionError
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files.header import (
    KEYED_STATE_TYPE,
    USER_KEY_SERIALIZER,
    VALUE_SERIALIZER,
    BackendStateType,
    KeyedStateType,
    StateMetaInfo,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_formats.snapshots import TypeSerializerSnapshot

_TTL = "org.apache.flink.runtime.state.v2.ttl.TtlStateFactory$TtlSerializerSnapshot"


def as_synchronous(info: StateMetaInfo) -> StateMetaInfo:
    """Meta info for a canonical file; state V2 stays if the header lacks a serializer."""
    stored = _stored(info) if info.type is BackendStateType.KEY_VALUE_V2 else None
    if stored is None:
        return info
    others = (
        (role, entry)
        for role, entry in info.serializers
        if role not in (VALUE_SERIALIZER, USER_KEY_SERIALIZER)
    )
    serializers = ((VALUE_SERIALIZER, stored), *others)
    return replace(info, type=BackendStateType.KEY_VALUE, serializers=serializers)


def expect_synchronous(infos: Iterable[StateMetaInfo]) -> None:
    """Raises ``ConversionError`` for state V2, which no backend restores from a canonical file."""
    for info in infos:
        if info.type is BackendStateType.KEY_VALUE_V2:
            role = USER_KEY_SERIALIZER if info.serializer(VALUE_SERIALIZER) else VALUE_SERIALIZER
            what = role.lower().replace("_", " ")
            raise ConversionError(
                f"state {info.name!r} is state V2 whose header has no {what}, which a canonical"
                " file needs. Restore the savepoint by Flink 2.2 or newer with ForSt and take"
                " another one, or remove the state"
            )


def _stored(info: StateMetaInfo) -> TypeSerializerSnapshot | None:
    """Serializer of the whole value; None if the header lacks it."""
    value = info.serializer(VALUE_SERIALIZER)
    if value is None:
        return None
    if value.class_name == _TTL:
        _, timed = value.nested
        value = constructed.ttl(timed)
    match info.option(KEYED_STATE_TYPE):
        case KeyedStateType.LIST:
            return constructed.list_of(value)
        case KeyedStateType.MAP:
            user_key = info.serializer(USER_KEY_SERIALIZER)
            return None if user_key is None else constructed.map_of(user_key, value)
        case _:
            return value
