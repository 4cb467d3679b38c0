"""Rules about snapshots and states: a row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_extensions.upgrade.compatibility.operator_rules import (
    CONVERT,
    FORST,
    HASHMAP,
    ROCKSDB,
    STATE_V2,
    UPGRADING,
)
from savepoint_extensions.upgrade.compatibility.rules import (
    Rule,
    Verdict,
    from_1_to_2,
    is_back_only,
    is_too_new,
    made_by_1_to_2,
    on,
    to_another,
    whole_if,
)
from savepoint_extensions.upgrade.compatibility.serializer_rules import NOTES_2_0
from savepoint_extensions.upgrade.compatibility.unreadable_objects import replacement
from savepoint_formats.metadata import (
    KAFKA_POSITIONS,
    KINESIS_POSITIONS,
    NEWEST_FILE,
    stale_positions,
)
from savepoint_formats.snapshots import KRYO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_extensions.upgrade.compatibility.facts import SnapshotFacts, StateFacts

_OF_CONNECTORS = (
    *("SourceReaderState", "writer_raw_states", "streaming_committer_raw_states"),
    "committer_raw_states",
)
_OF_FILE_SINK = {"bucket-states": "BytePrimitiveArray", "max-part-counter": "Long"}
_OF_MESSAGES = "message-acknowledging-source-state"
_OF_SQL = "org.apache.flink.table.runtime."
_COLLECTIONS_OF_KRYO = "CollectionSerializer, MapSerializer, FieldSerializer of Kryo"


def _version(snapshot: SnapshotFacts) -> Iterator[str]:
    yield f"_metadata of version {snapshot.metadata.version}"


def _max_parallelism(snapshot: SnapshotFacts) -> Iterator[str]:
    parallelisms = {
        operator.max_parallelism
        for operator in snapshot.metadata.operators
        if any(subtask.managed_keyed_state for subtask in operator.subtasks)
    }
    if parallelisms:
        yield f"max parallelism {', '.join(map(str, sorted(parallelisms)))}"


def _is_of_file_sink(state: StateFacts) -> bool:
    element = _OF_FILE_SINK.get(state.name)
    return element is not None and any(
        element in use.snapshot_class and use.path == "value" for use in state.serializers
    )


def _is_of_old_files(state: StateFacts) -> bool:
    is_of_java = any("JavaSerializer" in use.snapshot_class for use in state.serializers)
    return state.name == NEWEST_FILE or (state.name == "splits" and is_of_java)


def _stale_sources(snapshot: SnapshotFacts) -> Iterator[str]:
    for operator, name in stale_positions(snapshot.metadata):
        yield f"operator {operator}: {name}"


def _of_sql(state: StateFacts) -> Iterator[str]:
    if any(use.snapshot_class.startswith(_OF_SQL) for use in state.serializers):
        yield ""


def _undescribed(state: StateFacts) -> Iterator[str]:
    yield from state.subclasses


def _unseen(state: StateFacts) -> Iterator[str]:
    if state.unseen:
        yield state.unseen


def _has_default_serializers(state: StateFacts) -> bool:
    return any(
        use.snapshot_class == KRYO and use.snapshot[part]
        for use in state.serializers
        for part in ("default_serializers", "default_serializer_classes")
    )


def _unreadable(*, is_by_default: bool) -> Callable[[StateFacts], Iterator[str]]:
    """Finds classes that Kryo does not read back, with those that it does."""

    def finds(state: StateFacts) -> Iterator[str]:
        if _has_default_serializers(state) is not is_by_default:
            for name in state.unreadable:
                yield " → ".join(filter(None, (name, replacement(name))))

    return finds


def _unsearched(state: StateFacts) -> Iterator[str]:
    if state.unsearched:
        yield state.unsearched


def _repeated(state: StateFacts) -> Iterator[str]:
    if state.is_repeated:
        yield state.name


SNAPSHOT_RULES: tuple[Rule[SnapshotFacts], ...] = (
    Rule(
        "metadata-version",
        Verdict.NOT_RESTORABLE,
        _version,
        "the target does not know this version of the file, which newer releases write",
        "restore it with the release that wrote it, or a newer one; to go back, read the state here,"
        " and write a new savepoint, which older releases read",
        "MetadataSerializers",
        crosses=is_too_new,
    ),
    Rule(
        "stopped-source",
        Verdict.SILENT_CORRUPTION,
        _stale_sources,
        "the job was stopped when it took this savepoint. A FlinkKafkaConsumer, and a FlinkKinesisConsumer"
        " before FLINK-35115, then store the positions of the checkpoint before, or none, but all other"
        " state is newer: records in between are read twice. A ContinuousFileMonitoringFunction stores no time"
        " of the newest file: a restored job reads no new file",
        "take a savepoint while the job runs and cancel it then, or cancel it with a retained checkpoint",
        "FLINK-35115; FlinkKafkaConsumerBase.snapshotState; ContinuousFileMonitoringFunction.cancel; tried in"
        " 1.20.5",
    ),
    Rule(
        "downgrade",
        Verdict.UNKNOWN,
        whole_if(lambda _: True),
        "Flink promises that newer releases read the state of older ones, not the other way round",
        "try the restore; or restore it with the release that wrote it",
        f"{UPGRADING}#compatibility-table",
        crosses=is_back_only,
    ),
    Rule(
        "major-version",
        Verdict.RESTORABLE,
        whole_if(lambda _: True),
        "Flink does not promise that 2.x restores state of 1.x: restorable means that no known rule"
        " forbids it, and is no guarantee",
        "try the restore before you rely on it",
        f"{NOTES_2_0} (Misc)",
        crosses=made_by_1_to_2,
    ),
    Rule(
        "max-parallelism",
        Verdict.RESTORABLE,
        _max_parallelism,
        "a job that sets another max parallelism is refused; a job that sets none takes that"
        " of the savepoint, and can't have more subtasks",
        "set the same or none; or savepoint rescale PATH OUT --max-parallelism N",
        "StateAssignmentOperation; StreamExecutionEnvironment.setMaxParallelism",
    ),
)

STATE_RULES: tuple[Rule[StateFacts], ...] = (
    Rule(
        "raw-state",
        Verdict.UNKNOWN,
        whole_if(lambda state: state.kind in ("raw keyed", "raw operator")),
        "only the operator knows the format of its raw state",
        "make sure that the operator of the target reads this state",
        "StateInitializationContext.getRawOperatorStateInputs",
        crosses=to_another,
    ),
    Rule(
        "sql",
        Verdict.UNKNOWN,
        _of_sql,
        "the planner of another release may plan a query differently: with other operators, or"
        " with other state in them",
        "run the query from its compiled plan (COMPILE PLAN, EXECUTE PLAN), and try the restore",
        f"{UPGRADING}#table-api--sql",
        crosses=to_another,
    ),
    Rule(
        "connector",
        Verdict.UNKNOWN,
        whole_if(lambda state: state.kind == "coordinator" or state.name in _OF_CONNECTORS),
        "it is the state of a source or sink, in the format of its connector. Connectors for"
        " Flink 1 do not run on Flink 2, and only the newer connector knows whether it reads the state",
        "upgrade the connector within Flink 1 as far as possible, and take another savepoint;"
        " savepoint kafka PATH shows the state of Kafka's sources",
        f"{NOTES_2_0} (Connector Adaption Plan)",
        crosses=made_by_1_to_2,
    ),
    Rule(
        "kafka-consumer",
        Verdict.AFTER_MIGRATION,
        whole_if(lambda state: state.kind == "union list" and state.name == KAFKA_POSITIONS),
        "it is the state of FlinkKafkaConsumer, which Flink 2 does not run",
        "savepoint migrate writes it for a KafkaSource with the same uid, which continues at these offsets",
        f"{NOTES_2_0} (SourceFunction); tried from 1.20.5 with 3.4.0-1.20 to 2.2.1 with 5.0.0-2.2",
        crosses=made_by_1_to_2,
    ),
    Rule(
        "kinesis-consumer",
        Verdict.UNKNOWN,
        whole_if(lambda state: state.name == KINESIS_POSITIONS),
        "it is the state of FlinkKinesisConsumer, which Flink 2 does not run. savepoint sources --to-new writes"
        " it for a KinesisStreamsSource, which is not proven: no release of that source could be run",
        "savepoint sources PATH OUT --to-new OPERATOR --stream-arn ARN, and savepoint migrate OUT; try the"
        " restore before you rely on it. Or take the source of a new job that ran once: savepoint transplant",
        f"{NOTES_2_0} (SourceFunction); KinesisShardSplitSerializer of flink-connector-aws 5.0",
        crosses=made_by_1_to_2,
    ),
    Rule(
        "rabbitmq-source",
        Verdict.NOT_RESTORABLE,
        whole_if(lambda state: state.name == _OF_MESSAGES),
        "it is the state of RMQSource, which Flink 2 does not run: ids of messages that it had read and not"
        " acknowledged. No source of RabbitMQ for Flink 2 that continues from it could be run: not proven",
        "cancel the job with a retained checkpoint, after which the messages are acknowledged; or let the new"
        " job drop those that RabbitMQ delivers again, by the ids that savepoint sources PATH lists. Then leave"
        " the state out (savepoint migrate --skip-state)",
        f"{NOTES_2_0} (SourceFunction); MessageAcknowledgingSourceBase",
        crosses=made_by_1_to_2,
    ),
    Rule(
        "streaming-file-sink",
        Verdict.RESTORABLE,
        whole_if(_is_of_file_sink),
        "it is the state of StreamingFileSink, which Flink 2 does not run; a FileSink reads it",
        "use a FileSink with the same uid, the same directory and the same assigner of buckets;"
        " savepoint sinks lists its files",
        "FileWriterBucketStateSerializer reads versions 1 to 3; tried from 1.20.5 to 2.2.1",
        crosses=made_by_1_to_2,
    ),
    Rule(
        "file-monitoring",
        Verdict.AFTER_MIGRATION,
        whole_if(_is_of_old_files),
        "it is the state of ContinuousFileMonitoringFunction, or of the reader behind it, which Flink 2 does not"
        " run. It has the time of the newest file, and a FileSource needs the paths of all files that were read",
        "savepoint sources PATH OUT --to-new READER --directory URI lists them and writes the state of a"
        " FileSource with the uid of the reader; then savepoint migrate OUT",
        "ContinuousFileMonitoringFunction, PendingSplitsCheckpoint; tried from 1.20.5 to 2.2.1",
        crosses=made_by_1_to_2,
    ),
    Rule(
        "pojo-subclass",
        Verdict.UNKNOWN,
        _undescribed,
        "values are of a subclass of a POJO that no serializer snapshot describes. Flink 2 makes its"
        " serializer from the class alone: if that has a List, Map or Set, or a field that Kryo writes,"
        " Flink 2 misreads the bytes of Flink 1",
        "describe the class, and the one that it extends, by --classes (kryo_class(…, superclass=…)): then"
        " the doctor sees its fields, and savepoint migrate writes them",
        "PojoSerializer.getSubclassSerializer, TypeExtractor",
        crosses=from_1_to_2,
    ),
    Rule(
        "pojo-unseen",
        Verdict.UNKNOWN,
        _unseen,
        "values of POJOs may be of subclasses that no serializer snapshot describes, and not all of"
        " them were looked at",
        "savepoint migrate PATH OUT --target 2.2 --dry-run looks at all values of all states",
        "PojoSerializer.getSubclassSerializer",
        crosses=from_1_to_2,
    ),
    Rule(
        "kryo-unreadable",
        Verdict.NOT_RESTORABLE,
        _unreadable(is_by_default=True),
        "values have objects that Flink's Kryo writes but can't read back: the restore fails with an"
        " UnsupportedOperationException, a NullPointerException or the like. RocksDB fails when the job"
        " asks for such a key, the hashmap backend at once",
        "give them a class that holds the same elements: savepoint rename-class PATH OLD NEW OUT, once for"
        " each class; and let the job copy such collections (new ArrayList<>(…)) before it stores them",
        _COLLECTIONS_OF_KRYO,
    ),
    Rule(
        "kryo-unreadable-perhaps",
        Verdict.UNKNOWN,
        _unreadable(is_by_default=False),
        "values have objects that Flink's Kryo writes but can't read back, unless a default serializer of"
        " the job does",
        "try the restore; or savepoint rename-class PATH OLD NEW OUT, once for each class",
        _COLLECTIONS_OF_KRYO,
    ),
    Rule(
        "kryo-unsearched",
        Verdict.UNKNOWN,
        _unsearched,
        "Kryo wrote values, and not all of them were searched for objects that Kryo can't read back",
        "savepoint doctor PATH --all-values, or try the restore",
        _COLLECTIONS_OF_KRYO,
    ),
    Rule(
        "state-v2",
        Verdict.AFTER_MIGRATION,
        whole_if(lambda state: state.is_v2),
        "it is state V2, which asynchronous operators keep in ForSt and no other backend restores",
        CONVERT,
        STATE_V2,
        crosses=on(HASHMAP, ROCKSDB),
    ),
    Rule(
        "state-v2-on-forst",
        Verdict.RESTORABLE,
        whole_if(lambda state: state.is_v2),
        "it is state V2, which only asynchronous operators restore, and only with ForSt",
        "keep enableAsyncState or table.exec.async-state.enabled of the job, and its backend;"
        f" or {CONVERT}",
        STATE_V2,
        crosses=on(FORST, ""),
    ),
    Rule(
        "state-twice",
        Verdict.UNKNOWN,
        _repeated,
        "the operator's keyed state has two states with the same name; Flink looks states up by their names",
        "rename one of them in the job that writes",
        "AbstractKeyedStateBackend",
    ),
)
