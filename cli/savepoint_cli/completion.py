"""Completes words in a shell: paths, and names from the savepoint typed before them.

A shell asks for it by ``_SAVEPOINT_COMPLETE``. Errors of a savepoint are not reported.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

import state_processor
from savepoint_formats.errors import SavepointError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from state_processor import Savepoint

    Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
    Names = Callable[[Savepoint, dict[str, Any]], Iterable[str]]


def paths(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Files and folders, which the shell knows itself."""
    return [CompletionItem(typed, type="file")]


def _completing(names: Names) -> Complete:
    """Completes names of the savepoint; ``names`` also gets the values that are typed already."""

    def complete(
        context: click.Context, _parameter: click.Parameter, typed: str
    ) -> list[CompletionItem]:
        # click leaves arguments alone if an option lacks its value.
        arguments = (
            each.name for each in context.command.params if isinstance(each, click.Argument)
        )
        given = {**context.params, **dict(zip(arguments, context.args, strict=False))}
        if not given.get("path"):
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                savepoint = state_processor.Savepoint.open(
                    given["path"],
                    uids=(*(given.get("uids") or ()), *(given.get("listed_uids") or ())),
                    allow_paths=given.get("allow_paths") or (),
                    strict_paths=bool(given.get("strict_paths")),
                )
                candidates = sorted(set(names(savepoint, given)))
            except SavepointError:
                return []
        return [CompletionItem(name) for name in candidates if name.startswith(typed)]

    return complete


def _states(savepoint: Savepoint, given: dict[str, Any]) -> Iterator[str]:
    named = given.get("operator")
    chosen = [savepoint.operator(named)] if named else savepoint.operators()
    return (state.name for operator in chosen for state in operator.catalog.states)


tables = _completing(lambda savepoint, _: (table.table for table in savepoint.tables()))
"""Full names of tables."""

operators = _completing(lambda savepoint, _: (operator.name for operator in savepoint.operators()))
"""Uids, or hashes, of operators."""

states = _completing(_states)
"""Names of states of the operator typed before, or of all operators."""

operator_states = _completing(
    lambda savepoint, _: (
        f"{operator.name}/{state.name}"
        for operator in savepoint.operators()
        for state in operator.catalog.states
    )
)
"""States with their operators: ``operator/state``."""

columns = _completing(
    lambda savepoint, given: (column.column for column in savepoint.schema(given.get("table")))
)
"""Columns of the table typed before."""


def followed(mark: str, complete: Complete) -> Complete:
    """Completes names that a value follows, as in ``total=sum``."""

    def items(
        context: click.Context, parameter: click.Parameter, typed: str
    ) -> list[CompletionItem]:
        return [
            CompletionItem(f"{item.value}{mark}") for item in complete(context, parameter, typed)
        ]

    return items
