"""Fate of a SQL job's state when its query changes; see ``savepoint sql-diff``."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from savepoint_database.snapshot import Snapshot
from savepoint_extensions.sql_jobs.lineage import Renames
from savepoint_extensions.sql_jobs.plan_diff import SqlChange, plan_changes
from savepoint_extensions.sql_jobs.planned_operators import compiled_plan
from savepoint_formats.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_database.snapshot import QueryNode
    from savepoint_formats.locations import PathText


def sql_diff(
    old: PathText,
    new: PathText,
    savepoint: PathText | None = None,
    *,
    matches: PathText | Mapping[int, int | None] | None = None,
    renames: Mapping[str, str] | None = None,
) -> list[SqlChange]:
    """Compares the compiled plans of two queries, and tells which state survives.

    Operators match if they compute the same from the same tables, whatever their numbers and the
    names of columns. Nothing is restored or written.

    Args:
        old: File with the plan of the job that wrote the state.
        new: File with the plan of the job that will restore it.
        savepoint: The savepoint of the old job; the answer then has rows and bytes.
        matches: Number of an operator of the old plan -> that of the new plan, or None to drop its
                state. Corrects the matches that were found. Or a file of YAML or JSON with such pairs.
        renames: New names of columns of tables, by their old names; ``orders.id`` is the column of
            one table, ``id`` that of all tables.

    Returns:
        A change per operator with state: first those of the old plan, then new ones.

    Raises:
        PlanError: A file is not a plan, ``matches`` names an unknown operator, or the savepoint is of another job.
        SavepointError: As ``Savepoint.open`` does.

    Example:
        >>> [change.reason for change in sql_diff("v1.json", "v2.json") if change.verdict == "lost"]
    """
    plans = compiled_plan(old), compiled_plan(new)
    changes = plan_changes(*plans, given_matches(matches), Renames(renames or {}))
    nodes = [] if savepoint is None else Snapshot.open(savepoint, plan=old).query()
    return with_sizes(changes, nodes)


def with_sizes(changes: Iterable[SqlChange], nodes: Iterable[QueryNode]) -> list[SqlChange]:
    """The changes, with the rows and bytes of the operators that a savepoint has."""
    by_id = {node.id: node for node in nodes}
    return [
        replace(change, rows=by_id[change.old].rows, size=by_id[change.old].size)
        if change.old in by_id
        else change
        for change in changes
    ]


def given_matches(
    matches: PathText | Mapping[int, int | None] | None,
) -> Mapping[int, int | None] | None:
    """Pairs of numbers of operators, which may be in a file; raises ``PlanError`` for another file."""
    return _matches(matches) if isinstance(matches, str | os.PathLike) else matches


def _matches(path: PathText) -> dict[int, int | None]:
    try:
        pairs = yaml.safe_load(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise PlanError(f"{path}: {error}") from error
    if not isinstance(pairs, dict) or not all(map(_is_pair, pairs.items())):
        raise PlanError(f"{path} has no pairs of numbers of operators, such as 4: 7, or 4: null")
    return pairs


def _is_pair(pair: tuple[object, object]) -> bool:
    before, after = pair
    return isinstance(before, int) and (after is None or isinstance(after, int))
