"""Offsets of a ``FlinkKafkaConsumer``, the Kafka source before Flink 1.14.

Its union list ``topic-partition-offset-states`` has a tuple per partition: a Kryo object and a number.
Kafka's connector: ``FlinkKafkaConsumerBase``, ``KafkaTopicPartitionStateSentinel``.

| number        | meaning                                                    |
|---------------|------------------------------------------------------------|
| -1 or more    | offset of the last record that was read; -1 for none       |
| -915623761775 | the reader begins with the earliest record                 |
| -915623761774 | the reader begins after the latest record                  |
| -915623761773 | the reader begins where its consumer group has committed   |
"""

from __future__ import annotations

from savepoint_formats.errors import FormatError
from savepoint_formats.kafka.source_state import COMMITTED, EARLIEST, LATEST

LEGACY_STATE = "topic-partition-offset-states"

_STARTS = {-915623761775: EARLIEST, -915623761774: LATEST, -915623761773: COMMITTED}
_NUMBERS = {start: number for number, start in _STARTS.items()}


def next_offset(number: int) -> int:
    """The offset of the next record, or ``EARLIEST``, ``LATEST`` or ``COMMITTED``."""
    if number not in _STARTS and number < -1:
        raise FormatError(f"an offset {number}, expected -1 or more", LEGACY_STATE, -1)
    return _STARTS.get(number, number + 1)


def stored_number(offset: int) -> int:
    """The number in the state for a ``next_offset``."""
    return _NUMBERS.get(offset, offset - 1)
