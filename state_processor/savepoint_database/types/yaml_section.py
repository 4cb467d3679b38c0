"""YAML: a mapping of a file, read field by field with mistakes by line, and the text of values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar

from savepoint_formats.errors import DescriptionError
from savepoint_formats.lazy_modules import LazyModule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import yaml
else:
    yaml = LazyModule("yaml")

_T = TypeVar("_T")

_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
_DEEPEST = 64
"""Limit of nested mappings and lists; descriptions nest four levels deep."""

_INT = "tag:yaml.org,2002:int"
_NULL = "tag:yaml.org,2002:null"


def yaml_text(value: Any, **form: Any) -> str:
    """A value as YAML; ``form`` has options of ``yaml.safe_dump``."""
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, **form))


@dataclass(frozen=True)
class YamlSection:
    """A mapping and its place, such as ``keyed_state.states[0]``; ``line`` counts from 1."""

    file: str
    place: str
    line: int
    fields: Mapping[str, yaml.Node] = field(repr=False)

    @classmethod
    def of_text(cls, text: str, file: str) -> Self:
        """The mapping of a whole file. Raises ``DescriptionError`` for other texts."""
        node = _composed(text, file)
        if node is None:
            raise DescriptionError(f"{file} is empty, expected at least the uid of an operator")
        return cls.of_node(node, file, "")

    @classmethod
    def list_of_text(cls, text: str, file: str) -> tuple[Self, ...]:
        """Mappings of a file that is a list; none for an empty one. Raises ``DescriptionError`` for others."""
        node = _composed(text, file)
        if node is None:
            return ()
        if not isinstance(node, yaml.SequenceNode):
            line = node.start_mark.line + 1
            raise DescriptionError(f"{file} line {line}: it is {_said(node)}, expected a list")
        return tuple(
            cls.of_node(element, file, f"[{index}]") for index, element in enumerate(node.value)
        )

    @classmethod
    def of_node(cls, node: yaml.Node, file: str, place: str) -> Self:
        """The mapping at a node. Raises ``DescriptionError`` for another node."""
        section = cls(file, place, node.start_mark.line + 1, {})
        if not isinstance(node, yaml.MappingNode):
            raise section.error(f"it is {_said(node)}, expected a mapping of fields")
        fields: dict[str, yaml.Node] = {}
        for name, value in node.value:
            if not isinstance(name, yaml.ScalarNode):
                raise section.error(f"a field named by {_said(name)}, expected a name", name)
            if name.value in fields:
                raise section.error(f"field {name.value!r} is given twice", value)
            fields[name.value] = value
        return cls(file, place, section.line, fields)

    def error(self, message: str, at: str | yaml.Node | None = None) -> DescriptionError:
        """A mistake here, or in one of the fields, with its line."""
        node = self.fields.get(at) if isinstance(at, str) else at
        line = self.line if node is None else node.start_mark.line + 1
        place = self._place(at) if isinstance(at, str) else self.place
        return DescriptionError(f"{self.file} line {line}{place and f', {place}'}: {message}")

    def _place(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    def expect_only(self, names: Iterable[str]) -> None:
        """Raises ``DescriptionError`` if there is another field."""
        known = tuple(names)
        for name, node in self.fields.items():
            if name not in known:
                expected = ", ".join(known)
                raise self.error(f"there is no field {name!r}, expected one of {expected}", node)

    def text(self, name: str) -> str:
        """A text. Raises ``DescriptionError`` if it is missing, or something else."""
        text = self.optional_text(name)
        if text is None:
            raise self.error(f"field {name!r} is missing")
        return text

    def optional_text(self, name: str) -> str | None:
        """A text; None if there is none. Raises ``DescriptionError`` if it is something else."""
        node = self._node(name)
        if node is None:
            return None
        if not isinstance(node, yaml.ScalarNode) or not node.value:
            raise self.error(f"it is {_said(node)}, expected a text", name)
        return str(node.value)

    def choice(self, name: str, choices: Iterable[str], default: str | None = None) -> str:
        """One of some texts. Raises ``DescriptionError`` for another or missing text."""
        known = tuple(choices)
        chosen = self.text(name) if default is None else self.optional_text(name) or default
        if chosen not in known:
            raise self.error(f"it is {chosen!r}, expected one of {', '.join(known)}", name)
        return chosen

    def texts(self, name: str) -> tuple[str, ...]:
        """A text, or a list of texts. Raises ``DescriptionError`` if it is missing, or something else."""
        node = self._node(name)
        if not isinstance(node, yaml.SequenceNode):
            return (self.text(name),)
        for element in node.value:
            if not isinstance(element, yaml.ScalarNode) or not element.value:
                raise self.error(f"it has {_said(element)} in it, expected texts", name)
        if not node.value:
            raise self.error("it is an empty list, expected at least one text", name)
        return tuple(item.value for item in node.value)

    def number(self, name: str, low: int, high: int) -> int | None:
        """A whole number within these bounds; None if there is none."""
        node = self._node(name)
        if node is None:
            return None
        is_number = isinstance(node, yaml.ScalarNode) and node.tag == _INT
        if not is_number or not str(node.value).isdecimal() or not low <= int(node.value) <= high:
            raise self.error(f"it is {_said(node)}, expected a number of {low} to {high}", name)
        return int(node.value)

    def flag(self, name: str) -> bool:
        """A boolean; false if it is missing."""
        text = (self.optional_text(name) or "false").lower()
        if text not in (*_TRUE, *_FALSE):
            raise self.error(f"it is {text!r}, expected true or false", name)
        return text in _TRUE

    def section(self, name: str) -> Self | None:
        """A mapping in this one; None if there is none."""
        node = self._node(name)
        return None if node is None else self.of_node(node, self.file, self._place(name))

    def sections(self, name: str) -> tuple[Self, ...]:
        """A list of mappings; empty if there is none."""
        node = self._node(name)
        if node is None:
            return ()
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(f"it is {_said(node)}, expected a list", name)
        place = self._place(name)
        return tuple(
            self.of_node(element, self.file, f"{place}[{index}]")
            for index, element in enumerate(node.value)
        )

    def parsed(self, name: str, parse: Callable[[str], _T]) -> _T | None:
        """Result of ``parse`` on a text; its ``ValueError`` becomes a mistake of the field."""
        text = self.optional_text(name)
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            raise self.error(str(error), name) from error

    def _node(self, name: str) -> yaml.Node | None:
        node = self.fields.get(name)
        return None if node is None or node.tag == _NULL else node


def _composed(text: str, file: str) -> yaml.Node | None:
    try:
        walk = events_with_depth(text)
        deep = next((event for event, depth in walk if depth > _DEEPEST), None)
        node = yaml.compose(text, yaml.SafeLoader) if deep is None else None
    except (yaml.YAMLError, *NOT_YAML) as error:
        mark, reason = why_not_yaml(error)
        line = f" line {mark.line + 1}" if mark else ""
        raise DescriptionError(f"{file}{line}: {reason}") from error
    if deep is not None:
        line = f"line {deep.start_mark.line + 1}"
        raise DescriptionError(f"{file} {line}: it is nested more than {_DEEPEST} deep")
    return node


def events_with_depth(text: str) -> Iterator[tuple[yaml.Event, int]]:
    """The events of a text, each with the depth behind it. A nested text needs no stack here."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        yield event, depth


NOT_YAML = (ValueError, OverflowError)
"""What PyYAML raises, besides its own errors, for the number of a character that doesn't exist."""


def why_not_yaml(error: Exception) -> tuple[yaml.Mark | None, str]:
    """The place of a mistake, if PyYAML knows it, and what it is."""
    if isinstance(error, yaml.MarkedYAMLError):
        return error.problem_mark, f"it is not YAML: {error.problem}"
    return None, f"it is not YAML: {' '.join(str(error).split())}"


def _said(node: yaml.Node) -> str:
    """A node as errors call it."""
    match node:
        case yaml.ScalarNode():
            return repr(node.value)
        case yaml.SequenceNode():
            return "a list"
        case _:
            return "a mapping"
