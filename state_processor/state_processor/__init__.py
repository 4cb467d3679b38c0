"""Read, query, audit, bootstrap and modify the state of Apache Flink jobs."""

from state_processor.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from state_processor.functions import KeyedStateReaderFunction, WindowReaderFunction
from state_processor.savepoint import Operator, Savepoint
from state_processor.session import local_session

__all__ = [
    "AggregatingStateDescriptor",
    "KeyedStateReaderFunction",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "Operator",
    "ReducingStateDescriptor",
    "Savepoint",
    "ValueStateDescriptor",
    "WindowReaderFunction",
    "local_session",
]
