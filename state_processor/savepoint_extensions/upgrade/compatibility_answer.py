"""Tells by rules whether a release of Flink, or a new job, restores a snapshot, per operator and state.

``_metadata`` and the headers of files are read. Values are searched up to a number of bytes: those of
Kryo for objects that it can't read back and, from Flink 1 to 2, POJOs for subclasses that no header
describes. State is restorable unless a rule
objects. The code of the job and the connectors of the target are not examined. What a new job declares
comes from its savepoint or schema.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from savepoint_extensions.upgrade.compatibility.facts import SnapshotFacts, operator_facts
from savepoint_extensions.upgrade.compatibility.job_findings import JobFindings, job_findings
from savepoint_extensions.upgrade.compatibility.operator_rules import BACKENDS, OPERATOR_RULES
from savepoint_extensions.upgrade.compatibility.rules import (
    Crossing,
    Finding,
    Verdict,
    all_findings,
    from_1_to_2,
    target_release,
    worst,
)
from savepoint_extensions.upgrade.compatibility.serializer_rules import SERIALIZER_RULES
from savepoint_extensions.upgrade.compatibility.state_rules import SNAPSHOT_RULES, STATE_RULES
from savepoint_extensions.upgrade.compatibility.unreadable_objects import with_unreadable_objects
from savepoint_extensions.upgrade.compatibility_report import ReportCase, junit_text, markdown_text
from savepoint_extensions.upgrade.expected_state import expected_job, job_operator
from savepoint_extensions.upgrade.rule_lines import operator_rows, rule_lines, state_rows
from savepoint_formats.metadata import (
    TARGETS,
    FlinkVersionRange,
    MetadataVersion,
    is_flink_2,
    release,
    release_text,
)
from savepoint_formats.printable import html_table, without_secrets
from savepoint_formats.scan import MOST_BYTES, Glance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from savepoint_database.snapshot import Operator, Snapshot
    from savepoint_extensions.upgrade.compatibility.expected_job import JobSchema
    from savepoint_extensions.upgrade.compatibility.facts import OperatorFacts, StateFacts
    from savepoint_extensions.upgrade.expected_state import ExpectedJob
    from savepoint_extensions.upgrade.rule_lines import RuleLine
    from savepoint_formats.metadata import Release

    _Looked = tuple[OperatorFacts, tuple[str, ...]]

_CONNECTOR = "connector"
"""The rule about state of a connector whose release is not known."""

_UNREAD = Finding(
    Verdict.UNKNOWN,
    "unread",
    "",
    "a file of the operator can't be read, so that states may be missing here",
    "savepoint verify PATH --quick says what is wrong with the savepoint",
    "",
)


@dataclass(frozen=True, slots=True)
class StateCompatibility:
    """Verdict on a state.

    Attributes:
        operator: The operator, by its uid, or its hash where the uid is unknown.
        state: The state.
        kind: Kind of the state as the job sees it.
        verdict: Verdict on the state, without findings of its operator and snapshot.
        findings: Findings of the rules.
    """

    operator: str
    state: str
    kind: str
    verdict: Verdict
    findings: tuple[Finding, ...]

    @classmethod
    def of(
        cls, operator: str, state: StateFacts, crossing: Crossing, job: tuple[Finding, ...] = ()
    ) -> StateCompatibility:
        collected = [*job, *all_findings(STATE_RULES, state, crossing)]
        for use in state.serializers:
            collected += all_findings(SERIALIZER_RULES, use, crossing)
        findings = tuple(dict.fromkeys(collected))
        return cls(operator, state.name, state.kind, _worst(findings), findings)


@dataclass(frozen=True, slots=True)
class OperatorCompatibility:
    """Verdict on an operator.

    Attributes:
        operator: Its uid, or its hash where the uid is unknown.
        hash: The hash of its uid.
        verdict: Verdict on the operator and its states.
        findings: Findings on the operator as a whole.
        states: Verdicts on its states.
    """

    operator: str
    hash: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    states: tuple[StateCompatibility, ...]

    @classmethod
    def of(
        cls, operator: Operator, looked: _Looked, crossing: Crossing, job: JobFindings
    ) -> OperatorCompatibility:
        facts, problems = looked
        unread = (replace(_UNREAD, where=problem) for problem in problems)
        findings = (*job.operator, *all_findings(OPERATOR_RULES, facts, crossing), *unread)
        states = (
            StateCompatibility.of(operator.name, state, crossing, job.states.get(state, ()))
            for state in facts.states
        )
        return cls.judged(
            operator.name, operator.id, findings, (*states, *_added(operator.name, job))
        )

    @classmethod
    def judged(
        cls,
        name: str,
        digits: str,
        findings: tuple[Finding, ...],
        states: tuple[StateCompatibility, ...],
    ) -> OperatorCompatibility:
        """The operator with the worst verdict of all findings."""
        verdict = worst((_worst(findings), *(state.verdict for state in states)))
        return cls(name, digits, verdict, findings, states)


def _added(operator: str, job: JobFindings) -> Iterator[StateCompatibility]:
    """States that only the new job has."""
    for state, findings in job.new_states:
        yield StateCompatibility(operator, state.name, state.kind, _worst(findings), findings)


@dataclass(frozen=True, slots=True, repr=False)
class Compatibility:
    """Verdict on a snapshot that a release of Flink restores.

    Attributes:
        path: The snapshot.
        job: The new job: the path of its savepoint or schema; empty without one.
        written_by: Releases that may have written it, such as ``1.16 to 1.20``.
        target: The release that restores it.
        backend: State backend of the restoring job; empty if not given.
        verdict: The worst of all findings.
        is_restorable: Whether no known obstacle exists.
        findings: Findings on the snapshot as a whole.
        operators: Verdicts on its operators.
    """

    path: str
    job: str
    written_by: str
    target: str
    backend: str
    verdict: Verdict
    is_restorable: bool
    findings: tuple[Finding, ...]
    operators: tuple[OperatorCompatibility, ...]

    def __repr__(self) -> str:
        return f"Compatibility({without_secrets(self.path)!r}, {self.target}, {self.verdict})"

    def _repr_html_(self) -> str:
        rows = (
            (
                state.operator,
                state.state,
                state.verdict,
                ", ".join(dict.fromkeys(finding.rule for finding in state.findings)),
            )
            for state in self.states()
        )
        table = html_table(repr(self), ("operator", "state", "verdict", "rules"), rows)
        said = dict.fromkeys(
            (finding.verdict, finding.rule, finding.reason, finding.advice)
            for _, finding in self.placed()
        )
        worst_first = sorted(said, key=lambda row: list(Verdict).index(row[0]))
        return table + html_table(
            "Why, and what to do:", ("verdict", "rule", "why", "do"), worst_first
        )

    def states(self) -> tuple[StateCompatibility, ...]:
        """Verdicts on the states of all operators."""
        return tuple(state for operator in self.operators for state in operator.states)

    def rule_lines(self) -> list[RuleLine]:
        """A line per rule with findings, the worst first."""
        return rule_lines(self)

    def operator_rows(self) -> list[dict[str, Any]]:
        """A row per operator that has states or findings, the worst first."""
        return operator_rows(self)

    def state_rows(self) -> list[dict[str, Any]]:
        """A row per state, and one for findings of an operator as a whole; the worst operators first."""
        return state_rows(self)

    def placed(self) -> Iterator[tuple[str, Finding]]:
        """All findings with the names of their states or operators; empty for the snapshot's own."""
        yield from (("", finding) for finding in self.findings)
        for operator in self.operators:
            yield from ((operator.operator, finding) for finding in operator.findings)
            for state in operator.states:
                name = f"{state.operator}.{state.state}"
                yield from ((name, finding) for finding in state.findings)

    def with_connectors(self, judged: Mapping[tuple[str, str], Finding]) -> Compatibility:
        """The answer with findings about connectors, by operator and state, instead of ``unknown``."""

        def of_state(state: StateCompatibility) -> StateCompatibility:
            finding = judged.get((state.operator, state.state))
            if finding is None:
                return state
            others = (other for other in state.findings if other.rule != _CONNECTOR)
            findings = (finding, *others)
            return replace(state, findings=findings, verdict=_worst(findings))

        operators = tuple(
            OperatorCompatibility.judged(
                operator.operator,
                operator.hash,
                operator.findings,
                tuple(map(of_state, operator.states)),
            )
            for operator in self.operators
        )
        verdict = worst((_worst(self.findings), *(operator.verdict for operator in operators)))
        is_restorable = verdict is Verdict.RESTORABLE
        return replace(self, operators=operators, verdict=verdict, is_restorable=is_restorable)

    def to_junit(self) -> str:
        """XML as test runners write it: a test case per state, and per operator or snapshot with findings."""
        return junit_text(self.path, self._cases())

    def to_markdown(self) -> str:
        """A comment for a pull request: the verdict, and what to do, the worst first."""
        return markdown_text(self.path, self.job, self.verdict, self._cases())

    def _cases(self) -> Iterator[ReportCase]:
        if self.findings:
            yield ReportCase("", "", _worst(self.findings), self.findings)
        for operator in self.operators:
            if operator.findings:
                yield ReportCase(
                    operator.operator, "", _worst(operator.findings), operator.findings
                )
            for state in operator.states:
                yield ReportCase(operator.operator, state.state, state.verdict, state.findings)

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        target: str = "",
        *,
        written_by: str = "",
        backend: str = "",
        job: ExpectedJob | None = None,
        all_values: bool = False,
    ) -> Compatibility:
        """Applies the rules to a snapshot; see ``Savepoint.compatibility``."""
        uids = [operator.uid for operator in snapshot.operators() if operator.uid]
        expected = None if job is None else expected_job(job, uids)
        backend = backend or ("" if expected is None else expected.backend)
        crossing = _crossing(snapshot, target, written_by, backend, expected)
        findings = all_findings(SNAPSHOT_RULES, SnapshotFacts(snapshot.metadata), crossing)
        operators = tuple(
            _operators(snapshot, crossing, expected, None if all_values else MOST_BYTES)
        )
        verdict = worst((_worst(findings), *(operator.verdict for operator in operators)))
        return cls(
            snapshot.path,
            "" if expected is None else expected.path,
            str(crossing.written),
            release_text(crossing.target),
            backend,
            verdict,
            verdict is Verdict.RESTORABLE,
            findings,
            operators,
        )


