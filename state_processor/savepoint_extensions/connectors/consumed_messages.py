"""Messages that a source has sent on and not acknowledged: ``MessageAcknowledgingSourceBase``, ``RMQSource``.

An element of its list is an array that Java serialized, with an object for each checkpoint that was not
complete.

| field          | type   | meaning                                                       |
|----------------|--------|---------------------------------------------------------------|
| checkpointId   | long   | id of the checkpoint                                          |
| numIds         | int    | number of messages                                            |
| serializedData | byte[] | their ids; those of ``RMQSource`` are correlation ids, texts  |

RabbitMQ delivers a message again until it is acknowledged, which the source does when the checkpoint is
complete. A restored source drops messages with these ids. No release of the connector for Flink 2 does.

Flink: ``SerializedCheckpointData``; the bytes are those of 1.20.5 with connector 3.0.1-1.17.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from savepoint_extensions.connectors.byte_elements import byte_elements
from savepoint_extensions.connectors.connector_rows import SplitFacts
from savepoint_formats.bytes import DataInputView
from savepoint_formats.errors import FormatError
from savepoint_formats.java.stream import JavaArray, JavaObject, read_java_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_database.snapshot import Operator

MESSAGES_STATE = "message-acknowledging-source-state"


def consumed_messages(operator: Operator) -> Iterator[dict[int, list[str]]]:
    """Checkpoint -> ids of its messages, for each element.

    An id that is no text is in hexadecimal digits, together with the others of its checkpoint.

    Raises ``FormatError`` if an element is of another class.
    """
    for element in byte_elements(operator, [MESSAGES_STATE], is_sized=False):
        try:
            view = DataInputView(element.data, MESSAGES_STATE)
            checkpoints = dict(map(_checkpoint, _objects(read_java_object(view))))
        except FormatError as error:
            raise error.within(f"operator {operator.name}") from error
        yield checkpoints


def message_facts(operator: Operator) -> list[SplitFacts]:
    """Facts of the elements, in their order."""
    return [
        SplitFacts(
            "rabbitmq",
            "",
            "messages",
            json.dumps(checkpoints),
            state="not acknowledged",
            facts={"messages": sum(map(len, checkpoints.values()))},
        )
        for checkpoints in consumed_messages(operator)
    ]


def _objects(value: Any) -> Iterator[JavaObject]:
    objects = value.elements if isinstance(value, JavaArray) else None
    if not isinstance(objects, list) or not all(isinstance(each, JavaObject) for each in objects):
        raise FormatError("messages of an unknown class", MESSAGES_STATE, 0)
    yield from objects


def _checkpoint(value: JavaObject) -> tuple[int, list[str]]:
    match value.fields:
        case {
            "checkpointId": int(checkpoint),
            "numIds": int(count),
            "serializedData": JavaArray(elements=bytes(data)),
        }:
            return checkpoint, _ids(data, count)
    raise FormatError("messages of an unknown class", MESSAGES_STATE, 0)


def _ids(data: bytes, count: int) -> list[str]:
    view = DataInputView(data, MESSAGES_STATE)
    try:
        texts = [view.read_string_value() or "" for _ in range(count)]
        view.expect_end()
    except FormatError:
        return [data.hex()]
    return texts
