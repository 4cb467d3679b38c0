"""Local keyed state in headers: each state holds a list of its instances, so merging appends.

| state             | stored as                              | instances of one key merge by       |
|-------------------|----------------------------------------|-------------------------------------|
| value, reducing,  | list state of ``T``                    | appending                           |
| aggregating       |                                        |                                     |
| list of ``T``     | list state of ``List<T>``              | appending                           |
| map of ``K, V``   | map state of ``K, List<V>``            | appending the lists of a user key   |
| timers            | timers                                 | being a set                         |

Two options of its meta info make a state local: ``KEY_SCOPE`` is ``LOCAL``, and
``LOCAL_STATE_TYPE`` is its type in the job. Flink ignores both, but doesn't restore the state as
one of the job's own, because the stored type differs.

Ordinary keyed state has each key group once, in the subtask that owns it. Local keyed state belongs
to rows that were keyed without a shuffle: each subtask has its own instance of every key group.
These instances are counted over the subtasks: all of subtask 0, then all of subtask 1...

For 3 subtasks of 12 key groups that become 2::

    counted    0         12         24        36
    before     |  task 0  |  task 1  |  task 2  |
                0 ..... 11 0 . 5 6 . 11 0 .... 11      key groups of each
    after      |     task 0    |     task 1     |

All ``n`` instances are assigned in order and evenly, by Flink's formula for key groups: number
``i`` goes to the new subtask ``i * parallelism // n``. 36 over 5 become 8, 7, 7, 7 and 7. In the
picture, the new subtask 1 has two instances of the key groups 6 to 11, which are merged.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from savepoint_formats.snapshots import TypeSerializerSnapshot, constructed
from savepoint_formats.state_files.header import (
    KEY_SCOPE,
    KEYED_STATE_TYPE,
    LOCAL_STATE_TYPE,
    VALUE_SERIALIZER,
    BackendStateType,
    KeyedStateType,
    StateMetaInfo,
)


class KeyScope(StrEnum):
    """Whether a key has state in one subtask or in any."""

    KEYED = "keyed"
    LOCAL = "local"

    @property
    def is_local(self) -> bool:
        """Whether each subtask may have state of the same key."""
        return self is KeyScope.LOCAL


def scope_of(info: StateMetaInfo) -> KeyScope:
    """Scope of a state's keys."""
    is_local = info.option(KEY_SCOPE) == KeyScope.LOCAL.name
    return KeyScope.LOCAL if is_local else KeyScope.KEYED


def local_type(info: StateMetaInfo) -> str | None:
    """Type of a local state in the job; empty for timers, None if the state is not local."""
    return info.option(LOCAL_STATE_TYPE) if scope_of(info).is_local else None


def as_local(info: StateMetaInfo) -> StateMetaInfo:
    """Turns a state of the job into a local one: a value into a list, for one."""
    marks = ((KEY_SCOPE, KeyScope.LOCAL.name),)
    if info.type is BackendStateType.PRIORITY_QUEUE:
        return replace(info, options=(*info.options, *marks))
    state_type, stored = info.option(KEYED_STATE_TYPE), _stored(info)
    if state_type == KeyedStateType.MAP:
        user_key, value = stored.nested
        kept, stored = state_type, constructed.map_of(user_key, constructed.list_of(value))
    else:
        kept, stored = KeyedStateType.LIST.value, constructed.list_of(stored)
    options = ((KEYED_STATE_TYPE, kept), *marks, (LOCAL_STATE_TYPE, state_type))
    return replace(info.with_serializer(VALUE_SERIALIZER, stored), options=options)


def as_keyed(info: StateMetaInfo) -> StateMetaInfo:
    """Turns a local state into the job's state with merged instances."""
    if info.type is BackendStateType.PRIORITY_QUEUE:
        return replace(
            info, options=tuple(option for option in info.options if option[0] != KEY_SCOPE)
        )
    state_type, stored = info.option(LOCAL_STATE_TYPE), _stored(info)
    if state_type == KeyedStateType.MAP:
        user_key, values = stored.nested
        stored = constructed.map_of(user_key, values.nested[0])
    else:
        stored = stored.nested[0]
    options = ((KEYED_STATE_TYPE, state_type),)
    return replace(info.with_serializer(VALUE_SERIALIZER, stored), options=options)


def _stored(info: StateMetaInfo) -> TypeSerializerSnapshot:
    serializer = info.serializer(VALUE_SERIALIZER)
    assert serializer is not None  # every state has one
    return serializer
