"""Rules about serializers: a row each.

The snapshot classes that Flink 2 lacks were found by comparing the distributions of 1.20.5 and 2.2.1.
State of Kryo from 1.20.5 was restored in 2.2.1: objects of ints and texts were right, floats were wrong,
lists and POJOs with collections failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_extensions.upgrade.compatibility.rules import (
    Rule,
    Verdict,
    from_1_to_2,
    made_by_1_to_2,
    to_another,
)
from savepoint_formats.layout import FLINK_2_COLLECTIONS
from savepoint_formats.snapshots import KINDS, KRYO, LEGACY_VERSION, OpaqueSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_extensions.upgrade.compatibility.facts import SerializerUse

_NOTES = "https://nightlies.apache.org/flink/flink-docs-release-{0}/release-notes/flink-{0}/"
NOTES_2_0 = _NOTES.format("2.0")
_NOTES_1_17 = _NOTES.format("1.17")

_FLINK = "org.apache.flink."
_SCALA = f"{_FLINK}api.scala.typeutils."
_TWO_PHASE = f"{_FLINK}streaming.api.functions.sink.TwoPhaseCommitSinkFunction$"
_KAFKA_PRODUCER = f"{_FLINK}streaming.connectors.kafka.FlinkKafkaProducer"
# In the states of FlinkKafkaConsumer and FlinkKinesisConsumer, which have rules of their own.
_OF_CONSUMERS = (
    f"{_FLINK}streaming.connectors.kafka.internals.KafkaTopicPartition",
    f"{_FLINK}streaming.connectors.kinesis.model.SequenceNumber",
)
_JAVA = f"{_FLINK}runtime.state.JavaSerializer$JavaSerializerSnapshot"
_REPLACED = (
    f"{_FLINK}api.java.typeutils.runtime.EitherSerializerSnapshot",
    f"{_FLINK}api.common.typeutils.base.GenericArraySerializerConfigSnapshot",
    f"{_FLINK}cep.nfa.sharedbuffer.SharedBufferNode$",
)


HEALED_BY_MIGRATION = frozenset(["kryo", "kryo-collection"])
"""The rules about state that ``migrate`` makes restorable."""


def _is_collection_field(use: SerializerUse) -> bool:
    is_kryo = use.snapshot_class == KRYO
    return is_kryo and use.is_field and use.type_class in FLINK_2_COLLECTIONS


def _collection_fields(use: SerializerUse) -> Iterator[str]:
    if _is_collection_field(use):
        yield f"{use.path}: {use.type_class}"


def _kryo(use: SerializerUse) -> Iterator[str]:
    is_own = use.type_class in _OF_CONSUMERS
    if use.snapshot_class == KRYO and not is_own and not _is_collection_field(use):
        yield f"{use.path}: {use.type_class}"


def _of_class(*beginnings: str) -> Callable[[SerializerUse], Iterator[str]]:
    """Finds serializers whose snapshot class begins like this."""

    def finds(use: SerializerUse) -> Iterator[str]:
        if use.snapshot_class.startswith(beginnings):
            yield f"{use.path}: {use.snapshot_class}"

    return finds


def _two_phase(use: SerializerUse) -> Iterator[str]:
    """Finds sinks of the old API, except Kafka's, which has a rule of its own."""
    if use.snapshot_class.startswith(_TWO_PHASE) and _KAFKA_PRODUCER not in repr(use.snapshot):
        yield f"{use.path}: {use.snapshot_class}"


def _config_snapshots(use: SerializerUse) -> Iterator[str]:
    if use.snapshot.version == LEGACY_VERSION:
        yield f"{use.path}: {use.snapshot_class}"


def _unknown(use: SerializerUse) -> Iterator[str]:
    snapshot = use.snapshot
    # A plug-in reads the bytes here; the job's own class decides at the target.
    is_own = not snapshot.class_name.startswith(_FLINK) and snapshot.version != LEGACY_VERSION
    is_of_plug_in = is_own and snapshot.class_name not in KINDS
    if isinstance(snapshot, OpaqueSnapshot) or is_of_plug_in:
        yield f"{use.path}: {use.snapshot_class}"


