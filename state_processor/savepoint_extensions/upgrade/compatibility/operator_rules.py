"""Rules about operators and the files of their state: a row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_extensions.upgrade.compatibility.rules import (
    Rule,
    Verdict,
    knows_hashes,
    knows_uids,
    on,
    to_another,
)
from savepoint_formats.metadata import ChangelogHandle, IncrementalHandle, KeyedHandleType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_extensions.upgrade.compatibility.facts import OperatorFacts
    from savepoint_formats.metadata import KeyedStateHandle

UPGRADING = "https://nightlies.apache.org/flink/flink-docs-stable/docs/ops/upgrading/"
HASHMAP, ROCKSDB, FORST = "hashmap", "rocksdb", "forst"
BACKENDS = (HASHMAP, ROCKSDB, FORST)
CONVERT = "make it canonical: savepoint convert PATH OUT"
STATE_V2 = "RegisteredKeyValueStateBackendMetaInfo of runtime.state.v2; tried in 2.2.1 and 2.3.0"

_CHECKPOINTS = (
    "https://nightlies.apache.org/flink/flink-docs-stable/docs/ops/state/checkpoints_vs_savepoints/"
)
_MATCHING = f"{UPGRADING}#matching-operator-state"
_SET_UIDS = "set uids in the job; move state to an operator with savepoint rename-operator PATH HASH UID OUT"


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
    """The types of the files of its keyed state, including those below a changelog."""
    return {handle.type for handle in _bases(operator)}


def _of_type(what: str, *types: KeyedHandleType) -> Callable[[OperatorFacts], Iterator[str]]:
    def finds(operator: OperatorFacts) -> Iterator[str]:
        if _types(operator) & set(types):
            yield what

    return finds


def _of_rocksdb_or_forst(operator: OperatorFacts) -> Iterator[str]:
    """Finds files that RocksDB or ForSt wrote; only ForSt has state V2."""
    types = {KeyedHandleType.INCREMENTAL, KeyedHandleType.INCREMENTAL_V1}
    if _types(operator) & types and not any(state.is_v2 for state in operator.states):
        yield "files of RocksDB or ForSt"


def _native(operator: OperatorFacts) -> Iterator[str]:
    types = _types(operator) - {KeyedHandleType.CANONICAL_SAVEPOINT}
    if types:
        is_rocksdb = any(isinstance(handle, IncrementalHandle) for handle in _bases(operator))
        yield "files of RocksDB or ForSt" if is_rocksdb else "files of the hashmap backend"


def _bases(operator: OperatorFacts) -> Iterator[KeyedStateHandle]:
    for handle in _handles(operator):
        yield from handle.base if isinstance(handle, ChangelogHandle) else (handle,)


def _canonical_v2(operator: OperatorFacts) -> Iterator[str]:
    if KeyedHandleType.CANONICAL_SAVEPOINT in _types(operator):
        yield from (f"state {state.name!r}" for state in operator.states if state.is_v2)


def _changelog(operator: OperatorFacts) -> Iterator[str]:
    if any(isinstance(handle, ChangelogHandle) for handle in _handles(operator)):
        yield "changelog"


OPERATOR_RULES: tuple[Rule[OperatorFacts], ...] = (
    Rule(
        "in-flight",
        Verdict.UNKNOWN,
        _in_flight,
        "an unaligned checkpoint holds records in flight, and Flink does not support restoring them"
        " in another minor release",
        "take a savepoint of the job, or an aligned checkpoint; or drop the records: savepoint convert"
        " PATH OUT --drop-in-flight",
        _CHECKPOINTS,
        crosses=to_another,
    ),
    Rule(
        "no-uid",
        Verdict.UNKNOWN,
        _without_uid,
        "the job sets no uid: the hash comes from the operator's place in the job, and another job,"
        " or the same one in another release, may not find the state",
        _SET_UIDS,
        _MATCHING,
        crosses=knows_uids,
    ),
    Rule(
        "uid",
        Verdict.RESTORABLE,
        _without_uid,
        "only a hash is stored. If it comes not from a uid but from the operator's place in the job,"
        " another job, or the same one in another release, may not find the state",
        f"name the uids with --uid to see which operators have one; {_SET_UIDS}",
        _MATCHING,
        crosses=knows_hashes,
    ),
    Rule(
        "forst-canonical",
        Verdict.NOT_RESTORABLE,
        _of_type("canonical files", KeyedHandleType.CANONICAL_SAVEPOINT),
        "ForSt restores no canonical savepoints",
        "restore it with the hashmap backend or with RocksDB",
        "ForStKeyedStateBackendBuilder (2.2.1: Not support restoring yet)",
        crosses=on(FORST),
    ),
    Rule(
        "state-v2-canonical",
        Verdict.AFTER_MIGRATION,
        _canonical_v2,
        "it is state V2 in a canonical file, which no state backend restores",
        "write it as synchronous state: savepoint convert PATH OUT",
        STATE_V2,
    ),
    Rule(
        "native-of-rocksdb",
        Verdict.AFTER_MIGRATION,
        _of_type(
            "files of RocksDB or ForSt", KeyedHandleType.INCREMENTAL, KeyedHandleType.INCREMENTAL_V1
        ),
        "the hashmap backend does not read them",
        CONVERT,
        _CHECKPOINTS,
        crosses=on(HASHMAP),
    ),
    Rule(
        "native-of-rocksdb-on-forst",
        Verdict.UNKNOWN,
        _of_rocksdb_or_forst,
        "ForSt reads its own files; those of RocksDB have handles of the same type",
        "look up the backend that wrote them: the job's state.backend.type",
        _CHECKPOINTS,
        crosses=on(FORST),
    ),
    Rule(
        "native-of-hashmap",
        Verdict.AFTER_MIGRATION,
        _of_type("files of the hashmap backend", KeyedHandleType.KEY_GROUPS),
        "neither RocksDB nor ForSt reads them",
        CONVERT,
        _CHECKPOINTS,
        crosses=on(ROCKSDB, FORST),
    ),
    Rule(
        "backend-format-before-1.13",
        Verdict.UNKNOWN,
        _of_type("files of the backend that wrote them", KeyedHandleType.KEY_GROUPS_V1),
        "up to Flink 1.12 savepoints have the format of their backend, and do not name it",
        CONVERT,
        _CHECKPOINTS,
        crosses=on(*BACKENDS),
    ),
    Rule(
        "native",
        Verdict.RESTORABLE,
        _native,
        "only the state backend that wrote them restores them",
        f"keep the backend of the job, and name it with --backend; or {CONVERT}",
        _CHECKPOINTS,
        crosses=on(""),
    ),
    Rule(
        "changelog",
        Verdict.UNKNOWN,
        _changelog,
        "Flink does not document whether another release restores changelogs",
        f"take a canonical savepoint of the job; or {CONVERT}",
        _CHECKPOINTS,
        crosses=to_another,
    ),
    Rule(
        "changelog-enabled",
        Verdict.RESTORABLE,
        _changelog,
        "a job without a changelog, or with another state backend below it, can't read one",
        f"set state.changelog.enabled in the job, and keep its backend; or {CONVERT}",
        "ChangelogStateBackendHandle",
    ),
)
