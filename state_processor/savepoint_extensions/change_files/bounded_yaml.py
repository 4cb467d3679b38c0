"""A text of YAML as nodes that know their places, within bounds.

Without anchors, aliases and tags a text is a tree of mappings, lists and texts, no larger than it looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from savepoint_database.types import NOT_YAML, events_with_depth, why_not_yaml
from savepoint_extensions.change_files.change_words import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_extensions.change_files.change_words import Mistakes

MOST_CHARACTERS = 1 << 20
_DEEPEST = 16


def composed(text: str, mistakes: Mistakes) -> yaml.Node | None:
    """The node of a text; None if it is empty, or if it has mistakes that were added."""
    if len(text) > MOST_CHARACTERS:
        mistakes.lines.append(f"{len(text):,} characters, expected {MOST_CHARACTERS:,} at most")
        return None
    before = len(mistakes.lines)
    try:
        mistakes.lines.extend(_out_of_bounds(text))
        return None if len(mistakes.lines) > before else yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, *NOT_YAML) as error:
        mark, reason = why_not_yaml(error)
        place = f"line {mark.line + 1} column {mark.column + 1}: " if mark else ""
        mistakes.lines.append(f"{place}{reason}")
    return None


def _out_of_bounds(text: str) -> Iterator[str]:
    """What a file of changes may not have, each with its place."""
    documents = 0
    for event, depth in events_with_depth(text):
        place = place_of(event)
        if getattr(event, "anchor", None) is not None:
            yield f"{place}: anchors and aliases are not allowed: write the words out"
        if getattr(event, "tag", None) is not None:
            yield f"{place}: tags such as {event.tag} are not allowed"
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                yield f"{place}: a second document, expected one list of changes"
        if depth > _DEEPEST:
            yield f"{place}: it is nested more than {_DEEPEST} deep"
            return
