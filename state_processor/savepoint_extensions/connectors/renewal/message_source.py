"""``RMQSource`` -> nothing: no source of RabbitMQ for Flink 2 continues from its state.

A list without messages is left out. With messages, leaving it out is a loss of knowledge: those that
RabbitMQ delivers again would be read twice. So it is the user who leaves it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_extensions.connectors.consumed_messages import MESSAGES_STATE, consumed_messages
from savepoint_extensions.connectors.renewal.renewed_operator import Renewed, with_byte_lists
from savepoint_formats.errors import RefusedError

if TYPE_CHECKING:
    from savepoint_database.snapshot import Operator


def without_messages(operator: Operator) -> Renewed:
    """The operator without its empty list.

    Raises:
        RefusedError: It has messages.
        SavepointError: A file is gone or damaged.
    """
    count = sum(len(ids) for each in consumed_messages(operator) for ids in each.values())
    if count:
        raise RefusedError(
            f"operator {operator.name}: its RMQSource has read {count} messages that it had not acknowledged"
            " when it stored this state, and no source of RabbitMQ for Flink 2 continues from that. Cancel the"
            " job with a retained checkpoint, after which they are acknowledged; or let the new job drop the"
            " messages that RabbitMQ delivers again, by the ids that savepoint sources lists, and leave the"
            f" state out: savepoint migrate --skip-state {operator.name}/{MESSAGES_STATE}"
        )
    return Renewed(with_byte_lists(operator, {MESSAGES_STATE}, {}))
