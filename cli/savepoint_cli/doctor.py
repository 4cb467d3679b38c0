"""The command that predicts whether another Flink, or a new job, restores a savepoint, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from savepoint_cli import options
from savepoint_formats.compatibility.operator_rules import BACKENDS
from savepoint_formats.compatibility.rules import Verdict, worst
from savepoint_formats.metadata.flink_versions import TARGETS, release_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_cli.options import Opening
    from savepoint_cli.terminal.output import Output
    from savepoint_database.checks.compatibility import Compatibility, OperatorCompatibility
    from savepoint_formats.compatibility.rules import Finding

    JudgedT = TypeVar("JudgedT", Finding, OperatorCompatibility)

NOT_RESTORABLE = 3
_SHOWN_PLACES = 3
_VERDICTS = tuple(Verdict)
_FILE = click.Path(dir_okay=False, writable=True, path_type=Path)


@options.inspection()
@click.option(
    "--target",
    default="",
    metavar="RELEASE",
    help=f"The Flink release that restores it: {', '.join(map(release_text, TARGETS))}. With"
    " --job, the default is the newest release that may have written both.",
)
@click.option(
    "--job",
    metavar="EXPECTED",
    help="The new job that restores it: its savepoint or checkpoint, or the output of savepoint"
    " schema PATH --output json for one.",
)
@click.option(
    "--from",
    "written_by",
    default="",
    metavar="RELEASE",
    help="The Flink release that wrote it, if several are possible; all of them by default.",
)
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default=None,
    help="The state backend of the job that restores it.",
)
@click.option("--all-values", is_flag=True, help="Search all values, not only the first 256 MiB.")
@click.option("--junit", type=_FILE, metavar="FILE", help="Write the verdicts as JUnit XML, too.")
@click.option(
    "--markdown", type=_FILE, metavar="FILE", help="Write a comment for a pull request, too."
)
def doctor(
    output: Output, opening: Opening, junit: Path | None, markdown: Path | None, **asked: Any
) -> None:
    """Tell whether Flink RELEASE, or a new job, restores each state of the savepoint at PATH.

    --job compares operators, states, kinds, types and settings with the new job's, and says what to
    do about each difference. EXPECTED needs no values: run the new job once, in a test.

    The worst verdict is "silent corruption": Flink may restore wrong values without noticing. Then
    come "not restorable", "restorable after migration" if the savepoint can be rewritten, and
    "unknown" if the savepoint has too little information. Each finding has a reason, advice and a
    source. The command reads headers, and searches the first 256 MiB of values that Kryo wrote,
    and of POJOs from Flink 1 to 2. Exit codes: 0 all is restorable, 3 not all is, 1 it can't be read.

    \b
    savepoint doctor s3://jobs/orders/savepoint-1a2b --target 2.2 --backend rocksdb
    savepoint doctor s3://jobs/orders/savepoint-1a2b --job state/orders.json --markdown comment.md
    """
    if not asked["target"] and asked["job"] is None:
        raise click.UsageError("name a release with --target, or a job with --job")
    savepoint = opening.open()
    with options.usage_errors():
        compatibility = savepoint.compatibility(**asked | {"backend": asked["backend"] or ""})
    if junit is not None:
        junit.write_text(compatibility.to_junit(), encoding="utf-8")
    if markdown is not None:
        markdown.write_text(compatibility.to_markdown(), encoding="utf-8")
    rules = rule_lines(compatibility)
    if output.explains:
        output.page(
            compatibility,
            ("States", state_rows(compatibility)),
            digest=[("Operators", _operators(compatibility))],
        )
        for rule in rules:
            output.explain(rule.title, rule.lines())
        # Below what may be pages of rules, the last line is the answer.
        output.explain(f"verdict: {compatibility.verdict}", ())
    else:
        output.page(compatibility, ("States", state_rows(compatibility)), ("Rules", rules))
    if not compatibility.is_restorable:
        click.get_current_context().exit(NOT_RESTORABLE)


@dataclass(frozen=True)
class RuleLine:
    """A rule with findings, and where they were found."""

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


def _operators(compatibility: Compatibility) -> list[dict[str, Any]]:
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
