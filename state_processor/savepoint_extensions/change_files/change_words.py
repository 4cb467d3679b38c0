"""Words of changes: what a file may say about a change, in the words of its command.

A word reads a node of YAML, collects mistakes with their places, and has a JSON Schema for editors.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from savepoint_database.types import YamlSection
from savepoint_formats.printable import alternatives, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Words = Mapping[str, Any]
"""The values of words by their names."""

_FLAG, _NULL = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:null"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_LONGEST_NUMBER = 18


@dataclass(frozen=True, slots=True)
class Mistakes:
    """The mistakes of a file, each with its line and column.

    Attributes:
        file: The file as mistakes call it.
        folder: The folder that paths in the file are relative to.
        lines: A text for each mistake, without the file.
    """

    file: str
    folder: Path
    lines: list[str] = field(default_factory=list)

    def add(self, node: yaml.Node, text: str) -> None:
        """Adds a mistake at a node."""
        self.lines.append(f"{place_of(node)}: {text}")


def place_of(node: yaml.Node) -> str:
    """The line and column where a node begins, from 1."""
    mark = node.start_mark
    return f"line {mark.line + 1} column {mark.column + 1}"


def node_text(node: yaml.Node) -> str:
    """A node as mistakes call it."""
    if isinstance(node, yaml.ScalarNode):
        return "empty" if node.tag == _NULL else repr(node.value)
    kind = "list" if isinstance(node, yaml.SequenceNode) else "mapping"
    return f"a {kind}" if node.value else f"an empty {kind}"


def read_words(
    node: yaml.MappingNode, words: Sequence[ChangeWord], mistakes: Mistakes, owner: str
) -> dict[str, Any]:
    """The values of a mapping by the names of words; ``missing`` for those that it does not have."""
    known = {word.name: word for word in words}
    values = {word.name: word.missing for word in words}
    named: set[str] = set()
    for name, value in node.value:
        if not isinstance(name, yaml.ScalarNode):
            mistakes.add(name, f"{node_text(name)}, expected the name of a word")
        elif name.value not in known:
            mistakes.add(name, f"{owner} has no {name.value!r}; {alternatives(name.value, known)}")
        elif name.value in named:
            mistakes.add(name, f"{owner} has {name.value!r} twice")
        else:
            named.add(name.value)
            if isinstance(value, yaml.ScalarNode) and value.tag == _NULL:
                mistakes.add(value, f"{name.value!r} has no value: add it, or remove the word")
            else:
                values[name.value] = known[name.value].value(value, mistakes)
    lacking = [word.name for word in words if word.is_required and word.name not in named]
    if lacking:
        mistakes.add(node, f"{owner} needs {', '.join(map(repr, lacking))}")
    return values


@dataclass(frozen=True, slots=True)
class ChangeWord:
    """A word of a change.

    Attributes:
        name: The name, as in the option of the command: ``max-parallelism``.
        help: One sentence for editors.
        is_required: Whether an entry needs the word.
    """

    name: str
    help: str
    is_required: bool = False

    @property
    def missing(self) -> Any:
        """The value for an entry without the word."""
        return None

    @abstractmethod
    def value(self, node: yaml.Node, mistakes: Mistakes) -> Any:
        """The value of a node; after a mistake anything."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value, without the description."""

    def wrong(self, node: yaml.Node, mistakes: Mistakes, expected: str) -> None:
        """Adds the mistake that a value is not what was expected."""
        mistakes.add(node, f"{self.name!r} is {node_text(node)}, expected {expected}")


@dataclass(frozen=True, slots=True)
class TextWord(ChangeWord):
    """A text, perhaps one of some ``choices``; a number or a date counts as it is written."""

    choices: tuple[str, ...] = ()

    def value(self, node: yaml.Node, mistakes: Mistakes) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value or node.tag == _NULL:
            self.wrong(node, mistakes, "a text")
            return ""
        text = str(node.value)
        if self.choices and text not in self.choices:
            expected = f"one of {', '.join(self.choices)}{did_you_mean(text, self.choices)}"
            self.wrong(node, mistakes, expected)
        return text

    def schema(self) -> dict[str, Any]:
        if not self.choices:
            return {"type": ["string", "number", "boolean"]}
        numbers = [float(text) for text in self.choices if text.replace(".", "", 1).isdecimal()]
        return {"enum": [*self.choices, *numbers]}


