"""Rules of compatibility, their findings and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from savepoint_formats.metadata import (
    FLINK_2,
    TARGETS,
    MetadataVersion,
    newest_known,
    release,
    release_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_formats.metadata import FlinkVersionRange, Release


def target_release(text: str) -> Release:
    """The release of a text, if the rules know it; else ``ValueError``."""
    target = release(text)
    if target not in TARGETS:
        known = ", ".join(map(release_text, TARGETS))
        raise ValueError(f"there are no rules for Flink {text}; there are rules for {known}")
    return target


@dataclass(frozen=True, slots=True)
class Crossing:
    """The upgrade of a snapshot from one release to another.

    Attributes:
        written: The releases that may have written it.
        backend: The state backend of the restoring job; empty if unknown.
        is_nameless: Whether no operator has a name, though this ``_metadata`` has room for names.
    """

    written: FlinkVersionRange
    metadata_version: int
    target: Release
    backend: str = ""
    is_nameless: bool = False

    @property
    def is_back(self) -> bool:
        """Whether only releases newer than the target can have written it."""
        return self.target < self.written.oldest


def from_1_to_2(crossing: Crossing) -> bool:
    """Whether Flink 1 wrote the snapshot, and Flink 2 will restore it."""
    return crossing.written.newest < FLINK_2 <= crossing.target


def made_by_1_to_2(crossing: Crossing) -> bool:
    """Whether a job of Flink 1 made the state that Flink 2 will restore, migrated or not.

    Flink 2 stores the names of operators, Flink 1 does not. So a snapshot for Flink 2 without names was
    migrated. Migration changes only the bytes of Kryo.
    """
    is_migrated = crossing.is_nameless and crossing.target >= FLINK_2
    return is_migrated or from_1_to_2(crossing)


def to_another(crossing: Crossing) -> bool:
    """Whether another release than the target may have written the snapshot."""
    return not crossing.written.oldest == crossing.written.newest == crossing.target


def on(*backends: str) -> Callable[[Crossing], bool]:
    """Whether the job has one of these state backends; ``""`` is an unknown backend."""
    return lambda crossing: crossing.backend in backends


def is_too_new(crossing: Crossing) -> bool:
    """Whether the target does not know the version of ``_metadata``."""
    return crossing.metadata_version > newest_known(crossing.target)


def is_back_only(crossing: Crossing) -> bool:
    """Whether the target is older, but knows the version of ``_metadata``."""
    return crossing.is_back and not is_too_new(crossing)


def knows_uids(crossing: Crossing) -> bool:
    """Whether ``_metadata`` has room for uids."""
    return crossing.metadata_version >= MetadataVersion.OPERATOR_NAMES


def knows_hashes(crossing: Crossing) -> bool:
    """Whether ``_metadata`` has only the hashes of uids."""
    return not knows_uids(crossing)


class Verdict(StrEnum):
    """The future of state in another Flink, from the worst to the best.

    | value                      | meaning                                                     |
    |----------------------------|-------------------------------------------------------------|
    | silent corruption          | Flink may restore wrong values without an error             |
    | not restorable             | Flink refuses it; no change of the savepoint helps          |
    | restorable after migration | Flink refuses it as it is; the savepoint can be rewritten   |
    | unknown                    | the savepoint does not tell                                 |
    | restorable                 | no rule is against it                                   |
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


def _always(_crossing: Crossing) -> bool:
    return True


SubjectT = TypeVar("SubjectT")


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's answer about a snapshot, an operator, a state or a serializer.

    Attributes:
        verdict: The verdict; ``restorable`` if the rule only sets a condition.
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


def connector_finding(verdict: str, where: str, reason: str, advice: str) -> Finding:
    """The answer about a state whose connector's release the user named."""
    source = "the serializers of the connector's releases, see the table of its versions"
    return Finding(Verdict(verdict), "connector-version", where, reason, advice, source)


@dataclass(frozen=True, slots=True)
class Rule(Generic[SubjectT]):
    """A row of the table of rules; ``Finding`` describes the other attributes.

    Attributes:
        name: Its name in answers, which never changes.
        finds: The places in a subject that it applies to.
        crosses: Whether the rule holds for an upgrade; by default it holds for all.
    """

    name: str
    verdict: Verdict
    finds: Callable[[SubjectT], Iterable[str]]
    reason: str
    advice: str
    source: str
    crosses: Callable[[Crossing], bool] = _always

    def findings(self, subject: SubjectT, crossing: Crossing) -> Iterator[Finding]:
        """The rule's answers about a subject."""
        if self.crosses(crossing):
            for where in self.finds(subject):
                yield Finding(self.verdict, self.name, where, self.reason, self.advice, self.source)


def whole_if(condition: Callable[[SubjectT], bool]) -> Callable[[SubjectT], Iterator[str]]:
    """Finds the whole subject if a condition holds."""
    return lambda subject: iter([""] if condition(subject) else [])


def all_findings(
    rules: Iterable[Rule[SubjectT]], subject: SubjectT, crossing: Crossing
) -> tuple[Finding, ...]:
    """The answers of all rules about a subject."""
    return tuple(finding for rule in rules for finding in rule.findings(subject, crossing))
