"""What a shell completes: paths, tables of the savepoint that is named before, and its uids.

A shell asks for it by ``_SAVEPOINT_COMPLETE``; nothing is said of what is wrong with a savepoint then.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from savepoint_formats.errors import SavepointError
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def paths(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Files and folders, which the shell knows itself."""
    return [CompletionItem(typed, type="file")]


def tables(context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Full names of tables."""
    return _completed(
        context, typed, lambda savepoint: (table.table for table in savepoint.tables())
    )


def uids(context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Uids, or hashes, of operators."""
    return _completed(
        context, typed, lambda savepoint: (operator.name for operator in savepoint.operators())
    )


def _completed(
    context: click.Context, typed: str, names: Callable[[Savepoint], Iterable[str]]
) -> list[CompletionItem]:
    path = context.params.get("path")
    if not path:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            candidates = sorted(names(Savepoint.open(path)))
        except SavepointError:
            return []
    return [CompletionItem(name) for name in candidates if name.startswith(typed)]
