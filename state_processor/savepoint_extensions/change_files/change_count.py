"""Counts of what the changes of a write touch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChangeCount:
    """What a change of values, or a deletion of keys, will do.

    Attributes:
        operator: The operator, by its name in the savepoint.
        state: The state, by its name in the savepoint; empty where keys are deleted.
        values: The number of values before: one per row of the state's table, so a list or a map is
            one value. None where keys are deleted.
        changed: The number of values that become others, or that are new.
        deleted: The number of values that go; or the number of keys.
    """

    operator: str
    state: str
    values: int | None
    changed: int
    deleted: int
