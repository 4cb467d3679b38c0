"""Rules of compatibility, their findings and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_formats.compatibility.releases import Crossing


class Verdict(StrEnum):
    """The future of state in another Flink, from the worst to the best.

    | value                      | meaning                                                     |
    |----------------------------|-------------------------------------------------------------|
    | silent corruption          | Flink may restore wrong values without an error             |
    | not restorable             | Flink refuses it; no change of the savepoint helps          |
    | restorable after migration | Flink refuses it as it is; the savepoint can be rewritten   |
    | unknown                    | the savepoint does not tell                                 |
    | restorable                 | no rule speaks against it                                   |
    """

    SILENT_CORRUPTION = "silent corruption"
    NOT_RESTORABLE = "not restorable"
    AFTER_MIGRATION = "restorable after migration"
    UNKNOWN = "unknown"
    RESTORABLE = "restorable"


_ORDER = tuple(Verdict)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst verdict; ``restorable`` if there is none."""
    return min(verdicts, key=_ORDER.index, default=Verdict.RESTORABLE)


SubjectT = TypeVar("SubjectT")


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's answer about a snapshot, an operator, a state or a serializer.

    Attributes:
        verdict: The verdict; ``restorable`` if there is only a condition.
        rule: The name of the rule.
        where: The place in the state, with its class; empty for all of it.
        reason: The reason.
        advice: What to do.
        source: Flink's source: a page, an issue, a class.
    """

    verdict: Verdict
    rule: str
    where: str
    reason: str
    advice: str
    source: str


@dataclass(frozen=True, slots=True)
class Rule(Generic[SubjectT]):
    """A row of the table of rules; for the other attributes see ``Finding``.

    Attributes:
        name: Its name in answers, which never changes.
        crosses: Whether the rule holds for an upgrade.
        finds: The places in a subject that it applies to.
    """

    name: str
    verdict: Verdict
    crosses: Callable[[Crossing], bool]
    finds: Callable[[SubjectT], Iterable[str]]
    reason: str
    advice: str
    source: str

    def findings(self, subject: SubjectT, crossing: Crossing) -> Iterator[Finding]:
        """The rule's answers about a subject."""
        if self.crosses(crossing):
            for where in self.finds(subject):
                yield Finding(self.verdict, self.name, where, self.reason, self.advice, self.source)


def all_findings(
    rules: Iterable[Rule[SubjectT]], subject: SubjectT, crossing: Crossing
) -> tuple[Finding, ...]:
    """The answers of all rules about a subject."""
    return tuple(finding for rule in rules for finding in rule.findings(subject, crossing))
