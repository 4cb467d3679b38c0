"""Positions of Kafka from Spark, from a consumer group and from rows; and positions for Spark."""

from __future__ import annotations

from typing import Any

import pytest
from support.each import each

from savepoint_extensions.connectors.kafka_positions import KafkaSourceState, rows_of
from savepoint_extensions.connectors.kafka_state import KafkaOffset, KafkaState
from savepoint_formats.errors import RefusedError

GROUP = """
Consumer group 'billing' has no active members.

GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID
billing  orders  0          23              30              7    -            -     -
billing  orders  1          7               7               0    -            -     -
"""
ROWS = [
    {"topic": "orders", "partition": 0, "offset": 23},
    {"topic": "orders", "partition": 1, "offset": 7},
]


@each(
    "positions",
    [
        {"orders": {"0": 23, "1": 7}},
        '{"orders": {"0": 23, "1": 7}}',
        GROUP,
        ROWS,
        [{"topic": "orders", "partition": "1", "offset": "7"}, ROWS[0]],
    ],
)
def test_all_forms_of_positions_are_the_same_splits(positions: Any) -> None:
    splits = KafkaSourceState.of(positions, 2).splits
    assert [(it.topic, it.partition, it.offset) for it in splits] == [
        ("orders", 0, 23),
        ("orders", 1, 7),
    ]


def test_words_and_the_numbers_of_spark_for_them_are_starts() -> None:
    rows = rows_of({"orders": {"0": -2, "1": -1}})
    assert [row["offset"] for row in rows] == ["earliest", "latest"]
    with_word = [{"topic": "orders", "partition": 0, "offset": "committed"}]
    assert KafkaSourceState.of(with_word, 2).splits[0].offset == -3


@each(
    ("positions", "message"),
    [
        ("{", "is no JSON of offsets"),
        ("orders 0 23", "no table of kafka-consumer-groups"),
        (GROUP.replace("23 ", "-  "), "partition orders-0 has no committed offset"),
        (GROUP.replace("1          7", "x          7"), "expected a row of TOPIC"),
        ({"0": {"orders": {"0": 23}}}, "of several sources, name one"),
        ({"orders": 23}, "expected partitions and offsets"),
        ({"orders": {"0": -3}}, "offset -3 of orders"),
        ('{"orders": {"0": null}}', "offset None of orders, expected 0 or more, or earliest"),
        ({"orders": {"x": 3}}, "partition x of orders, expected 0 or more"),
        ([*ROWS, ROWS[0]], "partition orders-0 has two offsets"),
        ([{"topic": "orders", "partition": 0}], "has no offset"),
        ([{"topic": "orders", "partition": -1, "offset": 0}], "partition -1 of orders"),
        ([], "no offset of any partition"),
        ({}, "no offset of any partition"),
    ],
)
def test_what_is_no_position_is_refused(positions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KafkaSourceState.of(positions, 2)


def test_only_versions_that_connectors_read_are_written() -> None:
    with pytest.raises(ValueError, match="version=4, expected one of 1, 2, 3"):
        KafkaSourceState.of(ROWS, 4)


def offset(partition: int, number: int | None, **others: Any) -> KafkaOffset:
    values = {"start": "", "stopping_offset": None, "operator": "orders", **others}
    return KafkaOffset(
        values["operator"],
        0,
        "KafkaSource",
        "t",
        partition,
        number,
        values["start"],
        values["stopping_offset"],
    )


def state(*offsets: KafkaOffset) -> KafkaState:
    return KafkaState("sp", offsets, (), ())


def test_positions_become_the_starting_offsets_of_spark() -> None:
    known = state(offset(10, 4), offset(2, 5), offset(3, None, start="latest"))
    assert known.starting_offsets_json() == '{"t": {"2": 5, "3": -1, "10": 4}}'
    assert rows_of(known.starting_offsets_json())[0] == {
        "topic": "t",
        "partition": "2",
        "offset": 5,
    }


@each(
    ("known", "kind", "message"),
    [
        (state(offset(0, None, start="committed")), RefusedError, "Spark has no number for"),
        (state(offset(0, 3, stopping_offset=9)), RefusedError, "ends at offset 9"),
        (state(offset(0, 3), offset(0, 4)), RefusedError, "has the offsets 3 and 4"),
        (state(), RefusedError, "no offset of Kafka"),
        (state(offset(0, 3), offset(0, 3, operator="b")), ValueError, "several sources"),
    ],
)
def test_positions_without_a_number_in_spark_are_refused(
    known: KafkaState, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        known.starting_offsets_json()
