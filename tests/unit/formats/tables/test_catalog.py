"""Catalogs: the states of an operator, put together from the headers of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.hand_made import BASE, LONG, STRING, VOID, composite, i32, snapshot, utf

from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.layout import (
    Long,
    MapOf,
    Nullable,
    Opaque,
    Repeated,
    Struct,
    Text,
    TimerTimestamp,
)
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    DistributionMode,
    InlineStream,
    KeyedHandleType,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    OperatorStateOffsets,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.state_files.header import (
    BackendStateType,
    HeaderBytes,
    KeyedBackendHeader,
    OperatorBackendHeader,
)
from savepoint_formats.state_files.state import State, StateKind, keyed_states, operator_states
from savepoint_formats.tables.catalog import OperatorCatalog

if TYPE_CHECKING:
    from pathlib import Path

TIMER = "org.apache.flink.streaming.api.operators.TimerSerializerSnapshot"
TTL = "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot"


def info(
    name: str,
    kind: BackendStateType = BackendStateType.KEY_VALUE,
    options: dict[str, str] | None = None,
    **serializers: bytes,
) -> bytes:
    data = utf(name) + i32(kind) + i32(len(options or {}))
    data += b"".join(utf(key) + utf(value) for key, value in (options or {}).items())
    data += i32(len(serializers))
    for role, serializer in serializers.items():
        data += utf(f"{role}_SERIALIZER".upper()) + i32(2) + serializer
    return data


def keyed_info(name: str, state_type: str, value: bytes, namespace: bytes = VOID) -> bytes:
    return info(name, options={"KEYED_STATE_TYPE": state_type}, value=value, namespace=namespace)


def count_of(states: tuple[bytes, ...]) -> bytes:
    return len(states).to_bytes(2, "big")


def keyed_data(*states: bytes) -> bytes:
    head = bytes.fromhex("00000006 00 00000002") + STRING
    return head + count_of(states) + b"".join(states)


def keyed(*states: bytes) -> tuple[State, ...]:
    return keyed_states(KeyedBackendHeader.parse(HeaderBytes(keyed_data(*states), "file")))


def operator_data(lists: tuple[bytes, ...] = (), broadcasts: tuple[bytes, ...] = ()) -> bytes:
    return (
        bytes.fromhex("00000005")
        + count_of(lists)
        + b"".join(lists)
        + count_of(broadcasts)
        + b"".join(broadcasts)
    )


def list_info(name: str, mode: str = "SPLIT_DISTRIBUTE") -> bytes:
    options = {"OPERATOR_STATE_DISTRIBUTION_MODE": mode}
    return info(name, BackendStateType.OPERATOR, options, value=LONG)


def test_a_keyed_state_has_the_kind_that_its_option_names() -> None:
    kinds = ("VALUE", "LIST", "MAP", "REDUCING", "AGGREGATING", "FOLDING")
    states = keyed(*(keyed_info(kind, kind, LONG) for kind in kinds))
    assert [state.kind for state in states] == [StateKind[kind] for kind in kinds]
    assert states[0] == State("VALUE", StateKind.VALUE, Long(), Text())


@pytest.mark.parametrize("state_type", ["UNKNOWN", "TIMERS", "BROADCAST", "value", ""])
def test_a_state_of_an_unknown_kind_is_bytes_with_the_reason(state_type: str) -> None:
    first, second = keyed(keyed_info("a", state_type, LONG), keyed_info("b", "VALUE", LONG))
    assert first.kind is StateKind.VALUE
    assert isinstance(first.value, Opaque)
    assert repr(state_type) in first.value.reason
    assert second.value == Long()


def test_a_namespace_is_there_unless_it_is_void() -> None:
    states = keyed(keyed_info("a", "VALUE", LONG), keyed_info("b", "VALUE", LONG, LONG))
    assert [state.namespace for state in states] == [None, Long()]


def test_a_state_that_names_no_serializer_is_bytes_with_the_reason() -> None:
    (state,) = keyed(info("a", options={"KEYED_STATE_TYPE": "VALUE"}))
    assert state.value == Opaque("", "state 'a' names no value serializer")
    assert state.namespace == Opaque("", "state 'a' names no namespace serializer")


def test_ttl_is_a_fact_about_the_state_and_no_part_of_its_value() -> None:
    with_ttl = composite(TTL, LONG, STRING)
    listed = composite(f"{BASE}ListSerializerSnapshot", with_ttl)
    mapped = composite(f"{BASE}MapSerializerSnapshot", LONG, with_ttl)
    states = keyed(
        keyed_info("a", "VALUE", with_ttl),
        keyed_info("b", "LIST", listed),
        keyed_info("c", "MAP", mapped),
        keyed_info("d", "VALUE", STRING),
    )
    assert [state.has_ttl for state in states] == [True, True, True, False]
    assert [state.value for state in states] == [
        Text(),
        Repeated(Text()),
        MapOf(Long(), Nullable(Text())),
        Text(),
    ]


def test_state_v2_names_the_parts_of_a_collection() -> None:
    def state_v2(state_type: str, **serializers: bytes) -> bytes:
        options = {"KEYED_STATE_TYPE": state_type}
        return info(
            state_type, BackendStateType.KEY_VALUE_V2, options, namespace=VOID, **serializers
        )

    states = keyed(
        state_v2("VALUE", value=LONG),
        state_v2("LIST", value=LONG),
        state_v2("MAP", value=LONG, user_key=STRING),
    )
    assert [state.value for state in states] == [
        Long(),
        Repeated(Long()),
        MapOf(Text(), Nullable(Long())),
    ]


def test_timers_have_the_namespace_of_their_serializer() -> None:
    queue = BackendStateType.PRIORITY_QUEUE
    states = keyed(
        info("_timer_state/event_a", queue, value=composite(TIMER, STRING, LONG)),
        info("_timer_state/event_b", queue, value=composite(TIMER, STRING, VOID)),
        info("custom", queue, value=LONG),
        info("unknown", queue, value=snapshot("com.acme.Unknown", b"body")),
    )
    assert {state.kind for state in states} == {StateKind.TIMERS}
    assert [state.namespace for state in states] == [Long(), None, None, None]
    assert states[0].value == Struct(
        ("timestamp", "key", "namespace"), (TimerTimestamp(), Text(), Long())
    )
    assert isinstance(states[3].value, Opaque)


def test_operator_states_have_the_kind_of_their_distribution() -> None:
    broadcast = info(
        "c",
        BackendStateType.BROADCAST,
        {"OPERATOR_STATE_DISTRIBUTION_MODE": "BROADCAST"},
        key=STRING,
        value=LONG,
    )
    data = operator_data((list_info("a"), list_info("b", "UNION")), (broadcast,))
    assert operator_states(OperatorBackendHeader.parse(HeaderBytes(data, "file"))) == (
        State("a", StateKind.OPERATOR_LIST, Long()),
        State("b", StateKind.UNION_LIST, Long()),
        State("c", StateKind.BROADCAST, Long(), Text()),
    )


def subtask(
    index: int, keyed_file: bytes | None = None, operator_file: bytes | None = None
) -> SubtaskState:
    keyed_handle = operator_handle = None
    if keyed_file is not None:
        keyed_handle = KeyGroupsHandle(
            KeyedHandleType.CANONICAL_SAVEPOINT,
            KeyGroupRangeOffsets(KeyGroupRange(index, index), (0,)),
            InlineStream(f"keyed-{index}", keyed_file),
        )
    if operator_file is not None:
        offsets = OperatorStateOffsets("a", DistributionMode.SPLIT_DISTRIBUTE, ())
        stream = InlineStream(f"operator-{index}", operator_file)
        operator_handle = OperatorStateHandle((offsets,), stream)
    return SubtaskState(
        index, managed_operator_state=operator_handle, managed_keyed_state=keyed_handle
    )


def catalog(tmp_path: Path, *subtasks: SubtaskState) -> OperatorCatalog:
    operator = OperatorState(OperatorId.from_uid("a"), len(subtasks), 128, subtasks)
    return OperatorCatalog.of(SnapshotDirectory.of(str(tmp_path)), operator)


def test_subtasks_add_the_states_that_others_lack(tmp_path: Path) -> None:
    first = keyed_data(keyed_info("a", "VALUE", LONG))
    second = keyed_data(keyed_info("b", "LIST", LONG), keyed_info("a", "VALUE", LONG))
    found = catalog(tmp_path, subtask(0, first), subtask(1, second), subtask(2, first))
    assert [(state.name, state.kind) for state in found.states] == [
        ("a", StateKind.VALUE),
        ("b", StateKind.LIST),
    ]
    assert found.problems == ()


def test_a_keyed_and_an_operator_state_may_have_one_name(tmp_path: Path) -> None:
    found = catalog(
        tmp_path,
        subtask(0, keyed_data(keyed_info("a", "VALUE", LONG)), operator_data((list_info("a"),))),
    )
    assert [(state.name, state.kind) for state in found.states] == [
        ("a", StateKind.VALUE),
        ("a", StateKind.OPERATOR_LIST),
    ]


def test_a_damaged_file_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    operator_file = operator_data((list_info("a"),))
    found = catalog(tmp_path, subtask(0, b"\0\0\0\7", operator_file), subtask(1))
    assert [state.name for state in found.states] == ["a"]
    (problem,) = found.problems
    assert str(problem).startswith("subtask 0: keyed-0 at byte 0: keyed state of version 7")


def test_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    handle = KeyGroupsHandle(
        KeyedHandleType.CANONICAL_SAVEPOINT,
        KeyGroupRangeOffsets(KeyGroupRange(0, 0), (9,)),
        RelativeFile("gone", 9),
    )
    found = catalog(tmp_path, SubtaskState(0, managed_keyed_state=handle))
    assert found.states == ()
    (problem,) = found.problems
    assert "gone does not exist" in str(problem)


def test_sizes_are_those_of_the_streams(tmp_path: Path) -> None:
    keyed_file, operator_file = keyed_data(), operator_data((list_info("a"),))
    found = catalog(tmp_path, subtask(0, keyed_file, operator_file), subtask(1, keyed_file))
    assert found.keyed_size == 2 * len(keyed_file)
    assert found.operator_size == len(operator_file)
