"""Read, query, audit, bootstrap and modify the state of Apache Flink jobs."""

from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import (
    ClassNotNamedError,
    ColumnNotFoundError,
    ColumnTypeError,
    ConditionError,
    DamagedError,
    DescriptionError,
    DuplicateKeyError,
    EmptySavepointError,
    FieldNotFoundError,
    FormatError,
    HashCodeError,
    InexactTimeError,
    KeyGroupError,
    KeyTypeError,
    MergeError,
    MissingPackageError,
    NewestSnapshotWarning,
    NotASavepointError,
    NotFoundError,
    NotMergeableError,
    NullKeyError,
    NullValueError,
    OperatorExistsError,
    OperatorNotFoundError,
    OverlappingWindowsError,
    QueryError,
    RefusedError,
    RescaleError,
    RocksDbError,
    SavepointError,
    SavepointExistsError,
    SavepointNotFoundError,
    SavepointWarning,
    SchemaChangeError,
    StateExistsError,
    StateFileNotFoundError,
    StateNotFoundError,
    StateTypeError,
    SubtaskError,
    TableFileError,
    TableNotFoundError,
    TruncatedError,
    UndecodableError,
    UnencodableError,
    UnknownSnapshotError,
    UnknownUidWarning,
    UnreachableError,
    UnreadTableWarning,
    UnstableHashError,
    UnstableKeyError,
    UnsupportedVersionError,
    ValueOutOfRangeError,
    WriteError,
    WrongFileError,
)
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoClass, KryoField
from state_processor.checks.garbage import Garbage
from state_processor.functions.process_functions import (
    BroadcastStateBootstrapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)
from state_processor.reading.functions import KeyedStateReaderFunction, WindowReaderFunction
from state_processor.savepoint.savepoint import Savepoint
from state_processor.savepoint.writer import SavepointWriter
from state_processor.snapshot.operator import Operator
from state_processor.snapshot.retained import RetainedSnapshot, snapshots
from state_processor.snapshot.session import local_session
from state_processor.types.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from state_processor.types.types import TypeInformation, Types

if TYPE_CHECKING:
    from state_processor.audit.history import history
    from state_processor.bootstrapping.transformation import OperatorTransformation
    from state_processor.files.schema_texts import schema_text

__version__ = "0.1.0"

__all__ = [
    "AggregatingStateDescriptor",
    "BroadcastStateBootstrapFunction",
    "ClassNotNamedError",
    "ColumnNotFoundError",
    "ColumnTypeError",
    "ConditionError",
    "DamagedError",
    "DescriptionError",
    "DuplicateKeyError",
    "EmptySavepointError",
    "FieldNotFoundError",
    "FormatError",
    "Garbage",
    "HashCodeError",
    "InexactTimeError",
    "KeyGroupError",
    "KeyTypeError",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "KryoClass",
    "KryoField",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "MergeError",
    "MissingPackageError",
    "NewestSnapshotWarning",
    "NotASavepointError",
    "NotFoundError",
    "NotMergeableError",
    "NullKeyError",
    "NullValueError",
    "Operator",
    "OperatorExistsError",
    "OperatorNotFoundError",
    "OperatorTransformation",
    "OverlappingWindowsError",
    "QueryError",
    "ReducingStateDescriptor",
    "RefusedError",
    "RescaleError",
    "RetainedSnapshot",
    "RocksDbError",
    "Savepoint",
    "SavepointError",
    "SavepointExistsError",
    "SavepointNotFoundError",
    "SavepointWarning",
    "SavepointWriter",
    "SchemaChangeError",
    "StateBootstrapFunction",
    "StateExistsError",
    "StateFileNotFoundError",
    "StateNotFoundError",
    "StateTypeError",
    "SubtaskError",
    "TableFileError",
    "TableNotFoundError",
    "TruncatedError",
    "TypeInformation",
    "Types",
    "UndecodableError",
    "UnencodableError",
    "UnknownSnapshotError",
    "UnknownUidWarning",
    "UnreachableError",
    "UnreadTableWarning",
    "UnstableHashError",
    "UnstableKeyError",
    "UnsupportedVersionError",
    "ValueOutOfRangeError",
    "ValueStateDescriptor",
    "WindowReaderFunction",
    "WriteError",
    "WrongFileError",
    "__version__",
    "history",
    "kryo_class",
    "local_session",
    "schema_text",
    "snapshots",
]


def __getattr__(name: str) -> Any:
    """What needs Spark is imported when it is asked for: who only inspects does not wait for it."""
    if name == "OperatorTransformation":
        from state_processor.bootstrapping.transformation import OperatorTransformation  # noqa: PLC0415

        return OperatorTransformation
    if name == "history":
        from state_processor.audit.history import history  # noqa: PLC0415

        return history
    if name == "schema_text":
        from state_processor.files.schema_texts import schema_text  # noqa: PLC0415

        return schema_text
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
