"""Long names that differ only in the middle, without what all of them share."""

from __future__ import annotations

import re
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

NAMES = ("operator", "uid", "table", "sql")
"""Fields that name an operator or a table, which are long in large jobs."""

_SEPARATORS = "._/-"
_FEWEST_NAMES = 3
_WORTH = 12
"""The fewest letters whose omission is worth a note."""


def without_shared(
    column: str, shown: Sequence[str], names: Iterable[str]
) -> tuple[list[str], str]:
    """The shown names without the common beginning and end of all ``names``, and a note on these.

    Names are cut only at a separator, so that words stay whole. The note is "" if they stay whole.
    """
    several = set(filter(None, names))
    beginning = _up_to_separator(_common(several))
    # The table of an operator stays: what the operators share ends in front of it.
    heads = {_operator_of(name) if column in ("table", "sql") else name for name in several}
    rest = [head[len(beginning) :][::-1] for head in heads]
    end = _up_to_separator(_common(rest))[::-1]
    if len(several) < _FEWEST_NAMES or len(beginning) + len(end) < _WORTH:
        return list(shown), ""
    parts = (f"begins with {beginning}" * bool(beginning), f"ends with {end}" * bool(end))
    note = f"each {column} {' and '.join(filter(None, parts))}"
    return [_shortened(name, beginning, end) for name in shown], note


def leave_out_shared(
    rows: Sequence[Any],
    columns: Iterable[tuple[Any, str]],
    every: Callable[[str], Iterable[str]] | None = None,
) -> list[str]:
    """Shortens names in the cells of ``rows``, and returns a note per column that is shorter now.

    ``columns`` are the places of names in a row, and what the names are of. ``every`` gives all names
    of a column if there are more than in the rows.
    """
    notes = []
    for place, column in columns:
        names = [row[place] or "" for row in rows]
        shown, note = without_shared(column, names, every(column) if every else names)
        if note:
            notes.append(note)
            for row, name in zip(rows, shown, strict=True):
                row[place] = name
    return notes


def _common(texts: Collection[str]) -> str:
    return commonprefix(list(texts))  # noqa: RUF071  # by letters: they are no paths


def _up_to_separator(text: str) -> str:
    return re.sub(f"[^{_SEPARATORS}]*$", "", text)


def _operator_of(name: str) -> str:
    return name.rpartition(".")[0]


def _shortened(name: str, beginning: str, end: str) -> str:
    head, dot, tail = name.removeprefix(beginning).rpartition(".")
    if end and head.endswith(end):
        return head.removesuffix(end) + dot + tail
    return name.removeprefix(beginning).removesuffix(end)
