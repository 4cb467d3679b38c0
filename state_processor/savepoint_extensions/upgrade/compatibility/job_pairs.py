"""Pairs operators and states of a savepoint with those of a new version of its job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from savepoint_extensions.upgrade.compatibility.serializer_resolution import (
    Outcome,
    Resolution,
    resolve,
)
from savepoint_formats.state_files import StateKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_extensions.upgrade.compatibility.expected_job import JobOperator
    from savepoint_extensions.upgrade.compatibility.facts import StateFacts


@dataclass(frozen=True, slots=True)
class OperatorPair:
    """An operator of the savepoint and its match in the new job; one of them may be missing.

    ``likely`` are the operators of the job that have its states, and that the savepoint lacks.
    """

    old: JobOperator | None
    new: JobOperator | None
    likely: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StatePair:
    """A state of the savepoint and its match in the new job; one of them may be missing.

    Attributes:
        likely: Names of states of the job that have its type, and that the savepoint lacks.
        resolutions: Role of a serializer -> its outcome.
    """

    old: StateFacts | None
    new: StateFacts | None
    likely: tuple[str, ...] = ()
    resolutions: dict[str, Resolution] = field(default_factory=dict)

    @classmethod
    def of(cls, old: StateFacts, new: StateFacts) -> StatePair:
        """The pair of two states with the same name."""
        before, after = old.roots, new.roots
        roles = [role for role in before if role in after]
        return cls(
            old, new, resolutions={role: resolve(before[role], after[role], role) for role in roles}
        )

    @property
    def is_same_type(self) -> bool:
        """Whether Flink restores the old state as the new one."""
        outcomes = [resolution.outcome for resolution in self.resolutions.values()]
        is_kind = self.old is not None and self.new is not None and self.old.kind == self.new.kind
        return is_kind and max(outcomes, default=Outcome.UNKNOWN) <= Outcome.RECONFIGURED


def operator_pairs(
    old: Iterable[JobOperator], new: Iterable[JobOperator]
) -> Iterator[OperatorPair]:
    """Pairs operators by their hashes; leaves out operators without state."""
    before = {operator.hash: operator for operator in old if operator.states}
    after = {operator.hash: operator for operator in new}
    added = [operator for digits, operator in after.items() if digits not in before]
    for digits, operator in before.items():
        likely = () if digits in after else tuple(_heirs(operator, added))
        yield OperatorPair(operator, after.get(digits), likely)
    yield from (OperatorPair(None, operator) for operator in added if operator.states)


def _heirs(old: JobOperator, added: Iterable[JobOperator]) -> Iterator[str]:
    """Names of added operators that have exactly the states of the old one."""
    for operator in added:
        pairs = list(state_pairs(old.states, operator.states))
        names = {state.name for state in old.states}, {state.name for state in operator.states}
        if names[0] == names[1] and all(pair.is_same_type for pair in pairs):
            yield operator.name


def state_pairs(old: Iterable[StateFacts], new: Iterable[StateFacts]) -> Iterator[StatePair]:
    """Pairs states by their names; leaves out state that only its operator can read."""
    before, after = (
        {_place(state): state for state in states if state.roots} for states in (old, new)
    )
    added = [state for place, state in after.items() if place not in before]
    for place, state in before.items():
        if place in after:
            yield StatePair.of(state, after[place])
        else:
            heirs = (new.name for new in added if StatePair.of(state, new).is_same_type)
            yield StatePair(state, None, tuple(heirs))
    yield from (StatePair(None, state) for state in added)


def _place(state: StateFacts) -> tuple[bool, str]:
    """The key of a state: keyed state and operator state may have the same names."""
    return StateKind(state.kind).is_keyed, state.name
