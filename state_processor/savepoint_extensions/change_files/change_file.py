"""A file of changes: a list of entries, each with the name of a change and its words.

::

    - rename-state: {operator: summarize, old: total, new: sum}
    - rename-class:
        classes: {shop.Customer: shop.Client}

All mistakes of a file are told at once, with lines and columns.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml

from savepoint_database.types import yaml_text
from savepoint_extensions.change_files.bounded_yaml import composed
from savepoint_extensions.change_files.change_table import all_kinds
from savepoint_extensions.change_files.change_words import (
    Mistakes,
    node_text,
    place_of,
    read_words,
)
from savepoint_formats.errors import DescriptionError
from savepoint_formats.printable import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from savepoint_extensions.change_files.change_kinds import ChangeKind
    from savepoint_extensions.change_files.change_words import Words
    from savepoint_formats.locations import PathText

    Changes = PathText | Sequence[Mapping[str, Mapping[str, Any] | None]]

_NULL = "tag:yaml.org,2002:null"
_PLACE = re.compile(r"^(change \d+) line \d+ column \d+")


class ChangeFileError(DescriptionError):
    """A file of changes has mistakes; ``problems`` has each of them, with its place."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ChangeEntry:
    """A change of a file.

    Attributes:
        kind: Its kind.
        words: The values of all words of the kind.
        place: Its place, as errors name it: ``changes.yaml line 3 column 3, rename-state``.
        line: The line, from 1; of a list of Python the number of the change.
    """

    kind: ChangeKind
    words: Words
    place: str
    line: int

    @property
    def needs_session(self) -> bool:
        """Whether it needs a session of Spark before anything is written."""
        return self.kind.needs_session(self.words)


@dataclass(frozen=True, slots=True)
class ChangeFile:
    """Changes in their order."""

    entries: tuple[ChangeEntry, ...]

    @classmethod
    def of(cls, changes: Changes) -> Self:
        """The changes of a file, or of a list; raises what ``of_text`` raises."""
        if not isinstance(changes, str | os.PathLike):
            return cls._of_list(changes)
        file = os.fspath(changes)
        try:
            text = Path(file).read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ChangeFileError(f"{file} can't be read: {error}") from error
        return cls.of_text(text, file)

    @classmethod
    def of_text(cls, text: str, file: str) -> Self:
        """The changes of a text in YAML or JSON; paths in it are relative to the folder of ``file``.

        Raises:
            ChangeFileError: The text has mistakes; the message has all of them.
        """
        mistakes = Mistakes(file, Path(file).parent)
        entries = tuple(_entries(composed(text, mistakes), mistakes))
        if mistakes.lines:
            raise ChangeFileError(*(f"{file} {line}" for line in mistakes.lines))
        return cls(entries)

    @classmethod
    def _of_list(cls, changes: Iterable[Any]) -> Self:
        """The changes of a list of Python, whose places are their numbers."""
        entries: list[ChangeEntry] = []
        problems: list[str] = []
        for number, change in enumerate(changes, 1):
            name = f"change {number}"
            try:
                (entry,) = cls.of_text(_text_of(change), name).entries
                entries.append(ChangeEntry(entry.kind, entry.words, name, number))
            except yaml.YAMLError as error:
                problems.append(f"{name} has something else than plain values: {error}")
            except ChangeFileError as error:
                problems += (_PLACE.sub(r"\1", problem) for problem in error.problems)
        if not entries and not problems:
            problems.append("there are no changes, expected a list of them")
        if problems:
            raise ChangeFileError(*problems)
        return cls(tuple(entries))


def _text_of(change: Any) -> str:
    """A change of Python as YAML, in which paths are texts."""

    def plain_values(value: Any) -> Any:
        match value:
            case dict():
                return {name: plain_values(inner) for name, inner in value.items()}
            case list() | tuple():
                return list(map(plain_values, value))
            case os.PathLike():
                return os.fspath(value)
            case _:
                return value

    return entry_text(plain_values(change))


def entry_text(change: Any) -> str:
    """An entry as YAML."""
    return yaml_text([change], width=10_000)


def _entries(node: yaml.Node | None, mistakes: Mistakes) -> Iterator[ChangeEntry]:
    if node is None:
        if not mistakes.lines:
            mistakes.lines.append("is empty, expected a list of changes")
        return
    if not isinstance(node, yaml.SequenceNode):
        mistakes.add(node, f"it is {node_text(node)}, expected a list of changes")
        return
    if not node.value:
        mistakes.add(node, "there are no changes, expected a list of them")
    kinds = all_kinds()
    for element in node.value:
        if not isinstance(element, yaml.MappingNode) or len(element.value) != 1:
            is_mapping = isinstance(element, yaml.MappingNode) and element.value
            said = f"{len(element.value)} names" if is_mapping else node_text(element)
            mistakes.add(element, f"it is {said}, expected the name of one change with its words")
            continue
        ((name, words),) = element.value
        yield from _entry(name, words, kinds, mistakes)


def _entry(
    name: yaml.Node, words: yaml.Node, kinds: Mapping[str, ChangeKind], mistakes: Mistakes
) -> Iterator[ChangeEntry]:
    """The entry, unless it has mistakes."""
    kind = kinds.get(name.value) if isinstance(name, yaml.ScalarNode) else None
    if kind is None:
        said = str(name.value) if isinstance(name, yaml.ScalarNode) else node_text(name)
        meant = did_you_mean(said, kinds) or f"; there are: {', '.join(kinds)}"
        mistakes.add(name, f"there is no change {said!r}{meant}")
        return
    if isinstance(words, yaml.ScalarNode) and words.tag == _NULL:
        words = yaml.MappingNode(words.tag, [], name.start_mark, name.end_mark)
    if not isinstance(words, yaml.MappingNode):
        mistakes.add(words, f"{kind.name} is {node_text(words)}, expected a mapping of its words")
        return
    before = len(mistakes.lines)
    values = read_words(words, kind.words, mistakes, kind.name)
    if len(mistakes.lines) == before and (mistake := kind.mistake(values)):
        mistakes.add(name, mistake)
    if len(mistakes.lines) == before:
        place = f"{mistakes.file} {place_of(name)}, {kind.name}"
        yield ChangeEntry(kind, values, place, name.start_mark.line + 1)
