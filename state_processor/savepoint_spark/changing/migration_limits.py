"""State that can't be migrated to Flink 2, or whose type is unknown.

The doctor's rules find serializers that Flink 2 lacks, and sinks and sources that it can't run.
Flink 2 would misread undescribed subclasses, so all values of POJOs are looked at, in bulk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.compatibility.collected import operator_facts
from savepoint_formats.compatibility.releases import Crossing
from savepoint_formats.compatibility.rules import all_findings
from savepoint_formats.compatibility.serializer_rules import HEALED_BY_MIGRATION, SERIALIZER_RULES
from savepoint_formats.compatibility.state_rules import STATE_RULES
from savepoint_formats.compatibility.subclasses import Glance
from savepoint_formats.compatibility.verdicts import Verdict
from savepoint_formats.metadata import FlinkVersionRange, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.compatibility.facts import StateFacts
    from savepoint_formats.compatibility.rules import Finding

_CROSSING = Crossing(FlinkVersionRange((1, 20), (1, 20)), MetadataVersion.PROPERTIES, (2, 2))
"""The rules about Flink 1 and 2 are the same for all releases of both."""

_PASSING = (Verdict.RESTORABLE, Verdict.UNKNOWN)


def refusals(operator: Operator, removed: frozenset[str]) -> Iterator[str]:
    """Reasons why states of an operator can't be migrated; reads its files."""
    known = operator.record, operator.uid, operator.catalog, operator.kryo
    facts, _ = operator_facts(operator.directory, *known, Glance(None))
    for state in facts.states:
        if state.name not in removed:
            yield from (f"state {state.name!r}: {reason}" for reason in _reasons(state))


def _reasons(state: StateFacts) -> Iterator[str]:
    for name in state.subclasses:
        yield (
            f"it has values of {name}, a subclass of a POJO that neither a serializer nor a"
            " description knows, and that Flink 2 may misread: describe it, and what it extends, by"
            " kryo_class(…, superclass=…) or by --classes, or leave the state out"
        )
    if state.unseen:
        yield f"it can't be looked at for subclasses of POJOs that nobody knows: {state.unseen}"
    findings = dict.fromkeys(filter(_is_refused, _findings(state)))
    for finding in findings:
        yield ": ".join(filter(None, [finding.where, f"{finding.reason}; {finding.advice}"]))


def _findings(state: StateFacts) -> Iterator[Finding]:
    yield from all_findings(STATE_RULES, state, _CROSSING)
    for use in state.serializers:
        yield from all_findings(SERIALIZER_RULES, use, _CROSSING)


def _is_refused(finding: Finding) -> bool:
    return finding.rule not in HEALED_BY_MIGRATION and finding.verdict not in _PASSING
