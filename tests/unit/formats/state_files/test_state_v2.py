"""State V2 becomes the synchronous state that the same job without asynchronous operators has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.sample_rows import SAMPLES
from support.state_v2 import as_v2

from savepoint_formats.errors import ConversionError
from savepoint_formats.layout import Long
from savepoint_formats.state_files.header import BackendStateType, StateMetaInfo
from savepoint_formats.state_files.state import keyed_state
from savepoint_formats.state_files.state_v2 import as_synchronous, expect_synchronous
from savepoint_formats.tables.catalog import keyed_headers
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator


def infos() -> Iterator[StateMetaInfo]:
    for name in ("states-2.2.1-rocksdb-native", "windows-2.2.1-hashmap-canonical"):
        for operator in Savepoint.open(str(SAMPLES / name)).operators():
            for subtask in operator.record.subtasks:
                for header in keyed_headers(operator.directory, subtask):
                    yield from header.states


STATES = {(info.name, info.option("KEYED_STATE_TYPE")): info for info in infos()}
KINDS = {"VALUE", "LIST", "MAP", "REDUCING", "AGGREGATING"}


@pytest.mark.parametrize("info", STATES.values(), ids=lambda info: info.name)
def test_it_is_what_a_synchronous_backend_has_written(info: StateMetaInfo) -> None:
    asynchronous = as_v2(info)
    is_timers = info.type is BackendStateType.PRIORITY_QUEUE
    assert (asynchronous.type is BackendStateType.KEY_VALUE_V2) != is_timers
    found = as_synchronous(asynchronous)
    expect_synchronous([found])
    assert dict(found.serializers) == dict(info.serializers)
    assert replace(found, serializers=info.serializers) == info
    assert keyed_state(asynchronous, Long()) == keyed_state(info, Long())


def test_the_samples_have_all_kinds_and_a_time_to_live() -> None:
    assert {kind for _, kind in STATES} >= KINDS
    assert any(keyed_state(info, Long()).has_ttl for info in STATES.values())


def test_it_stays_where_nobody_tells_the_type_of_user_keys() -> None:
    (info,) = (one for (name, _), one in STATES.items() if name == "by_currency")
    old = as_v2(info, is_of_2_2=False)
    assert as_synchronous(old) == old
    with pytest.raises(ConversionError, match=r"'by_currency' is state V2 .* no user key serial"):
        expect_synchronous([info, old])
