"""Rules about a savepoint and a new version of its job that no run of a real Flink shows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from savepoint_extensions.upgrade.compatibility.expected_job import JobOperator, JobSchema
from savepoint_extensions.upgrade.compatibility.facts import StateFacts, uses_of
from savepoint_extensions.upgrade.compatibility.job_findings import job_findings
from savepoint_extensions.upgrade.compatibility.job_rules import JOB_OPERATOR_RULES, JOB_STATE_RULES
from savepoint_extensions.upgrade.compatibility.job_type_rules import JOB_TYPE_RULES
from savepoint_extensions.upgrade.compatibility.rules import Crossing
from savepoint_formats.errors import DescriptionError
from savepoint_formats.metadata.flink_versions import FlinkVersionRange
from savepoint_formats.snapshots import TypeSerializerSnapshot, constructed
from savepoint_formats.snapshots.snapshot import OpaqueSnapshot

CROSSING = Crossing(FlinkVersionRange((2, 2), (2, 2)), 6, (2, 2))
INT, LONG, TEXT = (constructed.basic(name) for name in ("Int", "Long", "String"))
OWN = OpaqueSnapshot("shop.OwnSnapshot", 1, body=b"1", reason="its class is not known")


def state(name: str = "total", kind: str = "value", **roots: TypeSerializerSnapshot) -> StateFacts:
    given = {"key": TEXT, "namespace": LONG, "value": INT} | roots
    uses = (use for role, snapshot in given.items() for use in uses_of(snapshot, role))
    return StateFacts(name, kind, tuple(uses))


def operator(*states: StateFacts, uid: str = "orders", **more: int) -> JobOperator:
    sizes = {"parallelism": 1, "max_parallelism": 128} | more
    return JobOperator(uid, uid.encode().hex().rjust(32, "0"), states=states, **sizes)


def rules(old: JobOperator, new: JobOperator, crossing: Crossing = CROSSING) -> set[str]:
    found, added = job_findings([old], [new], crossing)
    of_new = [finding.rule for _, one in added for finding in one.operator]
    return set(of_new) | {
        finding.rule
        for one in found.values()
        for findings in (one.operator, *one.states.values(), *(each for _, each in one.new_states))
        for finding in findings
    }


OLD = operator(state())
CASES: dict[str, tuple[JobOperator, JobOperator]] = {
    "namespace-type": (OLD, operator(state(namespace=TEXT))),
    "namespace-type-unknown": (OLD, operator(state(namespace=OWN))),
    "key-type-unknown": (OLD, operator(state(key=OWN))),
    "serializer-changed": (OLD, operator(state(value=OWN))),
    "too-many-subtasks": (OLD, operator(state(), parallelism=200, max_parallelism=512)),
    "default-max-parallelism": (OLD, operator(state(), parallelism=100, max_parallelism=256)),
    "other-max-parallelism": (OLD, operator(state(), parallelism=100, max_parallelism=512)),
}


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_finds_what_it_is_about(rule: str) -> None:
    assert rule in rules(*CASES[rule])
    assert rules(OLD, OLD) == set()


def test_an_operator_of_other_types_is_no_heir() -> None:
    moved = operator(state(), uid="sums")
    assert rules(OLD, moved) == {"operator-moved", "operator-new"}
    assert rules(OLD, operator(state(value=LONG), uid="sums")) == {
        "operator-missing",
        "operator-new",
    }
    assert rules(OLD, operator(uid="sums")) == {"operator-missing"}


def test_states_of_the_same_name_may_be_of_keys_and_of_the_operator() -> None:
    both = operator(state(), state(kind="operator list"))
    assert rules(both, both) == set()
    assert rules(both, OLD) == {"state-not-used"}


def test_every_rule_about_a_job_has_a_name_of_its_own_and_all_its_texts() -> None:
    listed = [
        *((one.name, one.reason, one.advice, one.source) for one in JOB_OPERATOR_RULES),
        *((one.name, one.reason, one.advice, one.source) for one in JOB_STATE_RULES),
        *((one.name, one.reason, one.advice, one.source) for one in JOB_TYPE_RULES),
    ]
    assert len({name for name, *_ in listed}) == len(listed)
    assert all(text for texts in listed for text in texts)


SCHEMA = JobSchema(
    "job.json", FlinkVersionRange((2, 1), (2, 3)), 6, "rocksdb", (OLD, operator(state(value=OWN)))
)


def test_a_schema_is_the_same_after_a_way_through_json() -> None:
    read = JobSchema.from_json(json.dumps(SCHEMA.as_json()), "job.json")
    assert read == SCHEMA
    assert read.expect_complete() is read


def test_a_schema_that_lacks_states_is_refused() -> None:
    with pytest.raises(DescriptionError, match="lacks states of the job: subtask 1: no file"):
        replace(SCHEMA, problems=("subtask 1: no file",)).expect_complete()


def broken(change: dict[str, Any]) -> str:
    made = SCHEMA.as_json()
    first = made["operators"][0]
    for name, value in change.items():
        place = first["states"][0] if name in first["states"][0] else first
        (made if name in made else place)[name] = value
    return json.dumps(made)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        broken({"version": 2}),
        broken({"written_by": ["two"]}),
        broken({"operators": 3}),
        broken({"hash": "orders"}),
        broken({"max_parallelism": 1 << 40}),
        broken({"parallelism": 0}),
        broken({"serializers": {"value": "?"}}),
        broken({"serializers": {"value": "AAAA"}}),
        "[" * 100_000,
    ],
)
def test_a_text_that_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(
        DescriptionError, match=r"job.json is not the schema of a job \(.*savepoint schema"
    ):
        JobSchema.from_json(text, "job.json")
