"""An operator's plan describes its state before anything is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.metadata import DistributionMode
from savepoint_spark.bootstrapping.windowed_transformation import OperatorStateTransformation
from savepoint_spark.writing.operator_plan import NewOperatorState
from state_processor import Types, kryo_class
from state_processor.savepoint.new_operator import combined
from state_processor.savepoint.planned_operator import MadeOperator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LINE = kryo_class("shop.Line", {"count": "int"})


@dataclass(frozen=True)
class NoRows:
    state: NewOperatorState

    def elements(self, index: int, parallelism: int) -> DataFrame:
        raise NotImplementedError


def lines(name: str, flink: str) -> OperatorStateTransformation:
    snapshot = Types.KRYO("shop.Line", LINE, flink=flink).snapshot
    return OperatorStateTransformation(
        (NoRows(NewOperatorState(name, DistributionMode.UNION, snapshot)),)
    )


def test_several_transformations_say_together_which_kryo_their_objects_are_for() -> None:
    transformation = combined((lines("a", "2.2"), lines("b", "2.2")))
    planned = MadeOperator(OperatorId.from_uid("lines"), "lines", 1, 128, None, transformation)
    assert planned.kryo_versions() == {"5.6"}
