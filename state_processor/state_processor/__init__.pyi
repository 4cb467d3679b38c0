"""Read, query, audit, bootstrap and modify the state of Apache Flink jobs: the public names."""

from savepoint_database.audit.key_state import (
    KeyState,
)
from savepoint_database.checks.savepoint_diff import (
    Difference,
    SavepointDiff,
    TableChanges,
)
from savepoint_database.checks.verification import (
    Verification,
)
from savepoint_database.files.exported_table import (
    ExportedTable,
    export_table,
)
from savepoint_database.files.schema_texts import (
    schema_text,
)
from savepoint_database.files.table_files import (
    TableFiles,
)
from savepoint_database.files.table_format import (
    FileSplit,
    TableFormat,
)
from savepoint_database.snapshot import (
    ColumnDescription,
    FileDescription,
    Operator,
    OperatorDescription,
    QueryNode,
    RetainedSnapshot,
    RetainedSnapshots,
    SavepointDescription,
    StateDescription,
    TableDescription,
    snapshots,
)
from savepoint_database.types import (
    AggregateFunction,
    AggregatingStateDescriptor,
    ClassToDescribe,
    ListStateDescriptor,
    MapStateDescriptor,
    PyFlink,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    StateVisibility,
    TypeInformation,
    Types,
    UpdateType,
    ValueStateDescriptor,
)
from savepoint_extensions.backup.backing_up import Backup
from savepoint_extensions.backup.pruning import PrunedBackup, PrunedBackups, prune_backups
from savepoint_extensions.backup.replica import ReplicaCheck
from savepoint_extensions.backup.restore_drill import DrilledTable, RestoreDrill, restore_drill
from savepoint_extensions.change_feed.change_feed import ChangeFeed, StateChanges, StateCounts
from savepoint_extensions.change_feed.feed_frames import SparkChangeFeed
from savepoint_extensions.change_feed.followed import CheckpointChanges, follow_changes
from savepoint_extensions.change_feed.retained_steps import GoneCheckpointError
from savepoint_extensions.change_files.change_count import ChangeCount
from savepoint_extensions.connectors.kafka_state import (
    KafkaState,
)
from savepoint_extensions.connectors.sink_elements import (
    SinkBytes,
    SinkEntry,
)
from savepoint_extensions.connectors.sink_state import (
    SinkState,
)
from savepoint_extensions.connectors.source_state import SourceEntry, SourceState
from savepoint_extensions.lifecycle.garbage import (
    Garbage,
    GarbageFile,
)
from savepoint_extensions.lifecycle.history import (
    KeyHistory,
    history,
)
from savepoint_extensions.lifecycle.size_history import (
    SizeHistory,
    StateGrowth,
    StateMoment,
    size_history,
)
from savepoint_extensions.live_jobs.kubernetes_snapshots import kubernetes_snapshot
from savepoint_extensions.live_jobs.live_jobs import LiveSnapshot, live_snapshots, take_savepoint
from savepoint_extensions.mixed_mode.backlog import (
    Backlog,
)
from savepoint_extensions.mixed_mode.backlog_result import (
    BacklogCounts,
    BacklogResult,
)
from savepoint_extensions.mixed_mode.committed_batch import (
    CommittedBatch,
)
from savepoint_extensions.mixed_mode.mixed_mode_job import (
    MixedModeJob,
    ParquetOutput,
)
from savepoint_extensions.mixed_mode.progress import (
    BacklogProgress,
    BatchProgress,
    print_progress,
)
from savepoint_extensions.mixed_mode.running_stream import (
    RunningStream,
)
from savepoint_extensions.mixed_mode.stream_function import (
    OperatorSettings,
)
from savepoint_extensions.privacy.certificate import ErasureCertificate
from savepoint_extensions.privacy.found_values import FoundPlace, FoundValues, find
from savepoint_extensions.privacy.mask_plan import MaskedField
from savepoint_extensions.privacy.mask_rules import MaskRules
from savepoint_extensions.privacy.suggestions import MaskSuggestions
from savepoint_extensions.sizes.metadata_sizes import MetadataPart
from savepoint_extensions.sizes.statistics import (
    SavepointStatistics,
)
from savepoint_extensions.spark_streams.checkpoint import SparkCheckpoint
from savepoint_extensions.spark_streams.operator_tables import StoreSize
from savepoint_extensions.spark_streams.stream_operator import StreamOperator
from savepoint_extensions.sql_jobs.history.sql_history import SqlHistory
from savepoint_extensions.sql_jobs.history.sql_operator import (
    SqlOperator,
)
from savepoint_extensions.sql_jobs.plan_diff import (
    PlanVerdict,
    SqlChange,
)
from savepoint_extensions.sql_jobs.sql_changes import (
    sql_diff,
)
from savepoint_extensions.upgrade.compatibility.expected_job import (
    JobOperator,
    JobSchema,
)
from savepoint_extensions.upgrade.compatibility.rules import (
    Finding,
    Verdict,
)
from savepoint_extensions.upgrade.compatibility_answer import (
    Compatibility,
    OperatorCompatibility,
    StateCompatibility,
)
from savepoint_extensions.upgrade.rule_lines import RuleLine
from savepoint_extensions.watch.breaches import Breach
from savepoint_extensions.watch.spans import Span
from savepoint_extensions.watch.threshold_file import ThresholdError, Thresholds
from savepoint_extensions.watch.watch_round import (
    WatchedKey,
    WatchedOperator,
    WatchedState,
    WatchRound,
)
from savepoint_extensions.watch.watching import Watch
from savepoint_formats.checks.faults import (
    Fault,
)
from savepoint_formats.errors import (
    AmbiguousJobError,
    AmbiguousOperatorError,
    ClassNotNamedError,
    ClusterError,
    ColumnNotFoundError,
    ColumnTypeError,
    ConditionError,
    ConversionError,
    DamagedError,
    DescriptionError,
    DuplicateKeyError,
    EmptySavepointError,
    EndlessTimersError,
    FieldNotFoundError,
    FileReplacedError,
    FormatError,
    FunctionResultError,
    HashCodeError,
    InexactTimeError,
    JobError,
    JobNotFoundError,
    KeyGroupError,
    KeyTypeError,
    MaskError,
    MergeError,
    MigrationError,
    MissingPackageError,
    NotAcceptedError,
    NotASavepointError,
    NotFoundError,
    NotMergeableError,
    NullKeyError,
    NullValueError,
    OperatorExistsError,
    OperatorNotFoundError,
    OverlappingWindowsError,
    PlanError,
    QueryError,
    RefusedError,
    RescaleError,
    RocksDbError,
    SavepointError,
    SavepointExistsError,
    SavepointNotFoundError,
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
    UndescribedSubclassError,
    UnencodableError,
    UnknownSnapshotError,
    UnreachableError,
    UnstableHashError,
    UnstableKeyError,
    UnsupportedVersionError,
    UsageError,
    ValueOutOfRangeError,
    WriteError,
    WrongFileError,
)
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.layout.general import (
    KryoClass,
    KryoField,
)
from savepoint_formats.savepoint_warnings import (
    ConnectorWarning,
    HiddenCommitWarning,
    LostStateWarning,
    NewestSnapshotWarning,
    NoMachineCodeWarning,
    PlugInWarning,
    SavepointWarning,
    UnknownUidWarning,
    UnreadStateWarning,
    UnreadTableWarning,
)
from savepoint_formats.scan import TableScan
from savepoint_formats.snapshots import TypeSerializerSnapshot
from savepoint_formats.state_files import StateKind
from savepoint_formats.tables import CatalogProblem, Table
from savepoint_formats.values import kryo_class
from savepoint_functions.aggregating.aggregates import (
    Aggregate,
    Aggregating,
    Avg,
    Count,
    Max,
    Min,
    Reducing,
    Sum,
    TopN,
)
from savepoint_functions.functions import (
    BroadcastProcessFunction,
    BroadcastResult,
    BroadcastStateBootstrapFunction,
    KeyBatch,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStateBootstrapFunction,
    OutputTag,
    RecordAttributes,
    StateBootstrapFunction,
)
from savepoint_functions.transformations.broadcast_transformation import (
    BroadcastRows,
    BroadcastTransformation,
)
from savepoint_functions.transformations.function_result import (
    FunctionResult,
    FunctionStateTransformation,
)
from savepoint_functions.transformations.keyed_transformation import (
    KeyedAggregation,
    KeyedStateTransformation,
)
from savepoint_functions.transformations.local_aggregation import (
    LocalAggregation,
    LocalKeyedTransformation,
)
from savepoint_functions.transformations.local_state_transformation import (
    LocalFunctionTransformation,
)
from savepoint_functions.transformations.process_transformation import (
    KeyedRowsTransformation,
)
from savepoint_functions.transformations.transformation import (
    OneInputStateTransformation,
)
from savepoint_functions.transformations.windowed_rows import (
    WindowedRows,
    WindowFunctionRows,
)
from savepoint_functions.windows.evictors import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    TimeEvictor,
    TimestampedValue,
)
from savepoint_functions.windows.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
    TriggerResult,
)
from savepoint_functions.windows.window_assigners import (
    GlobalWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    assign_windows,
)
from savepoint_functions.windows.window_functions import (
    ProcessWindowFunction,
)
from savepoint_spark.bootstrapping import OperatorStateTransformation, WindowedStateTransformation
from savepoint_spark.reading import KeyedStateReaderFunction, TimeWindow, WindowReaderFunction
from savepoint_spark.session import local_session
from savepoint_spark.writing import PlannedTransformation
from state_processor.importing.described_import import (
    DescribedImport,
)
from state_processor.importing.import_description import (
    ImportDescription,
)
from state_processor.savepoint.operator_transformation import (
    OperatorTransformation,
)
from state_processor.savepoint.planned_operator import (
    PlannedOperator,
)
from state_processor.savepoint.savepoint import (
    Savepoint,
)
from state_processor.savepoint.spark_savepoint import (
    SparkSavepoint,
)
from state_processor.savepoint.spark_verbs import (
    SparkSavepointDiff,
)
from state_processor.savepoint.watched import watch
from state_processor.savepoint.write_summaries import (
    PlannedSavepoint,
    WrittenOperator,
    WrittenSavepoint,
)
from state_processor.savepoint.writer import (
    SavepointWriter,
)