@dataclass(frozen=True, slots=True)
class NumberWord(ChangeWord):
    """A number within bounds, which count; a whole one unless ``is_fraction``, which is above ``low``."""

    low: int = 0
    high: int = 2**63 - 1
    is_fraction: bool = False

    def value(self, node: yaml.Node, mistakes: Mistakes) -> float:
        text = node.value if isinstance(node, yaml.ScalarNode) and node.tag in _NUMBERS else ""
        digits = text.replace(".", "", 1) if self.is_fraction else text
        if digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST_NUMBER:
            number = float(text) if self.is_fraction else int(text)
            if self.low <= number <= self.high and (number > self.low or not self.is_fraction):
                return number
        kind = "a fraction above" if self.is_fraction else "a number of"
        self.wrong(node, mistakes, f"{kind} {self.low} to {self.high}")
        return 0

    def schema(self) -> dict[str, Any]:
        if self.is_fraction:
            return {"type": "number", "exclusiveMinimum": self.low, "maximum": self.high}
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class FlagWord(ChangeWord):
    """``true`` or ``false``, which is the default."""

    @property
    def missing(self) -> bool:
        return False

    def value(self, node: yaml.Node, mistakes: Mistakes) -> bool:
        if not isinstance(node, yaml.ScalarNode) or node.tag != _FLAG:
            self.wrong(node, mistakes, "true or false")
            return False
        return node.value.lower() in ("true", "yes", "on")

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class TextsWord(TextWord):
    """A text, or a list of texts; empty by default."""

    @property
    def missing(self) -> tuple[str, ...]:
        return ()

    def value(self, node: yaml.Node, mistakes: Mistakes) -> Any:
        elements = node.value if isinstance(node, yaml.SequenceNode) else [node]
        if not elements:
            self.wrong(node, mistakes, "one text or more")
        return tuple(TextWord.value(self, element, mistakes) for element in elements)

    def schema(self) -> dict[str, Any]:
        text = TextWord.schema(self)
        return {"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]}


@dataclass(frozen=True, slots=True)
class PairsWord(TextWord):
    """A mapping of texts to texts, or to some ``choices``; empty by default."""

    @property
    def missing(self) -> dict[str, str]:
        return {}

    def value(self, node: yaml.Node, mistakes: Mistakes) -> Any:
        if not isinstance(node, yaml.MappingNode) or not node.value:
            self.wrong(node, mistakes, "a mapping of names")
            return {}
        pairs: dict[str, str] = {}
        for name, value in node.value:
            text = TextWord(self.name, self.help).value(name, mistakes)
            if text in pairs:
                mistakes.add(name, f"{self.name!r} has {text!r} twice")
            pairs[text] = TextWord.value(self, value, mistakes)
        return pairs

    def schema(self) -> dict[str, Any]:
        text = TextWord.schema(self)
        return {"type": "object", "additionalProperties": text, "minProperties": 1}


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that stand in the file of changes itself: as values, and as sections that know their lines."""

    values: tuple[Words, ...]
    sections: tuple[YamlSection, ...]


@dataclass(frozen=True, slots=True)
class FileWord(ChangeWord):
    """The path of a file, from the folder of the file of changes; with ``rows``, also its contents.

    The value is a path, or ``Rows``.

    Attributes:
        rows: The words of each row of the contents.
        is_checked: Whether the file must be there, on this machine.
    """

    rows: tuple[ChangeWord, ...] = ()
    is_checked: bool = True

    def value(self, node: yaml.Node, mistakes: Mistakes) -> str | Rows:
        if isinstance(node, yaml.SequenceNode) and self.rows:
            return self._rows(node, mistakes)
        if not isinstance(node, yaml.ScalarNode) or not node.value:
            self.wrong(node, mistakes, "the path of a file" + " or a list" * bool(self.rows))
            return ""
        if "://" in node.value:
            return str(node.value)
        path = mistakes.folder / node.value
        if self.is_checked and not path.is_file():
            mistakes.add(node, f"{self.name!r}: there is no file {path}")
        return str(path)

    def _rows(self, node: yaml.SequenceNode, mistakes: Mistakes) -> Rows:
        values, sections = [], []
        if not node.value:
            self.wrong(node, mistakes, "one or more")
        for number, row in enumerate(node.value):
            if not isinstance(row, yaml.MappingNode):
                self.wrong(row, mistakes, "a mapping")
                continue
            before = len(mistakes.lines)
            values.append(read_words(row, self.rows, mistakes, self.name))
            if len(mistakes.lines) == before:
                place = f"{self.name}[{number}]"
                sections.append(YamlSection.of_node(row, mistakes.file, place))
        return Rows(tuple(values), tuple(sections))

    def schema(self) -> dict[str, Any]:
        path = {"type": "string"}
        if not self.rows:
            return path
        return {"anyOf": [path, {"type": "array", "items": words_schema(self.rows), "minItems": 1}]}


def words_schema(words: Sequence[ChangeWord]) -> dict[str, Any]:
    """The JSON Schema of a mapping with these words."""
    required = [word.name for word in words if word.is_required]
    return {
        "type": "object",
        "properties": {word.name: {"description": word.help} | word.schema() for word in words},
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }
