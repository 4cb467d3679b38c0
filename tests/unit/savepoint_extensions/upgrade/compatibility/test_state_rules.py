"""Each rule finds what it is about, in what a real Flink wrote wherever there is such a thing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.sample_rows import SAMPLES
from support.state_v2 import savepoint_v2

from savepoint_extensions.upgrade.compatibility.facts import (
    OperatorFacts,
    SerializerUse,
    StateFacts,
)
from savepoint_extensions.upgrade.compatibility.operator_rules import OPERATOR_RULES
from savepoint_extensions.upgrade.compatibility.rules import Crossing, Verdict, all_findings
from savepoint_extensions.upgrade.compatibility.state_rules import SNAPSHOT_RULES, STATE_RULES
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.metadata import OperatorState, RelativeFile, SubtaskState
from savepoint_formats.metadata.flink_versions import FlinkVersionRange
from savepoint_formats.metadata.operator_handles import ChannelStateHandle
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.fields import OptionalEntry
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

FROM_1_TO_2 = Crossing(FlinkVersionRange((1, 16), (1, 20)), 4, (2, 2))
TO_ITSELF = Crossing(FlinkVersionRange((2, 2), (2, 2)), 6, (2, 2))

# Rule -> sample, target, backend, state; no state for what is said of an operator or a snapshot.
OF_SAMPLES = {
    "kryo": ("objects-1.20.5-rocksdb-native", "2.2", "", "shape"),
    "kryo-collection": ("objects-1.20.5-hashmap-canonical", "2.0", "", "basket"),
    "sql": ("sql-1.20.5-rocksdb-native", "2.2", "", "accState"),
    "connector": ("currency-1.20.5-hashmap-inline", "2.3", "", "SourceReaderState"),
    "uid": ("currency-1.20.5-hashmap-inline", "1.20", "", ""),
    "forst-canonical": ("states-2.2.1-rocksdb-canonical", "2.2", "forst", ""),
    "native-of-rocksdb": ("states-2.2.1-rocksdb-incremental/chk-2", "2.2", "hashmap", ""),
    "native-of-rocksdb-on-forst": ("states-2.2.1-rocksdb-native", "2.2", "forst", ""),
    "native-of-hashmap": ("windows-2.2.1-hashmap-native", "2.2", "rocksdb", ""),
    "native": ("windows-2.2.1-hashmap-native", "2.2", "", ""),
    "changelog": ("states-1.20.5-hashmap-changelog/chk-2", "2.2", "", ""),
    "changelog-enabled": ("states-1.20.5-hashmap-changelog/chk-2", "1.20", "", ""),
    "metadata-version": ("states-2.2.1-rocksdb-native", "2.0", "", ""),
    "major-version": ("states-1.20.5-rocksdb-native", "2.2", "", ""),
    "max-parallelism": ("states-2.2.1-rocksdb-native", "2.2", "", ""),
    "pojo-subclass": ("objects-1.20.5-hashmap-native", "2.2", "", "payment"),
}

OF_CORPUS = {
    "java-serialized": ("complexKeyed-flink1.18", "2.2", "", "_default_"),
    "backend-format-before-1.13": (
        "new-stateful-udf-migration-itcase-flink1.8-rocksdb-savepoint",
        "1.20",
        "rocksdb",
        "",
    ),
}


def found_in(path: Path, target: str, backend: str) -> dict[str, set[str]]:
    """Rule -> the states that it finds something in; an empty text for anything else."""
    judged = Savepoint.open(str(path)).compatibility(target, backend=backend)
    places = [(finding.rule, "") for finding in judged.findings]
    for operator in judged.operators:
        places += [(finding.rule, "") for finding in operator.findings]
        for state in operator.states:
            places += [(finding.rule, state.state) for finding in state.findings]
    found: dict[str, set[str]] = {}
    for rule, state_name in places:
        found.setdefault(rule, set()).add(state_name)
    return found


@pytest.mark.parametrize("rule", OF_SAMPLES)
def test_a_rule_finds_what_it_is_about_in_a_sample(rule: str) -> None:
    name, target, backend, state = OF_SAMPLES[rule]
    assert state in found_in(SAMPLES / name, target, backend)[rule]


@pytest.mark.parametrize("rule", OF_CORPUS)
def test_a_rule_finds_what_it_is_about_in_the_corpus(corpus: Path, rule: str) -> None:
    name, target, backend, state = OF_CORPUS[rule]
    assert state in found_in(corpus / "savepoints" / name, target, backend)[rule]


@pytest.mark.parametrize(
    ("backend", "expected"),
    [("hashmap", "state-v2"), ("rocksdb", "state-v2")]
    + [(name, "state-v2-on-forst") for name in ("forst", "")],
)
def test_only_asynchronous_operators_with_forst_restore_state_v2(
    tmp_path: Path, backend: str, expected: str
) -> None:
    sample = SAMPLES / "states-2.2.1-rocksdb-native"
    found = found_in(savepoint_v2(sample, tmp_path / "v2"), "2.2", backend)
    assert {"memos", "by_currency", "last_id"} <= found[expected]
    assert {name for name in found if "state-v2" in name} == {expected}
    assert not any("state-v2" in name for name in found_in(sample, "2.2", backend))


def test_a_job_of_state_v2_has_forst_and_restores_its_own_files(tmp_path: Path) -> None:
    path = str(savepoint_v2(SAMPLES / "states-2.2.1-rocksdb-native", tmp_path / "v2"))
    judged = Savepoint.open(path).compatibility(job=path)
    assert (judged.backend, judged.is_restorable) == ("forst", True)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb", "forst", ""])
def test_no_backend_restores_state_v2_of_a_canonical_file(tmp_path: Path, backend: str) -> None:
    sample = SAMPLES / "states-2.2.1-hashmap-canonical"
    path = savepoint_v2(sample, tmp_path / "v2")
    judged = Savepoint.open(str(path)).compatibility("2.2", backend=backend)
    assert not judged.is_restorable
    assert "state-v2-canonical" in found_in(path, "2.2", backend)
    assert "state-v2-canonical" not in found_in(sample, "2.2", backend)


def operator(subtask: SubtaskState, uid: str | None = "orders") -> OperatorFacts:
    record = OperatorState(OperatorId.from_uid("orders"), 1, 128, (subtask,))
    return OperatorFacts(record, uid, (StateFacts("total", "value"),))


def test_records_in_flight_are_known_to_no_other_release() -> None:
    channel = ChannelStateHandle(None, 0, (0, 0), (0,), 8, RelativeFile("in-flight", 8))
    found = operator(SubtaskState(0, input_channels=(channel,)))
    findings = all_findings(OPERATOR_RULES, found, FROM_1_TO_2)
    assert [finding.rule for finding in findings] == ["in-flight"]
    assert all_findings(OPERATOR_RULES, found, TO_ITSELF) == ()


def test_an_operator_of_flink_2_without_uid() -> None:
    (finding,) = all_findings(OPERATOR_RULES, operator(SubtaskState(0), None), TO_ITSELF)
    assert (finding.rule, finding.verdict) == ("no-uid", Verdict.UNKNOWN)


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ("raw-state", StateFacts("raw_keyed_state", "raw keyed")),
        ("kafka-consumer", StateFacts("topic-partition-offset-states", "union list")),
        ("state-twice", StateFacts("total", "value", is_repeated=True)),
        ("pojo-unseen", StateFacts("total", "value", unseen="there are more values")),
        ("kryo-unsearched", StateFacts("total", "value", unsearched="there are more values")),
    ],
)
def test_states_that_no_sample_has(rule: str, state: StateFacts) -> None:
    assert [one.rule for one in all_findings(STATE_RULES, state, FROM_1_TO_2)] == [rule]
    plain = replace(state, name="total", kind="value", is_repeated=False, unseen="", unsearched="")
    assert all_findings(STATE_RULES, plain, FROM_1_TO_2) == ()


def test_a_file_sink_is_known_by_the_types_of_its_states() -> None:
    element = SerializerUse("value", constructed.basic("array.BytePrimitiveArray"))
    buckets = StateFacts("bucket-states", "operator list", (element,))
    judged = all_findings(STATE_RULES, buckets, FROM_1_TO_2)
    assert [(one.rule, one.verdict) for one in judged] == [("streaming-file-sink", "restorable")]
    other = replace(buckets, serializers=(SerializerUse("value", constructed.string()),))
    assert all_findings(STATE_RULES, other, FROM_1_TO_2) == ()
    monitoring = StateFacts("file-monitoring-state", "operator list")
    judged = all_findings(STATE_RULES, monitoring, FROM_1_TO_2)
    assert [(one.rule, one.verdict) for one in judged] == [
        ("file-monitoring", "restorable after migration")
    ]
    messages = StateFacts("message-acknowledging-source-state", "operator list")
    judged = all_findings(STATE_RULES, messages, FROM_1_TO_2)
    assert [(one.rule, one.verdict) for one in judged] == [("rabbitmq-source", "not restorable")]
    shards = StateFacts("Kinesis-Stream-Shard-State", "union list")
    judged = all_findings(STATE_RULES, shards, FROM_1_TO_2)
    assert [(one.rule, one.verdict) for one in judged] == [("kinesis-consumer", "unknown")]


def test_collections_that_flink_1_cannot_read_are_named_with_the_way_out(cases: Path) -> None:
    case = str(cases / "06-collections-kryo-cannot-read")
    judged = Savepoint.open(case).compatibility(job=case)
    assert judged.verdict == "not restorable"
    wheres = {one.where for _, one in judged.placed() if one.rule == "kryo-unreadable"}
    assert wheres == {
        f"java.util.{old} → java.util.{new}"
        for old, new in {
            "ImmutableCollections$List12": "ArrayList",
            "ImmutableCollections$ListN": "ArrayList",
            "Collections$UnmodifiableRandomAccessList": "ArrayList",
            "ImmutableCollections$Map1": "LinkedHashMap",
        }.items()
    }


def test_values_beyond_the_limit_are_no_reason_to_call_state_restorable(
    cases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = str(cases / "06-collections-kryo-cannot-read")
    monkeypatch.setattr("savepoint_extensions.upgrade.compatibility_answer.MOST_BYTES", 1)
    rules, all_rules = (
        {one.rule for _, one in judged.placed()}
        for judged in (
            Savepoint.open(case).compatibility(job=case),
            Savepoint.open(case).compatibility(job=case, all_values=True),
        )
    )
    assert "kryo-unsearched" in rules
    assert "kryo-unsearched" not in all_rules
    assert "kryo-unreadable" in all_rules


def test_a_default_serializer_may_read_what_kryo_does_not() -> None:
    entry = OptionalEntry("java.util.Collection", None, None)
    of_kryo = constructed.kryo("java.util.List")
    with_default = of_kryo.with_fields(default_serializer_classes=(entry,))
    name = "java.util.Collections$CopiesList"
    for snapshot, rule in (of_kryo, "kryo-unreadable"), (with_default, "kryo-unreadable-perhaps"):
        use = SerializerUse("value", snapshot)
        state = StateFacts("total", "value", (use,), unreadable=(name,))
        found = all_findings(STATE_RULES, state, TO_ITSELF)
        assert [(one.rule, one.where) for one in found] == [(rule, f"{name} → java.util.ArrayList")]


def test_an_older_release_may_not_read_what_a_newer_one_wrote() -> None:
    savepoint = Savepoint.open(str(SAMPLES / "currency-1.20.5-hashmap-canonical"))
    judged = savepoint.compatibility("1.18", written_by="1.20.5")
    assert "downgrade" in {finding.rule for finding in judged.findings}
    assert judged.written_by == "1.20"
    assert "downgrade" not in {one.rule for one in savepoint.compatibility("1.18").findings}


def test_every_rule_has_a_test_a_reason_an_advice_and_a_source() -> None:
    found = set(OF_SAMPLES) | set(OF_CORPUS)
    made = {"in-flight", "no-uid", "raw-state", "kafka-consumer", "state-twice", "downgrade"}
    made |= {
        "stopped-source",
        "kinesis-consumer",
        "rabbitmq-source",
        "streaming-file-sink",
        "file-monitoring",
        "kryo-unreadable",
        "kryo-unreadable-perhaps",
        "kryo-unsearched",
    }
    made |= {"pojo-unseen", "state-v2", "state-v2-on-forst", "state-v2-canonical"}
    rules = (
        *((one.name, one.reason, one.advice, one.source) for one in SNAPSHOT_RULES),
        *((one.name, one.reason, one.advice, one.source) for one in OPERATOR_RULES),
        *((one.name, one.reason, one.advice, one.source) for one in STATE_RULES),
    )
    names = [name for name, *_ in rules]
    assert len(set(names)) == len(names)
    assert set(names) == (found | made) - {"kryo", "kryo-collection", "java-serialized"}
    assert all(text for texts in rules for text in texts)
