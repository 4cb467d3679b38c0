"""What a rule is: what it looks for, and what follows where that is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_formats.compatibility.releases import Crossing
    from savepoint_formats.compatibility.verdicts import Verdict

SubjectT = TypeVar("SubjectT")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule says of a snapshot, an operator, a state or a serializer.

    Attributes:
        verdict: What becomes of it; ``restorable`` where there is but a condition.
        rule: The name of the rule.
        where: Which part of the state it is about, with its class; empty if all of it.
        reason: Why.
        advice: What to do.
        source: Where Flink says so: a page, an issue, a class.
    """

    verdict: Verdict
    rule: str
    where: str
    reason: str
    advice: str
    source: str


@dataclass(frozen=True, slots=True)
class Rule(Generic[SubjectT]):
    """A row of the table of rules.

    Attributes:
        name: What it is called in answers; it does not change.
        verdict: What becomes of what it is about.
        crosses: From which releases, to which, and with which backend it holds.
        finds: The parts of a subject that it is about.
        reason: Why.
        advice: What to do.
        source: Where Flink says so.
    """

    name: str
    verdict: Verdict
    crosses: Callable[[Crossing], bool]
    finds: Callable[[SubjectT], Iterable[str]]
    reason: str
    advice: str
    source: str

    def findings(self, subject: SubjectT, crossing: Crossing) -> Iterator[Finding]:
        """What the rule says of a subject."""
        if self.crosses(crossing):
            for where in self.finds(subject):
                yield Finding(self.verdict, self.name, where, self.reason, self.advice, self.source)


def all_findings(
    rules: Iterable[Rule[SubjectT]], subject: SubjectT, crossing: Crossing
) -> tuple[Finding, ...]:
    """What all rules say of a subject."""
    return tuple(finding for rule in rules for finding in rule.findings(subject, crossing))
