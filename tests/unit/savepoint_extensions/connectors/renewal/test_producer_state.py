"""Elements of a real ``FlinkKafkaProducer`` are written as they were read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.legacy_kafka import UIDS, legacy_savepoint

from savepoint_extensions.connectors.byte_elements import byte_elements
from savepoint_extensions.connectors.renewal.producer_state import ProducerState
from savepoint_formats.errors import FormatError
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


def test_transactions_are_left_out(tmp_path: Path) -> None:
    operator = Savepoint.open(legacy_savepoint(tmp_path / "old"), uids=UIDS).operator("results")
    elements = [it.data for it in byte_elements(operator, ["state"], is_sized=False)]
    assert len(elements) == 2
    for data in elements:
        state = ProducerState.whole(data, "state")
        assert state.to_bytes() == data
        (flushed,) = state.committing
        assert flushed.handle.transactional_id is not None
        less = ProducerState.whole(state.without({flushed.handle.transactional_id}).to_bytes(), "")
        assert (less.committing, less.pending, less.context) == ((), state.pending, state.context)
        assert state.without({"another"}) == state
        for cut in range(len(data)):
            with pytest.raises(FormatError):
                ProducerState.whole(data[:cut], "state")