def _operators(
    snapshot: Snapshot, crossing: Crossing, job: JobSchema | None, most_bytes: int | None
) -> Iterator[OperatorCompatibility]:
    """Verdicts on the operators of a snapshot, then on those that only a new job has."""
    glances = Glance(most_bytes) if from_1_to_2(crossing) else None, Glance(most_bytes)
    looked = [
        (operator, _looked(operator, crossing, *glances)) for operator in snapshot.operators()
    ]
    old = [job_operator(operator, facts) for operator, (facts, _) in looked]
    of_job, added = ({}, []) if job is None else job_findings(old, job.operators, crossing)
    for operator, facts in looked:
        findings = of_job.get(operator.id, JobFindings())
        yield OperatorCompatibility.of(operator, facts, crossing, findings)
    for new, findings in added:
        yield OperatorCompatibility.judged(new.name, new.hash, findings.operator, ())


def _looked(
    operator: Operator, crossing: Crossing, subclasses: Glance | None, objects: Glance
) -> _Looked:
    """The facts of an operator; each glance searches values for something else."""
    directory, record, catalog, kryo = (
        operator.directory,
        operator.record,
        operator.catalog,
        operator.kryo,
    )
    facts, problems = operator_facts(directory, record, operator.uid, catalog, kryo, subclasses)
    if kryo is not None:
        is_5 = is_flink_2(crossing.target)
        states = catalog.states
        facts = with_unreadable_objects(facts, directory, states, kryo, objects, is_5=is_5)
    return facts, problems


