"""Verdicts on a snapshot as rows: a line per rule, and rows of operators and states, the worst first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_extensions.upgrade.compatibility.rules import Verdict, worst

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_extensions.upgrade.compatibility.rules import Finding
    from savepoint_extensions.upgrade.compatibility_answer import (
        Compatibility,
        OperatorCompatibility,
    )

    JudgedT = TypeVar("JudgedT", Finding, OperatorCompatibility)

_SHOWN_PLACES = 3
_VERDICTS = tuple(Verdict)


@dataclass(frozen=True)
class RuleLine:
    """A rule with findings, and where they were found.

    Attributes:
        verdict: Its verdict.
        rule: Its name.
        where: States, operators and fields with a finding.
        reason: Why the verdict follows.
        advice: What to do.
        source: Where Flink says so; empty for rules of this project.
    """

    verdict: str
    rule: str
    where: tuple[str, ...]
    reason: str
    advice: str
    source: str

    @property
    def title(self) -> str:
        """The heading on a terminal; a finding that allows a restore is a condition."""
        is_condition = self.verdict == Verdict.RESTORABLE
        return f"{'condition' if is_condition else self.verdict}: {self.rule}"

    def lines(self) -> Iterator[tuple[str, str]]:
        """The labelled texts on a terminal."""
        shown, more = self.where[:_SHOWN_PLACES], len(self.where) - _SHOWN_PLACES
        if shown:
            yield "where", ", ".join(shown) + (f", and {more} more" if more > 0 else "")
        yield "why", self.reason
        yield "do", self.advice
        if self.source:
            yield "source", self.source


def rule_lines(compatibility: Compatibility) -> list[RuleLine]:
    """A line per rule with findings, the worst first."""
    places: dict[str, list[str]] = {}
    findings: dict[str, Finding] = {}
    for place, finding in compatibility.placed():
        findings.setdefault(finding.rule, finding)
        where = " ".join(filter(None, (place, finding.where)))
        places.setdefault(finding.rule, []).extend([where] if where else [])
    return [
        RuleLine(
            finding.verdict.value,
            finding.rule,
            tuple(places[finding.rule]),
            finding.reason,
            finding.advice,
            finding.source,
        )
        for finding in _sorted(findings.values())
    ]


def state_rows(compatibility: Compatibility) -> list[dict[str, Any]]:
    """A row per state, and one for findings of an operator as a whole; the worst operators first."""
    return [
        {
            "operator": operator.operator,
            "state": name,
            "verdict": verdict,
            "rules": _names(findings),
            "kind": kind,
        }
        for operator in _sorted(compatibility.operators)
        for name, verdict, findings, kind in _judged(operator)
    ]


def _judged(
    operator: OperatorCompatibility,
) -> Iterator[tuple[str, Verdict, tuple[Finding, ...], str]]:
    if operator.findings:
        verdict = worst(each.verdict for each in operator.findings)
        yield "", verdict, operator.findings, "operator"
    for state in operator.states:
        yield state.state, state.verdict, state.findings, state.kind


def operator_rows(compatibility: Compatibility) -> list[dict[str, Any]]:
    """A row per operator that has states or findings, the worst first."""
    return [
        {
            "operator": operator.operator,
            "states": len(operator.states),
            "verdict": operator.verdict,
            "rules": _names(each for _, _, findings, _ in _judged(operator) for each in findings),
        }
        for operator in _sorted(compatibility.operators)
        if operator.states or operator.findings
    ]


def _sorted(judged: Iterable[JudgedT]) -> list[JudgedT]:
    return sorted(judged, key=lambda each: _VERDICTS.index(each.verdict))


def _names(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.rule for finding in findings))
