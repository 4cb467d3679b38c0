"""The command that tells whether another Flink restores a savepoint. It starts no Spark.

It ends with 3 if not all of it is restorable as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import click

from savepoint_cli.options import Opening, inspection, usage_errors
from savepoint_cli.terminal.help import command
from savepoint_formats.compatibility.operator_rules import BACKENDS
from savepoint_formats.compatibility.releases import TARGETS, release_text
from savepoint_formats.compatibility.verdicts import Verdict, worst

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_cli.terminal.output import Output
    from savepoint_database.checks.compatibility import Compatibility, OperatorCompatibility
    from savepoint_formats.compatibility.rules import Finding

NOT_RESTORABLE = 3
_SHOWN_PLACES = 3
_VERDICTS = tuple(Verdict)


@command()
@inspection
@click.option(
    "--target",
    required=True,
    metavar="RELEASE",
    help=f"The Flink that is to restore it: {', '.join(map(release_text, TARGETS))}.",
)
@click.option(
    "--from",
    "written_by",
    default="",
    metavar="RELEASE",
    help="The Flink that wrote it, where several may have; by default all that may.",
)
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default=None,
    help="The state backend of the job that is to restore it.",
)
def doctor(
    output: Output, opening: Opening, target: str, written_by: str, backend: str | None
) -> None:
    """Tell whether Flink RELEASE restores the savepoint at PATH: per operator and state, and why not.

    Worst comes "silent corruption": Flink may restore wrong values, and does not notice it. Then "not restorable", "restorable after migration" if the savepoint can be rewritten,
    "unknown" if it does not tell. Each finding has its reason, what to do, and its source. Headers
    are read, and the first 256 MiB of POJOs are looked at. Exit codes: 0 all is restorable, 3 not all is, 1 it can't be read.

    \b
    savepoint doctor s3://jobs/orders/savepoint-1a2b --target 2.2 --backend rocksdb
    """
    savepoint = opening.open()
    with usage_errors():
        compatibility = savepoint.compatibility(
            target, written_by=written_by, backend=backend or ""
        )
    rules = _rules(compatibility)
    if output.explains:
        output.page(
            compatibility,
            ("States", _states(compatibility)),
            digest=[("Operators", _operators(compatibility))],
        )
        for rule in rules:
            output.explain(rule.title, rule.lines())
    else:
        output.page(compatibility, ("States", _states(compatibility)), ("Rules", rules))
    if not compatibility.is_restorable:
        click.get_current_context().exit(NOT_RESTORABLE)


@dataclass(frozen=True)
class StateLine:
    """A state as people see it, or an operator as such."""

    operator: str
    state: str
    verdict: str
    rules: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class OperatorLine:
    """An operator with all of its states."""

    operator: str
    states: int
    verdict: str
    rules: tuple[str, ...]


@dataclass(frozen=True)
class RuleLine:
    """What a rule says, and of what."""

    verdict: str
    rule: str
    where: tuple[str, ...]
    reason: str
    advice: str
    source: str

    @classmethod
    def of(cls, finding: Finding, places: tuple[str, ...]) -> Self:
        """The line of a finding that is made in all these places."""
        return cls(
            finding.verdict.value,
            finding.rule,
            places,
            finding.reason,
            finding.advice,
            finding.source,
        )

    @property
    def title(self) -> str:
        """What it is called on a terminal: what is in no way of a restore is a condition of it."""
        is_condition = self.verdict == Verdict.RESTORABLE
        return f"{'condition' if is_condition else self.verdict}: {self.rule}"

    def lines(self) -> Iterator[tuple[str, str]]:
        """What a terminal shows of it."""
        shown, more = self.where[:_SHOWN_PLACES], len(self.where) - _SHOWN_PLACES
        if shown:
            yield "where", ", ".join(shown) + (f", and {more} more" if more > 0 else "")
        yield "why", self.reason
        yield "do", self.advice
        if self.source:
            yield "source", self.source


def _rules(compatibility: Compatibility) -> list[RuleLine]:
    """A line per rule that says something, the worst first."""
    places: dict[str, list[str]] = {}
    findings: dict[str, Finding] = {}
    for place, finding in _placed(compatibility):
        findings.setdefault(finding.rule, finding)
        part = " ".join(filter(None, (place, finding.where)))
        places.setdefault(finding.rule, []).extend(filter(None, [part]))
    ordered = sorted(findings.values(), key=lambda finding: _VERDICTS.index(finding.verdict))
    return [RuleLine.of(finding, tuple(places[finding.rule])) for finding in ordered]


def _placed(compatibility: Compatibility) -> Iterator[tuple[str, Finding]]:
    """All findings, and what each is about."""
    yield from (("", finding) for finding in compatibility.findings)
    for operator in compatibility.operators:
        yield from ((operator.operator, finding) for finding in operator.findings)
        for state in operator.states:
            name = f"{state.operator}.{state.state}"
            yield from ((name, finding) for finding in state.findings)


def _states(compatibility: Compatibility) -> list[StateLine]:
    """A line per state, those of the worst operators first."""
    return [line for operator in _worst_first(compatibility) for line in _lines_of(operator)]


def _lines_of(operator: OperatorCompatibility) -> Iterator[StateLine]:
    if operator.findings:
        verdict = worst(finding.verdict for finding in operator.findings)
        yield StateLine(operator.operator, "", verdict, _names(operator.findings), "operator")
    for state in operator.states:
        yield StateLine(
            state.operator, state.state, state.verdict, _names(state.findings), state.kind
        )


def _operators(compatibility: Compatibility) -> list[OperatorLine]:
    """A line per operator that has anything, the worst first."""
    return [
        OperatorLine(
            operator.operator,
            len(operator.states),
            operator.verdict,
            _names(
                (
                    *operator.findings,
                    *(finding for state in operator.states for finding in state.findings),
                )
            ),
        )
        for operator in _worst_first(compatibility)
        if operator.states or operator.findings
    ]


def _worst_first(compatibility: Compatibility) -> list[OperatorCompatibility]:
    return sorted(compatibility.operators, key=lambda operator: _VERDICTS.index(operator.verdict))


def _names(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.rule for finding in findings))
