"""A split that is stored twice is one split; at two positions it is refused, unless the user gives one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.kafka_states import CONSUMER

from savepoint_extensions.connectors.byte_elements import byte_elements
from savepoint_extensions.connectors.connector_rows import READER_STATE
from savepoint_extensions.connectors.kafka.kafka_source import KafkaSplit
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.renewal.renewed_operator import RenewalOptions
from savepoint_extensions.connectors.renewal.renewed_source import NewSplit, renewed_source
from savepoint_extensions.connectors.source_splits.split_connectors import kafka_facts
from savepoint_formats.errors import RefusedError
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


def split(subtask: int, offset: int, problem: str = "") -> NewSplit:
    own = KafkaSplit("orders", 0, offset)
    return NewSplit(subtask, kafka_facts(own), own.to_versioned(), problem)


def offsets(path: Path, splits: list[NewSplit], **positions: str) -> list[int]:
    """The offsets of the readers, and as many in the state of the enumerator."""
    (path / "_metadata").write_bytes(CONSUMER)
    (operator,) = Savepoint.open(str(path)).operators()
    options = RenewalOptions(positions={f"{name}-0": text for name, text in positions.items()})
    seen = []

    def enumerator(raws: object) -> Versioned:
        seen.append(raws)
        return Versioned(2, b"")

    renewed = renewed_source(operator, (), splits, enumerator, options)
    assert renewed.names == {"orders", "orders-0"}
    (operator,) = Savepoint.open(str(path))._with_records([renewed.record]).operators()
    elements = byte_elements(operator, [READER_STATE])
    return [KafkaSplit.of(element.data, "").offset for element in elements]


def test_a_split_is_read_once(tmp_path: Path) -> None:
    assert offsets(tmp_path, [split(0, 5), split(1, 5)]) == [5]


def test_two_positions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"positions .*5.* and .*6.*--set SPLIT=POSITION"):
        offsets(tmp_path, [split(0, 5), split(1, 6)])
    assert offsets(tmp_path, [split(0, 5), split(1, 6)], orders="4") == [4]


def test_a_position_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="orders-0: nobody knows it"):
        offsets(tmp_path, [split(0, 5, "nobody knows it")])
    assert offsets(tmp_path, [split(0, 5, "nobody knows it")], orders="earliest") == [-2]
