"""Read, query, audit, bootstrap and modify the state of Apache Flink jobs."""

from typing import TYPE_CHECKING

from savepoint_formats.errors import (
    ClassNotNamedError,
    ColumnNotFoundError,
    ColumnTypeError,
    ConditionError,
    ConversionError,
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
    MigrationError,
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
from state_processor.functions.broadcast_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
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
from state_processor.types.lazy_names import lazy_names
from state_processor.types.types import TypeInformation, Types

if TYPE_CHECKING:
    from state_processor.audit.history import history
    from state_processor.bootstrapping.transformation import OperatorTransformation
    from state_processor.files.schema_texts import schema_text
    from state_processor.functions.key_batch import KeyBatch
    from state_processor.functions.side_outputs import OutputTag

__version__ = "0.1.0"

__all__ = [
    "AggregatingStateDescriptor",
    "BroadcastProcessFunction",
    "BroadcastStateBootstrapFunction",
    "ClassNotNamedError",
    "ColumnNotFoundError",
    "ColumnTypeError",
    "ConditionError",
    "ConversionError",
    "DamagedError",
    "DescriptionError",
    "DuplicateKeyError",
    "EmptySavepointError",
    "FieldNotFoundError",
    "FormatError",
    "Garbage",
    "HashCodeError",
    "InexactTimeError",
    "KeyBatch",
    "KeyGroupError",
    "KeyTypeError",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "KryoClass",
    "KryoField",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "MergeError",
    "MigrationError",
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
    "OutputTag",
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

# Who only inspects waits neither for Spark nor for DuckDB.
__getattr__ = lazy_names(
    __name__,
    {
        "KeyBatch": ".functions.key_batch",
        "OperatorTransformation": ".bootstrapping.transformation",
        "OutputTag": ".functions.side_outputs",
        "history": ".audit.history",
        "schema_text": ".files.schema_texts",
    },
)
