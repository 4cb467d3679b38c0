"""Operator state of a running function: by name, of one mode each."""

from __future__ import annotations

import pytest

from savepoint_formats.metadata import DistributionMode
from savepoint_functions.functions.backends import OperatorStateStore
from state_processor import ListStateDescriptor, MapStateDescriptor, Types

NAMES = ListStateDescriptor("names", Types.STRING())
OFFSETS = ListStateDescriptor("offsets", Types.LONG())
RATES = MapStateDescriptor("rates", Types.STRING(), Types.DOUBLE())


def test_states_have_what_was_added_to_them() -> None:
    store = OperatorStateStore()
    store.list_state(NAMES).add("a")
    store.list_state(NAMES).add("b")
    store.union_list_state(OFFSETS)
    store.broadcast_state(RATES).put("EUR", 1.5)
    assert store.contents() == [
        (NAMES, DistributionMode.SPLIT_DISTRIBUTE, ["a", "b"]),
        (OFFSETS, DistributionMode.UNION, []),
        (RATES, DistributionMode.BROADCAST, [("EUR", 1.5)]),
    ]


def test_a_name_has_one_mode() -> None:
    store = OperatorStateStore()
    store.list_state(NAMES)
    with pytest.raises(ValueError, match=r"of mode SPLIT_DISTRIBUTE, and cannot be .* UNION"):
        store.union_list_state(NAMES)


def test_a_state_needs_its_types_and_no_ttl() -> None:
    store = OperatorStateStore()
    with pytest.raises(ValueError, match="has no element_type"):
        store.list_state(ListStateDescriptor("names"))
    with pytest.raises(ValueError, match="has no value_type"):
        store.broadcast_state(MapStateDescriptor("rates", Types.STRING()))
    with pytest.raises(ValueError, match="can have no time to live"):
        store.list_state(NAMES.with_ttl())
