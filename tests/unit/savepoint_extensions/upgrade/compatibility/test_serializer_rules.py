"""Each rule about serializers finds what it is about, and says where in a state it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.hand_made import LONG, snapshot, utf
from support.serializer_snapshots import RUNTIME, composite, optional_map, pojo

from savepoint_extensions.upgrade.compatibility.facts import SerializerUse, uses_of
from savepoint_extensions.upgrade.compatibility.rules import (
    Crossing,
    Verdict,
    all_findings,
    target_release,
    worst,
)
from savepoint_extensions.upgrade.compatibility.serializer_rules import SERIALIZER_RULES
from savepoint_formats.metadata.flink_versions import TARGETS, FlinkVersionRange, release
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot, read_serializer
from savepoint_formats.snapshots.legacy import LEGACY_VERSION
from savepoint_formats.snapshots.snapshot import OpaqueSnapshot

if TYPE_CHECKING:
    from pathlib import Path

FROM_1_TO_2 = Crossing(FlinkVersionRange((1, 16), (1, 20)), 4, (2, 2))
TO_ITSELF = Crossing(FlinkVersionRange((2, 2), (2, 2)), 6, (2, 2))

KRYO = f"{RUNTIME}kryo.KryoSerializerSnapshot"
PRODUCER = "org.apache.flink.streaming.connectors.kafka.FlinkKafkaProducer"
HAND_MADE = {
    "replaced-serializer": TypeSerializerSnapshot(f"{RUNTIME}EitherSerializerSnapshot", 3),
    "config-snapshot": TypeSerializerSnapshot("shop.OldSnapshot", LEGACY_VERSION),
    "kafka-producer": TypeSerializerSnapshot(f"{PRODUCER}$ContextStateSerializerSnapshot", 3),
    "unknown-serializer": OpaqueSnapshot("shop.OwnSnapshot", 1, reason="its class is not known"),
}


def entry_of(data: bytes) -> TypeSerializerSnapshot:
    return read_serializer(SnapshotView(data))


def rules_of(snapshot: TypeSerializerSnapshot, crossing: Crossing = FROM_1_TO_2) -> dict[str, str]:
    """Rule -> where in the serializers it finds something."""
    return {
        finding.rule: finding.where.partition(":")[0]
        for use in uses_of(snapshot, "value")
        for finding in all_findings(SERIALIZER_RULES, use, crossing)
    }


def test_two_phase_commit_of_the_corpus(corpus: Path) -> None:
    path = corpus / "serializers" / "two-phase-commit-sink-state-serializer-1.20"
    found = rules_of(entry_of((path / "serializer-snapshot").read_bytes()))
    assert found == {"two-phase-commit": "value"}


def test_scala_of_the_vectors(corpus: Path) -> None:
    path = corpus.parent / "spec" / "serializer-vectors.json"
    if not path.is_file():
        pytest.skip("no vectors beside the corpus")
    vectors = json.loads(path.read_text(encoding="utf-8"))["vectors"]
    (some,) = {one["snapshot"] for one in vectors if one["name"] == "some"}
    assert rules_of(entry_of(bytes.fromhex(some))) == {"scala": "value"}


@pytest.mark.parametrize("rule", HAND_MADE)
def test_serializers_that_no_sample_has(rule: str) -> None:
    assert rules_of(HAND_MADE[rule]) == {rule: "value"}


def test_the_class_behind_a_plug_in_decides_at_the_target() -> None:
    of_plug_in = TypeSerializerSnapshot("shop.OwnSnapshot", 3)
    assert rules_of(of_plug_in) == {"unknown-serializer": "value"}
    assert rules_of(of_plug_in, TO_ITSELF) == {}


def kryo(type_class: str) -> bytes:
    return snapshot(KRYO, utf(type_class) + 3 * optional_map({}), version=2)


def test_places_are_told_by_the_names_of_fields_and_parts() -> None:
    inner = pojo("shop.Item", {"tags": kryo("java.util.List"), "other": kryo("shop.Other")})
    base = "org.apache.flink.api.common.typeutils.base."
    data = composite(
        f"{base}MapSerializerSnapshot", LONG, composite(f"{base}ListSerializerSnapshot", inner)
    )
    found = rules_of(TypeSerializerSnapshot.read(SnapshotView(data)))
    assert found == {
        "kryo-collection": "value{value}[].tags",
        "kryo": "value{value}[].other",
    }


def test_a_list_of_kryo_that_is_no_field_may_be_restored_with_wrong_values() -> None:
    # By its class alone, Flink 2 makes a list Kryo's too.
    found = TypeSerializerSnapshot.read(SnapshotView(kryo("java.util.List")))
    assert rules_of(found) == {"kryo": "value"}


def test_flink_2_reads_what_kryo_wrote_in_flink_2() -> None:
    found = TypeSerializerSnapshot.read(SnapshotView(kryo("shop.Other")))
    for target in TARGETS:
        crossing = Crossing(FlinkVersionRange((2, 1), (2, 2)), 6, target)
        assert rules_of(found, crossing) == {}
    within_1 = Crossing(FlinkVersionRange((1, 16), (1, 20)), 4, (1, 20))
    assert rules_of(found, within_1) == {}


def test_no_rule_of_serializers_speaks_where_nothing_is_crossed() -> None:
    use = SerializerUse("value", TypeSerializerSnapshot.read(SnapshotView(kryo("shop.Other"))))
    assert all_findings(SERIALIZER_RULES, use, TO_ITSELF) == ()


def test_the_worst_verdict_counts() -> None:
    assert worst([]) is Verdict.RESTORABLE
    assert worst([Verdict.UNKNOWN, Verdict.AFTER_MIGRATION]) is Verdict.AFTER_MIGRATION
    assert worst(Verdict) is Verdict.SILENT_CORRUPTION


def test_releases_are_named_with_or_without_their_patch() -> None:
    assert release("1.13.2") == (1, 13)
    assert [target_release(f"{one}.{two}.1") for one, two in TARGETS] == list(TARGETS)
    for text in ("2", "latest", "2.2-SNAPSHOT"):
        with pytest.raises(ValueError, match="not a release of Flink"):
            release(text)
    with pytest.raises(
        ValueError, match=r"there are no rules for Flink 1\.17; there are rules for 1\.18, 1\.19"
    ):
        target_release("1.17")


def test_every_rule_has_a_test_here_or_in_a_sample() -> None:
    of_samples = {"kryo", "kryo-collection", "java-serialized"}
    names = [rule.name for rule in SERIALIZER_RULES]
    assert set(names) == {*HAND_MADE, *of_samples, "two-phase-commit", "scala"}
    assert len(set(names)) == len(names)
    assert all(rule.reason and rule.advice and rule.source for rule in SERIALIZER_RULES)
