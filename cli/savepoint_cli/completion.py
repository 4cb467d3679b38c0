"""What a shell completes: paths, and names of what the savepoint has that is typed before them.

A shell asks for it by ``_SAVEPOINT_COMPLETE``; nothing is said of what is wrong with a savepoint then.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from savepoint_formats.errors import SavepointError
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def paths(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Files and folders, which the shell knows itself."""
    return [CompletionItem(typed, type="file")]


def tables(context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Full names of tables."""
    return _completed(
        context, typed, lambda savepoint: (table.table for table in savepoint.tables())
    )


def operators(
    context: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Uids, or hashes, of operators."""
    return _completed(
        context, typed, lambda savepoint: (operator.name for operator in savepoint.operators())
    )


def states(context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Names of states: those of the operator that is typed before, or of all."""
    named = _given(context).get("operator")

    def names(savepoint: Savepoint) -> Iterator[str]:
        chosen = [savepoint.operator(named)] if named else savepoint.operators()
        return (state.name for operator in chosen for state in operator.catalog.states)

    return _completed(context, typed, names)


def operator_states(
    context: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Each state behind its operator: operator/state."""
    return _completed(
        context,
        typed,
        lambda savepoint: (
            f"{operator.name}/{state.name}"
            for operator in savepoint.operators()
            for state in operator.catalog.states
        ),
    )


def columns(
    context: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Names of the columns of the table that is typed before."""
    table = _given(context).get("table")
    return _completed(
        context, typed, lambda savepoint: (column.column for column in savepoint.schema(table))
    )


def followed(mark: str, complete: Complete) -> Complete:
    """Names that a value follows, as total=sum."""

    def items(
        context: click.Context, parameter: click.Parameter, typed: str
    ) -> list[CompletionItem]:
        return [
            CompletionItem(f"{item.value}{mark}") for item in complete(context, parameter, typed)
        ]

    return items


def _given(context: click.Context) -> dict[str, Any]:
    """Values that are typed already; click leaves arguments alone where an option lacks its value."""
    arguments = (part.name for part in context.command.params if isinstance(part, click.Argument))
    return {**context.params, **dict(zip(arguments, context.args, strict=False))}


def _completed(
    context: click.Context, typed: str, names: Callable[[Savepoint], Iterable[str]]
) -> list[CompletionItem]:
    given = _given(context)
    if not given.get("path"):
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            savepoint = Savepoint.open(
                given["path"],
                uids=(*(given.get("uids") or ()), *(given.get("listed_uids") or ())),
                allow_paths=given.get("allow_paths") or (),
                strict_paths=bool(given.get("strict_paths")),
            )
            candidates = sorted(set(names(savepoint)))
        except SavepointError:
            return []
    return [CompletionItem(name) for name in candidates if name.startswith(typed)]
