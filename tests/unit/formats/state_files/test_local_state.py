"""Headers of local state: the marks, what is stored, and back."""

from __future__ import annotations

import pytest

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.layout import Layout, Long, MapOf, Nullable, Repeated, Text
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot, constructed
from savepoint_formats.state_files.header import KeyedBackendHeader, KeyedStateType, StateMetaInfo
from savepoint_formats.state_files.local_state import KeyScope, as_keyed, as_local, scope_of
from savepoint_formats.state_files.state import StateKind, keyed_state

LONGS = constructed.list_of(constructed.long())
BY_TEXT = constructed.map_of(constructed.string(), constructed.long())


def info(kind: KeyedStateType, value: TypeSerializerSnapshot) -> StateMetaInfo:
    return StateMetaInfo.of_keys("total", kind, constructed.void_namespace(), value)


TIMERS = StateMetaInfo.of_timers(
    "_timer_state/event_timers",
    constructed.timer(constructed.string(), constructed.void_namespace()),
)
STATES = (
    (info(KeyedStateType.VALUE, constructed.long()), StateKind.LIST, Repeated(Long())),
    (info(KeyedStateType.REDUCING, constructed.long()), StateKind.LIST, Repeated(Long())),
    (info(KeyedStateType.AGGREGATING, constructed.long()), StateKind.LIST, Repeated(Long())),
    (info(KeyedStateType.LIST, LONGS), StateKind.LIST, Repeated(Repeated(Long()))),
    (
        info(KeyedStateType.MAP, BY_TEXT),
        StateKind.MAP,
        MapOf(Text(), Nullable(Repeated(Long()))),
    ),
)


@pytest.mark.parametrize(("found", "kind", "stored"), STATES)
def test_a_local_state_stores_its_instances_and_says_what_it_is(
    found: StateMetaInfo, kind: StateKind, stored: Layout
) -> None:
    state = keyed_state(as_local(found), Text())
    ordinary = keyed_state(found, Text())
    assert (state.scope, state.kind, state.stored) == (KeyScope.LOCAL, kind, stored)
    assert state.job_kind is ordinary.kind
    assert ordinary.scope is KeyScope.KEYED


@pytest.mark.parametrize("found", [*(one for one, _, _ in STATES), TIMERS])
def test_what_was_local_is_as_it_was_once_it_is_keyed(found: StateMetaInfo) -> None:
    assert scope_of(as_local(found)) is KeyScope.LOCAL
    assert as_keyed(as_local(found)) == found


def test_timers_stay_what_they_are_but_local() -> None:
    state = keyed_state(as_local(TIMERS), Text())
    assert (state.kind, state.job_kind, state.scope) == (
        StateKind.TIMERS,
        StateKind.TIMERS,
        KeyScope.LOCAL,
    )


def test_the_marks_are_written_and_read() -> None:
    states = tuple(as_local(one) for one in (*(one for one, _, _ in STATES), TIMERS))
    header = KeyedBackendHeader.of(constructed.string(), states)
    view = DataOutputView()
    header.write(view)
    assert KeyedBackendHeader.read(SnapshotView(view.to_bytes(), "header")) == header
