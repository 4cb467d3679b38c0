"""Descriptors: a name to read with, and types to write with."""

from __future__ import annotations

import pickle

import pytest

from savepoint_database.types.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from savepoint_database.types.types import Types
from savepoint_formats.snapshots import TypeSerializerSnapshot, constructed
from savepoint_formats.state_files.state import StateKind

LONG, STRING = constructed.long(), constructed.string()
TTL = constructed.ttl(LONG)

STATES: list[tuple[StateDescriptor, StateKind, TypeSerializerSnapshot, TypeSerializerSnapshot]] = [
    (ValueStateDescriptor("v", Types.LONG()), StateKind.VALUE, LONG, TTL),
    (
        ListStateDescriptor("l", Types.LONG()),
        StateKind.LIST,
        constructed.list_of(LONG),
        constructed.list_of(TTL),
    ),
    (
        MapStateDescriptor("m", Types.STRING(), Types.LONG()),
        StateKind.MAP,
        constructed.map_of(STRING, LONG),
        constructed.map_of(STRING, TTL),
    ),
    (ReducingStateDescriptor("r", Types.LONG()), StateKind.REDUCING, LONG, TTL),
    (AggregatingStateDescriptor("a", Types.LONG()), StateKind.AGGREGATING, LONG, TTL),
]
EVERY_STATE = pytest.mark.parametrize(
    ("descriptor", "kind", "stored", "with_ttl"), STATES, ids=[one[0].name for one in STATES]
)
UNTYPED = [
    ValueStateDescriptor("total"),
    ListStateDescriptor("total"),
    MapStateDescriptor("total"),
    MapStateDescriptor("total", Types.LONG()),
    ReducingStateDescriptor("total"),
    AggregatingStateDescriptor("total"),
]


@EVERY_STATE
def test_a_descriptor_says_what_flink_stores(
    descriptor: StateDescriptor,
    kind: StateKind,
    stored: TypeSerializerSnapshot,
    with_ttl: TypeSerializerSnapshot,
) -> None:
    assert descriptor.kind is kind
    assert descriptor.stored == stored


@EVERY_STATE
def test_a_time_to_live_lies_around_each_value(
    descriptor: StateDescriptor,
    kind: StateKind,
    stored: TypeSerializerSnapshot,
    with_ttl: TypeSerializerSnapshot,
) -> None:
    assert descriptor.with_ttl().stored == with_ttl
    assert descriptor.with_ttl().name == descriptor.name
    assert type(descriptor.with_ttl()) is type(descriptor)


@EVERY_STATE
def test_a_descriptor_goes_to_an_executor(
    descriptor: StateDescriptor,
    kind: StateKind,
    stored: TypeSerializerSnapshot,
    with_ttl: TypeSerializerSnapshot,
) -> None:
    assert pickle.loads(pickle.dumps(descriptor)) == descriptor


def test_elements_and_entries_are_what_operator_state_stores() -> None:
    assert ListStateDescriptor("l", Types.LONG()).element == LONG
    broadcast = MapStateDescriptor("m", Types.STRING(), Types.LONG())
    assert (broadcast.user_key, broadcast.user_value) == (STRING, LONG)


@pytest.mark.parametrize("descriptor", UNTYPED, ids=repr)
def test_writing_needs_a_type(descriptor: StateDescriptor) -> None:
    with pytest.raises(ValueError, match=r"state 'total' has no \w+_type, which writing needs"):
        _ = descriptor.stored