__version__: str

__all__ = [
    "Aggregate",
    "AggregateFunction",
    "Aggregating",
    "AggregatingStateDescriptor",
    "AmbiguousJobError",
    "AmbiguousOperatorError",
    "Avg",
    "Backlog",
    "BacklogCounts",
    "BacklogProgress",
    "BacklogResult",
    "Backup",
    "BatchProgress",
    "Breach",
    "BroadcastProcessFunction",
    "BroadcastResult",
    "BroadcastRows",
    "BroadcastStateBootstrapFunction",
    "BroadcastTransformation",
    "CatalogProblem",
    "ChangeCount",
    "ChangeFeed",
    "CheckpointChanges",
    "ClassNotNamedError",
    "ClassToDescribe",
    "ClusterError",
    "ColumnDescription",
    "ColumnNotFoundError",
    "ColumnTypeError",
    "CommittedBatch",
    "Compatibility",
    "ConditionError",
    "ConnectorWarning",
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "ConversionError",
    "Count",
    "CountEvictor",
    "CountTrigger",
    "DamagedError",
    "DeltaEvictor",
    "DeltaTrigger",
    "DescribedImport",
    "DescriptionError",
    "Difference",
    "DrilledTable",
    "DuplicateKeyError",
    "EmptySavepointError",
    "EndlessTimersError",
    "ErasureCertificate",
    "EventTimeTrigger",
    "Evictor",
    "ExportedTable",
    "Fault",
    "FieldNotFoundError",
    "FileDescription",
    "FileReplacedError",
    "FileSplit",
    "Finding",
    "FormatError",
    "FoundPlace",
    "FoundValues",
    "FunctionResult",
    "FunctionResultError",
    "FunctionStateTransformation",
    "Garbage",
    "GarbageFile",
    "GlobalWindows",
    "GoneCheckpointError",
    "HashCodeError",
    "HiddenCommitWarning",
    "ImportDescription",
    "InexactTimeError",
    "JobError",
    "JobNotFoundError",
    "JobOperator",
    "JobSchema",
    "KafkaState",
    "KeyBatch",
    "KeyGroupError",
    "KeyGroupRange",
    "KeyHistory",
    "KeyState",
    "KeyTypeError",
    "KeyedAggregation",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedRowsTransformation",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "KeyedStateTransformation",
    "KryoClass",
    "KryoField",
    "ListStateDescriptor",
    "LiveSnapshot",
    "LocalAggregation",
    "LocalFunctionTransformation",
    "LocalKeyedTransformation",
    "LostStateWarning",
    "MapStateDescriptor",
    "MaskError",
    "MaskRules",
    "MaskSuggestions",
    "MaskedField",
    "Max",
    "MergeError",
    "MetadataPart",
    "MigrationError",
    "Min",
    "MissingPackageError",
    "MixedModeJob",
    "NewestSnapshotWarning",
    "NoMachineCodeWarning",
    "NotASavepointError",
    "NotAcceptedError",
    "NotFoundError",
    "NotMergeableError",
    "NullKeyError",
    "NullValueError",
    "OneInputStateTransformation",
    "Operator",
    "OperatorCompatibility",
    "OperatorDescription",
    "OperatorExistsError",
    "OperatorNotFoundError",
    "OperatorSettings",
    "OperatorStateTransformation",
    "OperatorTransformation",
    "OutputTag",
    "OverlappingWindowsError",
    "ParquetOutput",
    "PlanError",
    "PlanVerdict",
    "PlannedOperator",
    "PlannedSavepoint",
    "PlannedTransformation",
    "PlugInWarning",
    "ProcessWindowFunction",
    "ProcessingTimeTrigger",
    "PrunedBackup",
    "PrunedBackups",
    "PurgingTrigger",
    "PyFlink",
    "QueryError",
    "QueryNode",
    "RecordAttributes",
    "Reducing",
    "ReducingStateDescriptor",
    "RefusedError",
    "ReplicaCheck",
    "RescaleError",
    "RestoreDrill",
    "RetainedSnapshot",
    "RetainedSnapshots",
    "RocksDbError",
    "RuleLine",
    "RunningStream",
    "Savepoint",
    "SavepointDescription",
    "SavepointDiff",
    "SavepointError",
    "SavepointExistsError",
    "SavepointNotFoundError",
    "SavepointStatistics",
    "SavepointWarning",
    "SavepointWriter",
    "SchemaChangeError",
    "SessionWindows",
    "SinkBytes",
    "SinkEntry",
    "SinkState",
    "SizeHistory",
    "SlidingWindows",
    "SourceEntry",
    "SourceState",
    "Span",
    "SparkChangeFeed",
    "SparkCheckpoint",
    "SparkSavepoint",
    "SparkSavepointDiff",
    "SqlChange",
    "SqlHistory",
    "SqlOperator",
    "StateBootstrapFunction",
    "StateChanges",
    "StateCompatibility",
    "StateCounts",
    "StateDescription",
    "StateDescriptor",
    "StateExistsError",
    "StateFileNotFoundError",
    "StateGrowth",
    "StateKind",
    "StateMoment",
    "StateNotFoundError",
    "StateTtlConfig",
    "StateTypeError",
    "StateVisibility",
    "StoreSize",
    "StreamOperator",
    "SubtaskError",
    "Sum",
    "Table",
    "TableChanges",
    "TableDescription",
    "TableFileError",
    "TableFiles",
    "TableFormat",
    "TableNotFoundError",
    "TableScan",
    "ThresholdError",
    "Thresholds",
    "TimeEvictor",
    "TimeWindow",
    "TimestampedValue",
    "TopN",
    "Trigger",
    "TriggerResult",
    "TruncatedError",
    "TumblingWindows",
    "TypeInformation",
    "TypeSerializerSnapshot",
    "Types",
    "UndecodableError",
    "UndescribedSubclassError",
    "UnencodableError",
    "UnknownSnapshotError",
    "UnknownUidWarning",
    "UnreachableError",
    "UnreadStateWarning",
    "UnreadTableWarning",
    "UnstableHashError",
    "UnstableKeyError",
    "UnsupportedVersionError",
    "UpdateType",
    "UsageError",
    "ValueOutOfRangeError",
    "ValueStateDescriptor",
    "Verdict",
    "Verification",
    "Watch",
    "WatchRound",
    "WatchedKey",
    "WatchedOperator",
    "WatchedState",
    "WindowFunctionRows",
    "WindowReaderFunction",
    "WindowedRows",
    "WindowedStateTransformation",
    "WriteError",
    "WrittenOperator",
    "WrittenSavepoint",
    "WrongFileError",
    "__version__",
    "assign_windows",
    "export_table",
    "find",
    "follow_changes",
    "history",
    "kryo_class",
    "kubernetes_snapshot",
    "live_snapshots",
    "local_session",
    "print_progress",
    "prune_backups",
    "restore_drill",
    "schema_text",
    "size_history",
    "snapshots",
    "sql_diff",
    "take_savepoint",
    "watch",
]
