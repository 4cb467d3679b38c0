from __future__ import annotations

from savepoint_extensions.privacy.own_states import (
    has_own_key,
    has_windows_alone,
    is_own_field,
    is_own_state,
)
from savepoint_formats.layout import (
    BinaryRow,
    Boolean,
    Byte,
    Framed,
    Int,
    Layout,
    Long,
    MapOf,
    MaskedStruct,
    Nullable,
    Repeated,
    Struct,
    Tagged,
    Text,
)
from savepoint_formats.state_files import State, StateKind

WINDOW = Struct(("start", "end"), (Long(), Long()))
ROW = Framed(BinaryRow((), ()))
ELEMENTS = Tagged(
    (0, 1, 2),
    ("record", "record_without_timestamp", "watermark"),
    (Struct(("timestamp", "value"), (Long(), Text())), Text(), Long()),
)


def counted(*parts: Layout) -> Layout:
    return Nullable(Struct(tuple(f"f{n}" for n in range(len(parts))), parts))


def a_map(name: str, value: Layout, *, key: Layout | None = None, of: Layout = ROW) -> State:
    return State(name, StateKind.MAP, MapOf(key or Long(), value), of)


OWN = [
    (State("count", StateKind.REDUCING, Long(), Text(), WINDOW), "value"),
    (State("fire-time", StateKind.REDUCING, Long(), Text(), WINDOW), "value"),
    (State("python-state-fire-time", StateKind.LIST, Long(), Text(), WINDOW), "value"),
    (State("python-state-tumble-count-assigner", StateKind.LIST, Long(), Text()), "value"),
    (State("watermark", StateKind.UNION_LIST, Long()), "value"),
    (State("lastTriggeringTsState", StateKind.VALUE, Long(), ROW), "value"),
    (State("counterState", StateKind.VALUE, Int(), ROW), "value"),
    (
        State("window-contents", StateKind.LIST, Repeated(ELEMENTS), Text(), WINDOW),
        "value.watermark",
    ),
    (
        State("window-contents", StateKind.LIST, Repeated(ELEMENTS), Text(), WINDOW),
        "value.record.timestamp",
    ),
    (a_map("LEFT_BUFFER", Repeated(counted(Boolean(), Text()))), "map_key"),
    (a_map("eventQueuesStateName", Repeated(Text())), "map_key"),
    (a_map("sharedBuffer-events", Text()), "map_key.id"),
    (a_map("inputState", Repeated(ROW)), "map_key"),
    (a_map("left-records", Nullable(Int()), key=ROW), "value"),
    (a_map("left-records", counted(Int(), Int()), key=ROW), "value.f0"),
    (a_map("right-records", counted(ROW, Int()), key=ROW), "value.f1"),
    (a_map("distinctAcc_12", Nullable(Long()), key=Text()), "value"),
    (State("distinctAcc_0_null_state", StateKind.VALUE, Long(), ROW), "value"),
    (State("nfaStateName", StateKind.VALUE, Text(), Text()), "value"),
]
OF_THE_JOB = [
    # A user's own states may have these names.
    (State("count", StateKind.VALUE, Long(), Text()), "value"),
    (State("count", StateKind.REDUCING, Long(), Text()), "value"),
    (State("count", StateKind.REDUCING, Text(), Text(), WINDOW), "value"),
    (State("watermark", StateKind.VALUE, Long(), Text()), "value"),
    (State("timer", StateKind.VALUE, Long(), Text()), "value"),
    (State("timer", StateKind.VALUE, Text(), ROW), "value"),
    (a_map("left", Nullable(Text()), of=Text()), "map_key"),
    (a_map("inputState", Repeated(ROW), key=Text()), "map_key"),
    # Rows beside what Flink made.
    (
        State("window-contents", StateKind.LIST, Repeated(ELEMENTS), Text(), WINDOW),
        "value.record.value",
    ),
    (State("window-contents", StateKind.LIST, Repeated(Text()), Text(), WINDOW), "value"),
    (a_map("LEFT_BUFFER", Repeated(counted(Boolean(), Text()))), "value.element"),
    (a_map("sharedBuffer-events", Text()), "value.element"),
    (a_map("left-records", Nullable(Int()), key=ROW), "map_key.f0"),
    (a_map("right-records", counted(ROW, Int()), key=ROW), "value.f0.f1"),
    (a_map("distinctAcc_12", Nullable(Long()), key=Text()), "map_key"),
    (a_map("map_keys", Text()), "map_key"),
]


def test_only_what_flink_makes_is_its_own() -> None:
    assert [state for state, field in OWN if not is_own_field(state, field)] == []
    assert [state for state, field in OF_THE_JOB if is_own_field(state, field)] == []


def test_sets_of_windows_have_no_values_of_the_job_in_pyflink_either() -> None:
    names = ("merging-window-set", "python-state-merging-window-set", "session-window-mapping")
    assert all(has_windows_alone(State(name, StateKind.MAP, Text(), Text())) for name in names)
    assert not has_windows_alone(State("window-contents", StateKind.LIST, Text(), Text()))


def test_the_one_key_of_all_rows_is_no_key_of_the_job() -> None:
    def windows(key: Layout, name: str = "window-contents") -> State:
        return State(name, StateKind.LIST, Repeated(Text()), key, WINDOW)

    assert has_own_key([windows(Byte())])
    assert has_own_key(
        [windows(MaskedStruct(("$key",), (Byte(),), has_kind=True), "python-state-window-contents")]
    )
    assert has_own_key([windows(Byte(), "nfaStateName")])
    assert not has_own_key([windows(Int())])
    assert not has_own_key([windows(Byte(), "bytes of a user")])


def test_a_transaction_is_own_only_in_operator_state() -> None:
    fields = ("pending", "pending_start", "committing", "context")
    layout = Struct(fields, (Text(), Long(), Text(), Text()))
    assert is_own_state(State("state", StateKind.OPERATOR_LIST, layout))
    assert not is_own_state(State("state", StateKind.VALUE, layout, Text()))
