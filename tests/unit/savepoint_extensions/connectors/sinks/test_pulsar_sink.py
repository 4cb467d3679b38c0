"""Committables of Pulsar's sink; ``test_pulsar_splits.py`` asks the real serializer."""

from __future__ import annotations

import pytest
from support.kafka_states import COMMITTABLE

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.sinks import pulsar_sink
from savepoint_extensions.connectors.sinks.connectors import read_committable
from savepoint_formats.errors import FormatError

DATA = bytes.fromhex("0000000000000001 0000000000000002 0006") + b"orders"


def test_a_transaction_has_a_topic() -> None:
    connector, facts, reason = read_committable(Versioned(1, DATA), "commit")
    assert (connector, reason) == ("pulsar", "")
    assert facts == {"transaction": "(1,2)", "topic": "orders"}


@pytest.mark.parametrize(
    "other",
    [
        Versioned(2, DATA),
        Versioned(1, DATA[:-1]),
        Versioned(1, DATA[:16] + b"\0\0"),
        Versioned.whole(COMMITTABLE, ""),
    ],
    ids=["version", "cut", "empty", "kafka"],
)
def test_other_bytes_are_none(other: Versioned) -> None:
    with pytest.raises(FormatError):
        pulsar_sink.committable(other, "commit")
