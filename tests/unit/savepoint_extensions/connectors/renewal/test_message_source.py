"""State of an ``RMQSource`` is left out by the user, unless it has no message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.rabbitmq_states import SOURCE

from savepoint_extensions.connectors.byte_elements import byte_elements, with_byte_elements
from savepoint_extensions.connectors.consumed_messages import MESSAGES_STATE
from savepoint_extensions.connectors.renewal.message_source import without_messages
from savepoint_extensions.connectors.renewal.renewed_operator import has_list
from savepoint_formats.errors import MigrationError
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

UID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def rabbitmq(tmp_path: Path) -> Savepoint:
    (tmp_path / "_metadata").write_bytes(SOURCE)
    return Savepoint.open(tmp_path)


def test_messages_are_refused_until_they_are_left_out(rabbitmq: Savepoint) -> None:
    with pytest.raises(MigrationError, match=rf"3 messages .*--skip-state {UID}/{MESSAGES_STATE}"):
        rabbitmq.migrate()
    migrated = rabbitmq.remove_state(UID, MESSAGES_STATE).migrate()
    assert migrated.operator(UID).change.removed == {MESSAGES_STATE}  # type: ignore[union-attr]
    judged = {state.state: state for state in rabbitmq.compatibility("2.2").states()}
    assert judged[MESSAGES_STATE].verdict == "not restorable"


def test_an_empty_list_is_left_out(rabbitmq: Savepoint) -> None:
    (operator,) = rabbitmq.operators()
    elements = byte_elements(operator, [MESSAGES_STATE], is_sized=False)
    record = with_byte_elements(operator, ((element, None) for element in elements))
    (empty,) = rabbitmq._with_records([record]).operators()
    assert has_list(empty, MESSAGES_STATE)
    (renewed,) = rabbitmq._with_records([without_messages(empty).record]).operators()
    assert not has_list(renewed, MESSAGES_STATE)
