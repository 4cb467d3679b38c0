"""Messages that a real ``RMQSource`` has not acknowledged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.rabbitmq_states import SOURCE

from savepoint_extensions.connectors.consumed_messages import consumed_messages, message_facts
from savepoint_formats.errors import FormatError
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_database.snapshot.operator import Operator


def source(path: Path, data: bytes = SOURCE) -> Operator:
    (path / "_metadata").write_bytes(data)
    (operator,) = Savepoint.open(path).operators()
    return operator


def test_ids_by_checkpoint(tmp_path: Path) -> None:
    operator = source(tmp_path)
    ids = {4: ["order-1", "order-2"], 5: ["order-3"]}
    assert list(consumed_messages(operator)) == [ids]
    (facts,) = message_facts(operator)
    assert json.loads(facts.position) == {"4": ["order-1", "order-2"], "5": ["order-3"]}
    (entry,) = Savepoint.open(tmp_path).sources().entries
    assert (entry.connector, entry.content) == ("rabbitmq", "messages=3")


def test_ids_that_are_no_texts_are_digits(tmp_path: Path) -> None:
    other = source(tmp_path, SOURCE.replace(b"\x08order-3", b"\xff\xffrder-3"))
    (ids,) = consumed_messages(other)
    assert ids[5] == [b"\xff\xffrder-3".hex()]


def test_objects_of_another_class_are_an_error(tmp_path: Path) -> None:
    other = source(tmp_path, SOURCE.replace(b"checkpointId", b"checkpointIx"))
    with pytest.raises(FormatError, match="messages of an unknown class"):
        list(consumed_messages(other))
