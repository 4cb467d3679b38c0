"""Rules about snapshots, their operators and the states of these: a row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.compatibility.releases import (
    always,
    from_1_to_2,
    is_back_only,
    is_too_new,
    knows_hashes,
    knows_uids,
    made_by_1_to_2,
    on,
    to_another,
)
from savepoint_formats.compatibility.rules import Rule
from savepoint_formats.compatibility.serializer_rules import NOTES_2_0
from savepoint_formats.compatibility.verdicts import Verdict
from savepoint_formats.metadata import (
    ChangelogHandle,
    IncrementalHandle,
    KeyedHandleType,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.compatibility.facts import OperatorFacts, SnapshotFacts, StateFacts
    from savepoint_formats.metadata import KeyedStateHandle

UPGRADING = "https://nightlies.apache.org/flink/flink-docs-stable/docs/ops/upgrading/"
CHECKPOINTS = (
    "https://nightlies.apache.org/flink/flink-docs-stable/docs/ops/state/checkpoints_vs_savepoints/"
)
HASHMAP, ROCKSDB, FORST = "hashmap", "rocksdb", "forst"
BACKENDS = (HASHMAP, ROCKSDB, FORST)

_OF_CONNECTORS = (
    *("SourceReaderState", "writer_raw_states", "streaming_committer_raw_states"),
    *("committer_raw_states", "bucket-states", "max-part-counter"),
)
_OF_SQL = "org.apache.flink.table.runtime."
_OF_KAFKA_CONSUMER = "topic-partition-offset-states"
_MATCHING = f"{UPGRADING}#matching-operator-state"
_SET_UIDS = (
    "set uids in the job; state moves to an operator by savepoint rename-operator PATH HASH UID OUT"
)
_CONVERT = "make it canonical: savepoint convert PATH OUT"


def _version(snapshot: SnapshotFacts) -> Iterator[str]:
    yield f"_metadata of version {snapshot.metadata.version}"


def _whole(_snapshot: SnapshotFacts) -> Iterator[str]:
    yield ""


def _max_parallelism(snapshot: SnapshotFacts) -> Iterator[str]:
    parallelisms = {
        operator.max_parallelism
        for operator in snapshot.metadata.operators
        if any(subtask.managed_keyed_state for subtask in operator.subtasks)
    }
    if parallelisms:
        yield f"max parallelism {', '.join(map(str, sorted(parallelisms)))}"


def _in_flight(operator: OperatorFacts) -> Iterator[str]:
    if any(
        subtask.input_channels or subtask.output_channels for subtask in operator.record.subtasks
    ):
        yield "records in flight"


def _without_uid(operator: OperatorFacts) -> Iterator[str]:
    if operator.uid is None and operator.states:
        yield ""


def _handles(operator: OperatorFacts) -> Iterator[KeyedStateHandle]:
    for subtask in operator.record.subtasks:
        if subtask.managed_keyed_state is not None:
            yield subtask.managed_keyed_state


def _types(operator: OperatorFacts) -> set[KeyedHandleType]:
    """The types of the files of its keyed state; those that a changelog begins with among them."""
    return {
        base.type
        for handle in _handles(operator)
        for base in (handle.base if isinstance(handle, ChangelogHandle) else (handle,))
    }


def _of_type(what: str, *types: KeyedHandleType) -> Callable[[OperatorFacts], Iterator[str]]:
    def finds(operator: OperatorFacts) -> Iterator[str]:
        if _types(operator) & set(types):
            yield what

    return finds


def _native(operator: OperatorFacts) -> Iterator[str]:
    types = _types(operator) - {KeyedHandleType.CANONICAL_SAVEPOINT}
    if types:
        is_rocksdb = any(isinstance(handle, IncrementalHandle) for handle in _bases(operator))
        yield "files of RocksDB or ForSt" if is_rocksdb else "files of the hashmap backend"


def _bases(operator: OperatorFacts) -> Iterator[KeyedStateHandle]:
    for handle in _handles(operator):
        yield from handle.base if isinstance(handle, ChangelogHandle) else (handle,)


def _changelog(operator: OperatorFacts) -> Iterator[str]:
    if any(isinstance(handle, ChangelogHandle) for handle in _handles(operator)):
        yield "changelog"


def _raw(state: StateFacts) -> Iterator[str]:
    if state.kind in ("raw keyed", "raw operator"):
        yield ""


def _of_sql(state: StateFacts) -> Iterator[str]:
    if any(use.snapshot_class.startswith(_OF_SQL) for use in state.serializers):
        yield ""


def _of_connector(state: StateFacts) -> Iterator[str]:
    if state.kind == "coordinator" or state.name in _OF_CONNECTORS:
        yield ""


def _of_kafka_consumer(state: StateFacts) -> Iterator[str]:
    if state.kind == "union list" and state.name == _OF_KAFKA_CONSUMER:
        yield ""


def _undescribed(state: StateFacts) -> Iterator[str]:
    yield from state.subclasses


def _unseen(state: StateFacts) -> Iterator[str]:
    if state.unseen:
        yield state.unseen


def _repeated(state: StateFacts) -> Iterator[str]:
    if state.is_repeated:
        yield state.name


SNAPSHOT_RULES: tuple[Rule[SnapshotFacts], ...] = (
    Rule(
        "metadata-version",
        Verdict.NOT_RESTORABLE,
        is_too_new,
        _version,
        "the target does not know this version of the file, which newer releases write",
        "restore it by the release that wrote it, or a newer one; to go back, read the state here,"
        " and write a savepoint from nothing, which older releases read",
        "MetadataSerializers",
    ),
    Rule(
        "downgrade",
        Verdict.UNKNOWN,
        is_back_only,
        _whole,
        "Flink promises that newer releases read what older ones wrote, not the other way",
        "try the restore; or restore it by the release that wrote it",
        f"{UPGRADING}#compatibility-table",
    ),
    Rule(
        "major-version",
        Verdict.RESTORABLE,
        made_by_1_to_2,
        _whole,
        "Flink promises nothing of state from 1.x to 2.x: no rule speaks against what is restorable"
        " here, which is not the same",
        "try the restore before you rely on it",
        f"{NOTES_2_0} (Misc)",
    ),
    Rule(
        "max-parallelism",
        Verdict.RESTORABLE,
        always,
        _max_parallelism,
        "a job that asks for another max parallelism is refused; one that asks for none takes that"
        " of the savepoint, and can't have more subtasks",
        "ask for the same or for none; or savepoint rescale PATH OUT --max-parallelism N",
        "StateAssignmentOperation; StreamExecutionEnvironment.setMaxParallelism",
    ),
)

OPERATOR_RULES: tuple[Rule[OperatorFacts], ...] = (
    Rule(
        "in-flight",
        Verdict.UNKNOWN,
        to_another,
        _in_flight,
        "an unaligned checkpoint holds records on their way, which Flink does not support to restore"
        " by another minor release",
        "take a savepoint of the job, or an aligned checkpoint",
        CHECKPOINTS,
    ),
    Rule(
        "no-uid",
        Verdict.UNKNOWN,
        knows_uids,
        _without_uid,
        "the job sets no uid: the hash is that of the operator's place in the job, and another job,"
        " or the same one in another release, may not find the state",
        _SET_UIDS,
        _MATCHING,
    ),
    Rule(
        "uid",
        Verdict.RESTORABLE,
        knows_hashes,
        _without_uid,
        "only a hash is stored. If it is not that of a uid but of the operator's place in the job,"
        " another job, or the same one in another release, may not find the state",
        f"name the uids by --uid, to see which operators have one; {_SET_UIDS}",
        _MATCHING,
    ),
    Rule(
        "forst-canonical",
        Verdict.NOT_RESTORABLE,
        on(FORST),
        _of_type("canonical files", KeyedHandleType.CANONICAL_SAVEPOINT),
        "ForSt restores no canonical savepoints",
        "restore it with the hashmap backend or with RocksDB",
        "ForStKeyedStateBackendBuilder (2.2.1: Not support restoring yet)",
    ),
    Rule(
        "native-of-rocksdb",
        Verdict.AFTER_MIGRATION,
        on(HASHMAP),
        _of_type(
            "files of RocksDB or ForSt",
            KeyedHandleType.INCREMENTAL,
            KeyedHandleType.INCREMENTAL_V1,
        ),
        "the hashmap backend does not read them",
        _CONVERT,
        CHECKPOINTS,
    ),
    Rule(
        "native-of-rocksdb-on-forst",
        Verdict.UNKNOWN,
        on(FORST),
        _of_type(
            "files of RocksDB or ForSt",
            KeyedHandleType.INCREMENTAL,
            KeyedHandleType.INCREMENTAL_V1,
        ),
        "ForSt reads its own files; those of RocksDB have handles of the same type",
        "ask who wrote them: the job's state.backend.type",
        CHECKPOINTS,
    ),
    Rule(
        "native-of-hashmap",
        Verdict.AFTER_MIGRATION,
        on(ROCKSDB, FORST),
        _of_type("files of the hashmap backend", KeyedHandleType.KEY_GROUPS),
        "neither RocksDB nor ForSt reads them",
        _CONVERT,
        CHECKPOINTS,
    ),
    Rule(
        "backend-format-before-1.13",
        Verdict.UNKNOWN,
        on(*BACKENDS),
        _of_type("files of the backend that wrote them", KeyedHandleType.KEY_GROUPS_V1),
        "up to Flink 1.12 savepoints have the format of their backend too, and do not say which",
        _CONVERT,
        CHECKPOINTS,
    ),
    Rule(
        "native",
        Verdict.RESTORABLE,
        on(""),
        _native,
        "only the state backend that wrote them restores them",
        f"keep the backend of the job, and name it by --backend; or {_CONVERT}",
        CHECKPOINTS,
    ),
    Rule(
        "changelog",
        Verdict.UNKNOWN,
        to_another,
        _changelog,
        "Flink says nothing of changelogs from one release to another",
        f"take a canonical savepoint of the job; or {_CONVERT}",
        CHECKPOINTS,
    ),
    Rule(
        "changelog-enabled",
        Verdict.RESTORABLE,
        always,
        _changelog,
        "a job without a changelog can't read one, nor one with another state backend below it",
        f"set state.changelog.enabled in the job, and keep its backend; or {_CONVERT}",
        "ChangelogStateBackendHandle",
    ),
)

STATE_RULES: tuple[Rule[StateFacts], ...] = (
    Rule(
        "raw-state",
        Verdict.UNKNOWN,
        to_another,
        _raw,
        "only the operator knows the format of its raw state",
        "see to it that the operator of the target reads what the other one wrote",
        "StateInitializationContext.getRawOperatorStateInputs",
    ),
    Rule(
        "sql",
        Verdict.UNKNOWN,
        to_another,
        _of_sql,
        "the planner of another release may plan a query in another way: with other operators, or"
        " with other state in them",
        "run the query from its compiled plan (COMPILE PLAN, EXECUTE PLAN), and try the restore",
        f"{UPGRADING}#table-api--sql",
    ),
    Rule(
        "connector",
        Verdict.UNKNOWN,
        made_by_1_to_2,
        _of_connector,
        "it is the state of a source or sink, in the format of its connector. Connectors for"
        " Flink 1 do not run on Flink 2, and whether the newer one reads it, it alone knows",
        "upgrade the connector within Flink 1 as far as possible, and take another savepoint;"
        " savepoint kafka PATH shows the state of Kafka's sources",
        f"{NOTES_2_0} (Connector Adaption Plan)",
    ),
    Rule(
        "kafka-consumer",
        Verdict.NOT_RESTORABLE,
        made_by_1_to_2,
        _of_kafka_consumer,
        "it is that of FlinkKafkaConsumer, which Flink 2 does not run",
        "read the offsets here, let a KafkaSource begin with them, and leave this state out"
        " (savepoint remove-operator)",
        f"{NOTES_2_0} (SourceFunction)",
    ),
    Rule(
        "pojo-subclass",
        Verdict.UNKNOWN,
        from_1_to_2,
        _undescribed,
        "values are of a subclass of a POJO that no serializer snapshot describes. Flink 2 makes its"
        " serializer of the class alone: where that has a List, Map or Set, or a field that is Kryo's,"
        " it reads the bytes of Flink 1 as what they are not",
        "describe the class, and what it extends, by --classes (kryo_class(…, superclass=…)): then"
        " the doctor sees its fields, and savepoint migrate writes them",
        "PojoSerializer.getSubclassSerializer, TypeExtractor",
    ),
    Rule(
        "pojo-unseen",
        Verdict.UNKNOWN,
        from_1_to_2,
        _unseen,
        "values of POJOs may be of subclasses that no serializer snapshot describes, and not all of"
        " them were looked at",
        "savepoint migrate PATH OUT --target 2.2 --dry-run looks at all values of all states",
        "PojoSerializer.getSubclassSerializer",
    ),
    Rule(
        "state-twice",
        Verdict.UNKNOWN,
        always,
        _repeated,
        "the operator's keyed state has two states of one name; Flink looks them up by their names",
        "rename one of them in the job that writes",
        "AbstractKeyedStateBackend",
    ),
)
