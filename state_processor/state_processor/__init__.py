"""Read, query, audit, bootstrap and modify the state of Apache Flink jobs."""

from savepoint_formats.columns import KryoClass, KryoField, kryo_class
from state_processor.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from state_processor.functions import KeyedStateReaderFunction, WindowReaderFunction
from state_processor.savepoint import Operator, Savepoint
from state_processor.savepoint_writer import SavepointWriter
from state_processor.session import local_session
from state_processor.types import TypeInformation, Types

__all__ = [
    "AggregatingStateDescriptor",
    "KeyedStateReaderFunction",
    "KryoClass",
    "KryoField",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "Operator",
    "ReducingStateDescriptor",
    "Savepoint",
    "SavepointWriter",
    "TypeInformation",
    "Types",
    "ValueStateDescriptor",
    "WindowReaderFunction",
    "kryo_class",
    "local_session",
]
