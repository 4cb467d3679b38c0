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
| OBJECT_ARRAY<STRING>                            | an array of strings or boxes               |
| ROW_DATA<name s, ...>                           | a row of Flink SQL; s are SQL types        |
| CUSTOM<a.b.MoneySnapshot, t, ...>               | of a plug-in, with its nested types        |

Names of types may be in small letters. Names of classes and fields are as in Java; those with other
characters are in backticks.
"""

from __future__ import annotations

import re

from savepoint_database.types.types import COMPOUND_TYPES, PLAIN_TYPES, TypeInformation, Types
from savepoint_formats.snapshots import named_row, parse_logical_type, row_data
from savepoint_formats.token_reader import TokenReader

_MAX_DEPTH = 50

_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|[^\W\d][\w$.]*|.)", re.DOTALL)
_SQL_ROW = "ROW_DATA"

_OF_NAMES = ("TUPLE", "ROW", "POJO", "ENUM", "OBJECT_ARRAY", "CUSTOM", _SQL_ROW)


def parse_type(text: str) -> TypeInformation:
    """The type of a text. Raises ``ValueError`` with the place of a mistake."""
    parser = _Parser(text, _TOKEN, "type")
    type_information = parser.read_type(0)
    parser.expect_end()
    return type_information


def parse_parts(text: str, name: str) -> tuple[TypeInformation, ...]:
    """Types of the elements of a ``LIST``, or of keys and values of a ``MAP``.

    Raises ``ValueError`` if the text is another type, or none.
    """
    parser = _Parser(text, _TOKEN, "type")
    count = COMPOUND_TYPES[name].count
    if not parser.take(name):
        raise parser.error(f"{name}<…>")
    parts = parser.arguments(lambda: parser.read_type(1), count)
    parser.expect_end()
    return parts


class _Parser(TokenReader):
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
            count = COMPOUND_TYPES[name].count
            parts = self.arguments(lambda: self.read_type(depth + 1), count)
            compound: TypeInformation = getattr(Types, name)(*parts)
            return compound
        return self._read_named(name, depth + 1)

    def _read_named(self, name: str, depth: int) -> TypeInformation:
        if name == _SQL_ROW:
            return self._read_sql_row()
        self.expect("<")
        match name:
            case "TUPLE":
                type_information = Types.TUPLE(
                    [field for _, field in self.listed(lambda: self._read_field(depth))]
                )
            case "ROW":
                type_information = self._read_row(depth)
            case "POJO":
                class_name = self.name("the name of a class")
                fields = self.listed(lambda: self._read_field(depth)) if self.take(",") else []
                type_information = Types.POJO(class_name, dict(self._expect_named(fields)))
            case "ENUM":
                class_name = self.name("the name of a class")
                constants = (
                    self.listed(lambda: self.name("the name of a constant"))
                    if self.take(",")
                    else []
                )
                type_information = Types.ENUM(class_name, constants)
            case "CUSTOM":
                class_name = self.name("the class of a snapshot")
                nested = self.listed(lambda: self.read_type(depth)) if self.take(",") else []
                type_information = Types.custom(class_name, *nested)
            case _:
                element = self.read_type(depth)
                component = self.name("the name of a class") if self.take(",") else None
                type_information = Types.OBJECT_ARRAY(element, component)
        self.expect(">")
        return type_information

    def _read_row(self, depth: int) -> TypeInformation:
        fields = self.listed(lambda: self._read_field(depth))
        if not any(name for name, _ in fields):
            return Types.ROW([type_information for _, type_information in fields])
        named = self._expect_named(fields)
        return Types.ROW_NAMED(
            [name for name, _ in named], [type_information for _, type_information in named]
        )

    def _read_field(self, depth: int) -> tuple[str, TypeInformation]:
        """A type, with or without a name in front."""
        following = self.peek(1)[:1]
        is_named = following == "`" or following.isalpha()
        name = self.name("the name of a field") if is_named else ""
        return name, self.read_type(depth)

    def _expect_named(
        self, fields: list[tuple[str, TypeInformation]]
    ) -> list[tuple[str, TypeInformation]]:
        names = [name for name, _ in fields]
        if "" in names or len(set(names)) < len(names):
            raise self.error("fields with different names")
        return fields

    def _read_sql_row(self) -> TypeInformation:
        """Fields of SQL types; the brackets are read as ``ROW<...>``."""
        start = self.end
        self.expect("<")
        depth = 1
        while depth:
            if not self.peek():
                raise self.error("'>'")
            depth += {"<": 1, ">": -1}.get(self.peek(), 0)
            self.position += 1
        fields = self.text[start : self.end]
        logical_type = parse_logical_type(f"ROW{fields}")
        row = named_row(row_data(logical_type.children), list(logical_type.names))
        return TypeInformation(row, f"{_SQL_ROW}{fields}")
