"""Rules about the types of states that a new version of a job changed: a row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_extensions.upgrade.compatibility.job_rules import ANOTHER_STATE
from savepoint_extensions.upgrade.compatibility.operator_rules import FORST, ROCKSDB
from savepoint_extensions.upgrade.compatibility.rules import Rule, Verdict, on
from savepoint_extensions.upgrade.compatibility.serializer_resolution import Outcome, Resolution
from savepoint_formats.state_files import StateKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_extensions.upgrade.compatibility.job_pairs import StatePair
    from savepoint_extensions.upgrade.compatibility.rules import Crossing

_EVOLUTION = (
    "https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/datastream/fault-tolerance/"
    "serialization/schema_evolution/"
)
_TTL_MIGRATION = "FLINK-32955; TtlAwareSerializerSnapshot"
_KRYO_SERIALIZERS = "KryoSerializerSnapshot; KryoRegistration"
_GENERIC_AVRO = "AvroSerializer; org.apache.avro.generic.GenericDatumWriter"
_FIRST_WITH_TTL_MIGRATION = (2, 2)


def _fixed(role: str, *outcomes: Outcome) -> Callable[[StatePair], Iterator[str]]:
    """Finds the serializer of a role that Flink never migrates, if it has one of the outcomes."""

    def finds(pair: StatePair) -> Iterator[str]:
        if pair.old is None or (role == "key" and pair.old.kind == "broadcast"):
            return
        resolution = pair.resolutions.get(role, Resolution())
        if resolution.outcome in outcomes:
            yield from (change.where for change in resolution.changes)

    return finds


def _map_key(pair: StatePair) -> Iterator[str]:
    """Finds the key of a map state if it would have to be migrated."""
    if pair.old is None or pair.old.kind != "map":
        return
    resolution = pair.resolutions.get("value", Resolution())
    if resolution.outcome is Outcome.MIGRATED:
        for change in resolution.changes:
            if change.where.startswith("value{key}"):
                yield change.where


def _change(name: str, verdict: Verdict, reason: str, advice: str, source: str) -> Rule[StatePair]:
    """The rule about the change of a serializer that has the same name."""
    return Rule(name, verdict, _changed(name), reason, advice, source)


def _changed(rule: str) -> Callable[[StatePair], Iterator[str]]:
    """Finds the changes named by a rule, except in keys and namespaces, which have own rules."""

    def finds(pair: StatePair) -> Iterator[str]:
        for role, resolution in pair.resolutions.items():
            is_fixed = role in ("key", "namespace") and not _is_broadcast(pair)
            if not is_fixed:
                yield from (change.where for change in resolution.changes if change.rule == rule)

    return finds


def _by_key(rule: str) -> Callable[[StatePair], Iterator[str]]:
    """Finds the changes named by a rule in state of keys, also in keys and namespaces."""

    def finds(pair: StatePair) -> Iterator[str]:
        if pair.old is not None and StateKind(pair.old.kind).is_keyed:
            for resolution in pair.resolutions.values():
                yield from (change.where for change in resolution.changes if change.rule == rule)

    return finds


def _is_broadcast(pair: StatePair) -> bool:
    return pair.old is not None and pair.old.kind == "broadcast"


def _before_ttl_migration(crossing: Crossing) -> bool:
    return crossing.target < _FIRST_WITH_TTL_MIGRATION


def _with_ttl_migration(crossing: Crossing) -> bool:
    return not _before_ttl_migration(crossing)


JOB_TYPE_RULES: tuple[Rule[StatePair], ...] = (
    Rule(
        "key-type",
        Verdict.NOT_RESTORABLE,
        _fixed("key", Outcome.MIGRATED, Outcome.INCOMPATIBLE),
        "the keys have another type, which Flink never migrates",
        "keep the type of the keys; or write the state again under new keys: savepoint export,"
        " savepoint import",
        _EVOLUTION,
    ),
    Rule(
        "key-type-unknown",
        Verdict.UNKNOWN,
        _fixed("key", Outcome.UNKNOWN),
        "the serializer of the keys changed to an unknown one",
        "try the restore",
        "TypeSerializerSnapshot.resolveSchemaCompatibility",
    ),
    Rule(
        "namespace-type",
        Verdict.NOT_RESTORABLE,
        _fixed("namespace", Outcome.MIGRATED, Outcome.INCOMPATIBLE),
        "the windows, or other namespaces, have another type, which Flink never migrates",
        "keep the window assigner, or give the operator another uid and let it begin without state",
        "RegisteredKeyValueStateBackendMetaInfo",
    ),
    Rule(
        "namespace-type-unknown",
        Verdict.UNKNOWN,
        _fixed("namespace", Outcome.UNKNOWN),
        "the serializer of the windows, or other namespaces, changed to an unknown one",
        "try the restore",
        "TypeSerializerSnapshot.resolveSchemaCompatibility",
    ),
    Rule(
        "map-key-evolved",
        Verdict.NOT_RESTORABLE,
        _map_key,
        "the key of a map state changed in a way that needs a migration, which RocksDB and ForSt do"
        " only for the values of maps",
        "restore it with the hashmap backend, and take another savepoint there; or "
        + ANOTHER_STATE,
        "RocksDBKeyedStateBackend.migrateStateValues",
        crosses=on(ROCKSDB, FORST),
    ),
    Rule(
        "map-key-evolved-somewhere",
        Verdict.RESTORABLE,
        _map_key,
        "the key of a map state changed in a way that needs a migration, which the hashmap backend"
        " does, and RocksDB and ForSt refuse",
        "name the backend of the job with --backend",
        "RocksDBKeyedStateBackend.migrateStateValues",
        crosses=on(""),
    ),
    _change(
        "field-widened",
        Verdict.AFTER_MIGRATION,
        "a field has a wider number type, and Flink does not migrate to it",
        "savepoint widen-field PATH OPERATOR STATE FIELD TYPE OUT",
        _EVOLUTION,
    ),
    _change(
        "class-renamed",
        Verdict.AFTER_MIGRATION,
        "a POJO has another class with the same names of fields, and Flink compares the classes",
        "if it is the same class: savepoint rename-class PATH OLD NEW OUT",
        _EVOLUTION,
    ),
    _change(
        "other-class",
        Verdict.NOT_RESTORABLE,
        "values written by Kryo have another class",
        "if it is the same class under another name: savepoint rename-class PATH OLD NEW OUT; else "
        + ANOTHER_STATE,
        "KryoSerializerSnapshot",
    ),
    _change(
        "pojo-kryo",
        Verdict.NOT_RESTORABLE,
        "a class that was a POJO is written by Kryo now, or the reverse, because it gained or lost a"
        " public constructor without arguments, getters and setters, or a field that Flink can't type",
        "change the class back; or " + ANOTHER_STATE,
        "PojoTypeInfo, TypeExtractor.analyzePojo",
    ),
    _change(
        "type-changed",
        Verdict.NOT_RESTORABLE,
        "the values have another type",
        ANOTHER_STATE,
        _EVOLUTION,
    ),
    _change(
        "arity-changed",
        Verdict.NOT_RESTORABLE,
        "a tuple, a Row or a case class has another number of fields",
        "put new fields into a state of their own; or " + ANOTHER_STATE,
        "CompositeTypeSerializerSnapshot",
    ),
    _change(
        "sql-row",
        Verdict.AFTER_MIGRATION,
        "a row of a SQL operator has other types, which Flink does not migrate",
        "savepoint sql-diff matches old and new operators; savepoint add-field, drop-field and"
        " widen-field change rows",
        "RowDataSerializer.RowDataSerializerSnapshot",
    ),
    _change(
        "enum-constant-removed",
        Verdict.NOT_RESTORABLE,
        "an enum has lost constants, which the serializer needs even if no value has them",
        "keep the constants in the enum",
        "EnumSerializerSnapshot",
    ),
    _change(
        "enum-order",
        Verdict.RESTORABLE,
        "the constants of an enum have another order, or there are new ones: Flink keeps the old"
        " numbers and appends new constants",
        "nothing needs to be done",
        "EnumSerializerSnapshot",
    ),
    _change(
        "field-added",
        Verdict.RESTORABLE,
        "a POJO has a new field: Flink migrates. In old values the field has what the class"
        " initializes it with, else null or 0",
        "to give it another value: savepoint add-field PATH OPERATOR STATE FIELD TYPE OUT --value SQL",
        _EVOLUTION,
    ),
    _change(
        "field-removed",
        Verdict.RESTORABLE,
        "a POJO has lost a field: Flink migrates, and drops its values",
        "nothing needs to be done if you don't need them",
        _EVOLUTION,
    ),
    _change(
        "field-renamed",
        Verdict.RESTORABLE,
        "a POJO has lost a field, and has a new one of the same type. Flink does not take that for a"
        " new name, and drops the old values",
        "if it is the same field: savepoint rename-field PATH OPERATOR STATE OLD NEW OUT",
        _EVOLUTION,
    ),
    _change(
        "avro-evolved",
        Verdict.RESTORABLE,
        "the Avro schema changed, and the new one reads what the old one wrote: Flink migrates",
        "nothing needs to be done",
        _EVOLUTION,
    ),
    _change(
        "avro-schema",
        Verdict.NOT_RESTORABLE,
        "the new Avro schema does not read what the old one wrote",
        "give new fields a default and renamed ones an alias, and keep types, names and symbols; or "
        + ANOTHER_STATE,
        f"{_EVOLUTION}; org.apache.avro.SchemaCompatibility",
    ),
    _change(
        "avro-class",
        Verdict.AFTER_MIGRATION,
        "Avro records have another class, and Flink needs the old one to read the serializer snapshot",
        "if it is the same class: savepoint rename-class PATH OLD NEW OUT",
        "AvroSerializerSnapshot.readSnapshot",
    ),
    _change(
        "avro-generic",
        Verdict.NOT_RESTORABLE,
        "the Avro schema of a GenericRecord changed: Flink agrees to migrate, but reads records by the old"
        " schema and writes them by the new one, by position: RocksDB fails at the first access, the"
        " hashmap backend at the first checkpoint",
        "write the values by the new schema: savepoint change-avro PATH OPERATOR STATE SCHEMA OUT; or keep the"
        " order and the types of the fields: only the last fields can go; or " + ANOTHER_STATE,
        _GENERIC_AVRO,
    ),
    _change(
        "avro-generic-shifted",
        Verdict.SILENT_CORRUPTION,
        "the Avro schema of a GenericRecord changed: Flink reads records by the old schema and writes them"
        " by the new one, by position, so that fields get the values of others without an error",
        "write the values by the new schema: savepoint change-avro PATH OPERATOR STATE SCHEMA OUT; or keep the"
        " order of the fields: only the last fields can go; or " + ANOTHER_STATE,
        _GENERIC_AVRO,
    ),
    _change(
        "kryo-registrations",
        Verdict.RESTORABLE,
        "classes are registered with Kryo in another order, or no longer: Flink keeps the old"
        " numbers. Classes that were registered must still be there",
        "keep the classes; you may remove a registration, but not its class",
        "KryoSerializerSnapshot",
    ),
    _change(
        "kryo-registration-lost",
        Verdict.NOT_RESTORABLE,
        "a class that was registered with Kryo could not be loaded when the savepoint was taken, and"
        " the new job does not register it",
        "register the class again",
        "KryoSerializerSnapshot",
    ),
    Rule(
        "kryo-serializer",
        Verdict.SILENT_CORRUPTION,
        _by_key("kryo-serializer"),
        "the new job gives Kryo another serializer for the class of the values. Flink compares only the names"
        " of classes: it restores, and the new serializer reads what the old one wrote. Values are wrong"
        " without an error, or the first access fails",
        "restore it once with the hashmap backend, which reads a savepoint by the old serializers, and take"
        " another one there; or let the new serializer read what the old one wrote; or give the class the old serializer again; or "
        + ANOTHER_STATE,
        _KRYO_SERIALIZERS,
        crosses=on("", ROCKSDB, FORST),
    ),
    Rule(
        "kryo-serializer-perhaps",
        Verdict.UNKNOWN,
        _by_key("kryo-serializer-perhaps"),
        "the new job gives Kryo another serializer for a class. Flink restores, and if values have objects of the"
        " class, the new serializer reads what the old one wrote: values are wrong, or the access fails",
        "look for the class with savepoint classes PATH: nothing needs to be done if no value has it. Else"
        " restore the savepoint once with the hashmap backend, and take another one there",
        _KRYO_SERIALIZERS,
        crosses=on("", ROCKSDB, FORST),
    ),
    Rule(
        "ttl-changed",
        Verdict.NOT_RESTORABLE,
        _changed("ttl"),
        "a time to live was set or removed, which no Flink before 2.2 restores",
        "restore it with Flink 2.2 or later; or " + ANOTHER_STATE,
        _TTL_MIGRATION,
        crosses=_before_ttl_migration,
    ),
    Rule(
        "ttl-migrated",
        Verdict.RESTORABLE,
        _changed("ttl"),
        "a time to live was set or removed: Flink migrates from 2.2 on, and values get the time of the"
        " restore; Flink 2.1 and older refuse",
        "nothing needs to be done with Flink 2.2 or later",
        _TTL_MIGRATION,
        crosses=_with_ttl_migration,
    ),
    _change(
        "format-evolved",
        Verdict.RESTORABLE,
        "a serializer writes another format than the one that wrote the state: Flink migrates",
        "nothing needs to be done",
        "CompositeTypeSerializerSnapshot.resolveOuterSchemaCompatibility",
    ),
    _change(
        "serializer-changed",
        Verdict.UNKNOWN,
        "a serializer of the job or of a library changed, and only its own class knows what it reads",
        "try the restore",
        "TypeSerializerSnapshot.resolveSchemaCompatibility",
    ),
)
