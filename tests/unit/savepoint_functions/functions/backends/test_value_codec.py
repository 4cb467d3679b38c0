"""The bytes of what a function keeps in state, one value at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from savepoint_formats.errors import UnencodableError
from savepoint_functions.functions.backends import state_backend
from savepoint_functions.functions.backends.value_codec import ValueCodec
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    Types,
    ValueStateDescriptor,
    kryo_class,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.types.descriptors import StateDescriptor
    from state_processor import TypeInformation

HALF = "a\ud83d"
BY_NAME = MapStateDescriptor("s", Types.STRING(), Types.STRING())
PAIR = Types.TUPLE([Types.INT(), Types.STRING()])


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (Types.STRING(), HALF),
        (Types.CHAR(), "\ud83d"),
        (PAIR, {"f0": 1, "f1": HALF}),
        (Types.LIST(Types.STRING()), ["b", HALF]),
        (Types.MAP(Types.STRING(), Types.INT()), {HALF: 1}),
        (Types.STRING(), "\ufffd\\ud83d"),
    ],
    ids=str,
)
def test_half_a_surrogate_pair_is_no_value(type_: TypeInformation, value: Any) -> None:
    with pytest.raises(UnencodableError, match=r"of state 's': .*half a surrogate pair"):
        ValueCodec(type_.layout, "state 's'").encode(value)


def test_a_whole_pair_is_one() -> None:
    codec = ValueCodec(Types.STRING().layout, "state 's'")
    assert codec.decode(codec.encode("\U0001f600")) == "\U0001f600"


@pytest.mark.parametrize(
    ("descriptor", "change"),
    [
        (ValueStateDescriptor("s", Types.STRING()), lambda state: state.update(HALF)),
        (ListStateDescriptor("s", Types.STRING()), lambda state: state.add(HALF)),
        (BY_NAME, lambda state: state.put(HALF, "a")),
        (BY_NAME, lambda state: state.put("a", HALF)),
    ],
    ids=["value", "list", "key", "map"],
)
def test_state_in_rocksdb_refuses_it(
    descriptor: StateDescriptor, change: Callable[[Any], None]
) -> None:
    """Its bytes are written to the savepoint as they are."""

    def changed() -> None:
        with state_backend("rocksdb", Types.LONG().layout) as backend:
            state = backend.state(descriptor)
            backend.set_current_key(1, bytes(8))
            change(state)
            backend.snapshot_current_key()

    with pytest.raises(UnencodableError, match="half a surrogate pair"):
        changed()


@pytest.mark.parametrize("flink", ["1.20", "2.2"])
def test_objects_of_kryo_are_read_as_they_were_written(flink: str) -> None:
    part = kryo_class("shop.Part", {"n": "int", "tags": "java.util.List<java.lang.String>"})
    codec = ValueCodec(Types.KRYO("shop.Part", part, flink=flink).layout, "state 'part'")
    value = {"n": 7, "tags": ["a", None]}
    assert codec.decode(codec.encode(value)) == (7, ["a", None])