SERIALIZER_RULES: tuple[Rule[SerializerUse], ...] = (
    Rule(
        "kryo",
        Verdict.SILENT_CORRUPTION,
        _kryo,
        "Flink 1 writes with Kryo 2.24, Flink 2 reads with Kryo 5.6, and both have the same serializer"
        " snapshot, so Flink 2 does not notice. The bytes of some classes are the same, those of"
        " most are not: values are wrong without an error, or the restore fails when it reads them",
        "do not restore it as it is: savepoint migrate writes it for Flink 2, if you describe your own"
        " classes in it. Or keep the state in a POJO, an Avro class or under your own serializer"
        " before you leave Flink 1",
        f"FLINK-34037, {NOTES_2_0}; KryoSerializerSnapshot",
        crosses=from_1_to_2,
    ),
    Rule(
        "kryo-collection",
        Verdict.AFTER_MIGRATION,
        _collection_fields,
        "Flink 1 gives a List, Map or Set in a POJO to Kryo; Flink 2 has serializers of its own"
        " for them, and refuses the POJO, or fails when it reads it. If the field is declared without"
        " type arguments, or with some that have arguments or are wildcards, as List<List<String>>, it"
        " stays with Kryo, and its values may be wrong",
        "savepoint migrate writes it for Flink 2, if you describe your own classes in it, and say"
        " which are POJOs; or give the field your own type information"
        " in both jobs, and take another savepoint with Flink 1",
        f"FLINK-34037, FLINK-34123, {NOTES_2_0}; TypeExtractor",
        crosses=from_1_to_2,
    ),
    Rule(
        "scala",
        Verdict.AFTER_MIGRATION,
        _of_class(_SCALA),
        "Flink 2 has no API for Scala, so the class of this serializer snapshot is missing",
        "savepoint migrate --scala writes it for flink-scala-api (flinkx), or for a job in Java, as"
        " POJOs (pojo) or rows (row)",
        f"{NOTES_2_0} (Scala DataStream API)",
        crosses=made_by_1_to_2,
    ),
    Rule(
        "replaced-serializer",
        Verdict.AFTER_MIGRATION,
        _of_class(*_REPLACED),
        "Flink 2 does not have this class of a serializer snapshot, which newer releases of Flink 1"
        " read but no longer write",
        "restore the savepoint with Flink 1.20, and take another one",
        "the classes of flink-dist 1.20.5 and 2.2.1",
        crosses=made_by_1_to_2,
    ),
    Rule(
        "two-phase-commit",
        Verdict.NOT_RESTORABLE,
        _two_phase,
        "Flink 2's API has no sinks of this kind, and the class of the serializer snapshot"
        " is in another package",
        "cancel the job with a retained checkpoint, whose transactions the sink has committed by then;"
        " savepoint sinks lists them. Use a sink of the new API, and leave this state out (savepoint"
        " remove-operator)",
        f"{NOTES_2_0} (SinkFunction, Sink V1)",
        crosses=made_by_1_to_2,
    ),
    Rule(
        "kafka-producer",
        Verdict.AFTER_MIGRATION,
        _of_class(_KAFKA_PRODUCER),
        "Kafka's connector for Flink 2 has no FlinkKafkaProducer",
        "savepoint migrate lets a KafkaSink with the same uid and another transactionalIdPrefix commit its"
        " transactions; savepoint kafka lists them, and those that you must abort",
        f"{NOTES_2_0} (SinkFunction, Sink V1); tried from 1.20.5 with 3.4.0-1.20 to 2.2.1 with 5.0.0-2.2",
        crosses=made_by_1_to_2,
    ),
    Rule(
        "config-snapshot",
        Verdict.AFTER_MIGRATION,
        _config_snapshots,
        "no release since 1.17 reads config snapshots of serializers, which come from jobs of Flink 1.7"
        " and older, and from serializers that were written for them",
        "restore the savepoint with Flink 1.8 to 1.16, and take another one",
        f"FLINK-29807, {_NOTES_1_17}",
    ),
    Rule(
        "java-serialized",
        Verdict.UNKNOWN,
        _of_class(_JAVA),
        "values are objects that Java's serialization wrote: they are read if all their classes"
        " exist, with the same serialVersionUID",
        "check which classes the values have, and whether they come from Flink or its libraries",
        "JavaSerializer",
        crosses=made_by_1_to_2,
    ),
    Rule(
        "unknown-serializer",
        Verdict.UNKNOWN,
        _unknown,
        "the serializer, or its version, belongs to the job or to a library",
        "make sure that its snapshot class exists for the target, and reads its old state",
        "TypeSerializerSnapshot.resolveSchemaCompatibility",
        crosses=to_another,
    ),
)