def _worst(findings: Iterable[Finding]) -> Verdict:
    return worst(finding.verdict for finding in findings)


def _crossing(
    snapshot: Snapshot, target: str, written_by: str, backend: str, job: JobSchema | None
) -> Crossing:
    """Raises ``ValueError`` for unknown releases and backends, and if no target is given."""
    if backend and backend not in BACKENDS:
        raise ValueError(f"backend is {backend!r}, expected one of {', '.join(BACKENDS)}")
    if not target and job is None:
        raise ValueError("name the release that restores it as target, or the new job")
    written = FlinkVersionRange.of(snapshot.metadata)
    if written_by:
        writer = release(written_by)
        if not written.oldest <= writer <= written.newest:
            raise ValueError(
                f"{snapshot.path} was written by Flink {written}, not by Flink {written_by}"
            )
        written = FlinkVersionRange(writer, writer)
    if target:
        restored_by = target_release(target)
    else:
        assert job is not None
        restored_by = _release_of(job, written)
        if written.oldest <= restored_by <= written.newest:
            written = FlinkVersionRange(restored_by, restored_by)
    version = snapshot.metadata.version
    names = (operator.name for operator in snapshot.metadata.operators)
    is_nameless = version >= MetadataVersion.OPERATOR_NAMES and not any(names)
    return Crossing(written, version, restored_by, backend, is_nameless)


def _release_of(job: JobSchema, written: FlinkVersionRange) -> Release:
    """The release of a new job: the savepoint's if possible, else the newest possible."""
    newest = min(written.newest, job.written.newest)
    if newest < max(written.oldest, job.written.oldest):
        newest = job.written.newest
    return min(max(newest, TARGETS[0]), TARGETS[-1])
