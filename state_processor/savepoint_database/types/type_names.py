"""Types of new state as text, such as ``MAP<STRING, LIST<LONG>>``.

| text                                            | type                                       |
|-------------------------------------------------|--------------------------------------------|
| STRING, LONG, INSTANT ...                       | that of ``Types``                          |
| LIST<t>, SET<t>, NULLABLE<t>                    | likewise                                   |
| PRIMITIVE_ARRAY<t>, BASIC_ARRAY<t>              | likewise                                   |
| MAP<k, v>, EITHER<l, r>                         | likewise                                   |
| TUPLE<t, ...>                                   | a tuple of these fields                    |
| ROW<t, ...>, ROW<name t, ...>                   | a row; with names if all fields have them  |
| POJO<a.b.Order, name t, ...>                    | a POJO of this class and these fields      |
| ENUM<a.b.Color, RED, GREEN, ...>                | an enum of this class and these constants  |
| OBJECT_ARRAY<t, a.b.Order>                      | an array of objects of this class          |
| ROW_DATA<name s, ...>                           | a row of Flink SQL; s are SQL types        |

Names of types may be in small letters. Names of classes and fields are as in Java; those with other
characters are in backticks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from savepoint_database.types.types import COMPOUND_TYPES, PLAIN_TYPES, TypeInformation, Types
from savepoint_formats.snapshots.constructed_sql import row_data
from savepoint_formats.snapshots.logical_type_text import parse_logical_type
from savepoint_formats.snapshots.shown import NamedRow

_MAX_DEPTH = 50

_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|[^\W\d][\w$.]*|.)", re.DOTALL)
_SQL_ROW = "ROW_DATA"

_OF_NAMES = ("TUPLE", "ROW", "POJO", "ENUM", "OBJECT_ARRAY", _SQL_ROW)


def parse_type(text: str) -> TypeInformation:
    """The type of a text. Raises ``ValueError`` with the place of a mistake."""
    parser = _Parser.of(text)
    type_information = parser.read_type(0)
    parser.expect_end()
    return type_information


def parse_parts(text: str, name: str) -> tuple[TypeInformation, ...]:
    """Types of the elements of a ``LIST``, or of keys and values of a ``MAP``.

    Raises ``ValueError`` if the text is another type, or none.
    """
    parser = _Parser.of(text)
    count = COMPOUND_TYPES[name].count
    if not parser.take(name):
        raise parser.error(f"{name}<…>")
    parts = parser.read_types(count, 1)
    parser.expect_end()
    return parts


@dataclass(slots=True)
class _Parser:
    text: str
    tokens: tuple[str, ...]
    ends: tuple[int, ...]
    position: int = 0

    @classmethod
    def of(cls, text: str) -> _Parser:
        matches = list(_TOKEN.finditer(text.rstrip()))
        tokens = tuple(match.group(1) for match in matches)
        return cls(text, tokens, tuple(match.end() for match in matches))

    def peek(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def error(self, expected: str) -> ValueError:
        token = repr(self.peek()) if self.peek() else "the end"
        return ValueError(f"{self.text!r} is no type: {token}, expected {expected}")

    def take(self, token: str) -> bool:
        """Whether this token comes next; if so, passes it."""
        is_next = self.peek().upper() == token
        self.position += is_next
        return is_next

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.error(repr(token))

    def expect_end(self) -> None:
        if self.peek():
            raise self.error("the end")

    def read_type(self, depth: int) -> TypeInformation:
        name = self.peek().upper()
        if depth > _MAX_DEPTH:
            raise ValueError(f"a type that nests deeper than {_MAX_DEPTH}")
        if name not in PLAIN_TYPES and name not in COMPOUND_TYPES and name not in _OF_NAMES:
            known = ", ".join((*PLAIN_TYPES, *COMPOUND_TYPES, *_OF_NAMES))
            raise self.error(f"one of {known}")
        self.position += 1
        if name in PLAIN_TYPES:
            plain: TypeInformation = getattr(Types, name)()
            return plain
        if name in COMPOUND_TYPES:
            parts = self.read_types(COMPOUND_TYPES[name].count, depth + 1)
            compound: TypeInformation = getattr(Types, name)(*parts)
            return compound
        return self._read_named(name, depth + 1)

    def read_types(self, count: int, depth: int) -> tuple[TypeInformation, ...]:
        self.expect("<")
        types = [self.read_type(depth)]
        while len(types) < count:
            self.expect(",")
            types.append(self.read_type(depth))
        self.expect(">")
        return tuple(types)

    def _read_named(self, name: str, depth: int) -> TypeInformation:
        if name == _SQL_ROW:
            return self._read_sql_row()
        self.expect("<")
        match name:
            case "TUPLE":
                type_information = Types.TUPLE([field for _, field in self._read_fields(depth)])
            case "ROW":
                type_information = self._read_row(depth)
            case "POJO":
                class_name = self._read_name("the name of a class")
                fields = self._read_fields(depth) if self.take(",") else []
                type_information = Types.POJO(class_name, dict(self._expect_named(fields)))
            case "ENUM":
                class_name, *constants = self._read_names()
                type_information = Types.ENUM(class_name, constants)
            case _:
                element = self.read_type(depth)
                self.expect(",")
                type_information = Types.OBJECT_ARRAY(
                    element, self._read_name("the name of a class")
                )
        self.expect(">")
        return type_information

    def _read_row(self, depth: int) -> TypeInformation:
        fields = self._read_fields(depth)
        if not any(name for name, _ in fields):
            return Types.ROW([type_information for _, type_information in fields])
        named = self._expect_named(fields)
        return Types.ROW_NAMED(
            [name for name, _ in named], [type_information for _, type_information in named]
        )

    def _read_fields(self, depth: int) -> list[tuple[str, TypeInformation]]:
        """Types, each with or without a name in front."""
        fields = [self._read_field(depth)]
        while self.take(","):
            fields.append(self._read_field(depth))
        return fields

    def _read_field(self, depth: int) -> tuple[str, TypeInformation]:
        following = self.tokens[self.position + 1 : self.position + 2]
        is_named = bool(following) and (following[0][0] == "`" or following[0][0].isalpha())
        name = self._read_name("the name of a field") if is_named else ""
        return name, self.read_type(depth)

    def _expect_named(
        self, fields: list[tuple[str, TypeInformation]]
    ) -> list[tuple[str, TypeInformation]]:
        names = [name for name, _ in fields]
        if "" in names or len(set(names)) < len(names):
            raise self.error("fields with different names")
        return fields

    def _read_names(self) -> list[str]:
        names = [self._read_name("the name of a class")]
        while self.take(","):
            names.append(self._read_name("the name of a constant"))
        return names

    def _read_name(self, expected: str) -> str:
        token = self.peek()
        if not token or not (token[0] in "`_" or token[0].isalpha()):
            raise self.error(expected)
        self.position += 1
        return token[1:-1].replace("``", "`") if token.startswith("`") else token

    def _read_sql_row(self) -> TypeInformation:
        """Fields of SQL types; the brackets are read as ``ROW<...>``."""
        start = self.ends[self.position - 1]
        self.expect("<")
        depth = 1
        while depth:
            if not self.peek():
                raise self.error("'>'")
            depth += {"<": 1, ">": -1}.get(self.peek(), 0)
            self.position += 1
        fields = self.text[start : self.ends[self.position - 1]]
        logical_type = parse_logical_type(f"ROW{fields}")
        row = NamedRow.of(row_data(logical_type.children), list(logical_type.names))
        return TypeInformation(row, f"{_SQL_ROW}{fields}")
