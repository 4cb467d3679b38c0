"""Long names that differ only in the middle, without what all of them share."""

from __future__ import annotations

import re
from os.path import commonprefix
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

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
