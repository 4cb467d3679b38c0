"""Findings, by operator, about a savepoint that a new version of its job restores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from savepoint_extensions.upgrade.compatibility.job_pairs import operator_pairs, state_pairs
from savepoint_extensions.upgrade.compatibility.job_rules import JOB_OPERATOR_RULES, JOB_STATE_RULES
from savepoint_extensions.upgrade.compatibility.job_type_rules import JOB_TYPE_RULES
from savepoint_extensions.upgrade.compatibility.rules import Finding, all_findings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_extensions.upgrade.compatibility.expected_job import JobOperator
    from savepoint_extensions.upgrade.compatibility.facts import StateFacts
    from savepoint_extensions.upgrade.compatibility.job_pairs import OperatorPair
    from savepoint_extensions.upgrade.compatibility.rules import Crossing

_Findings = tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class JobFindings:
    """Findings about an operator, its states, and states that only the new job has."""

    operator: _Findings = ()
    states: dict[StateFacts, _Findings] = field(default_factory=dict)
    new_states: tuple[tuple[StateFacts, _Findings], ...] = ()

    @classmethod
    def of(cls, pair: OperatorPair, crossing: Crossing) -> JobFindings:
        operator = all_findings(JOB_OPERATOR_RULES, pair, crossing)
        if pair.old is None or pair.new is None:
            return cls(operator)
        by_state: dict[StateFacts, _Findings] = {}
        added: list[tuple[StateFacts, _Findings]] = []
        for states in state_pairs(pair.old.states, pair.new.states):
            rules = (*JOB_STATE_RULES, *JOB_TYPE_RULES)
            findings = all_findings(rules, states, crossing)
            if states.old is not None:
                by_state[states.old] = findings
            elif states.new is not None:
                added.append((states.new, findings))
        return cls(operator, by_state, tuple(added))


def job_findings(
    old: Iterable[JobOperator], new: Iterable[JobOperator], crossing: Crossing
) -> tuple[dict[str, JobFindings], list[tuple[JobOperator, JobFindings]]]:
    """Findings by the hash of an operator, and findings on operators that only the new job has."""
    by_hash: dict[str, JobFindings] = {}
    added = []
    for pair in operator_pairs(old, new):
        findings = JobFindings.of(pair, crossing)
        if pair.old is not None:
            by_hash[pair.old.hash] = findings
        elif pair.new is not None:
            added.append((pair.new, findings))
    return by_hash, added
