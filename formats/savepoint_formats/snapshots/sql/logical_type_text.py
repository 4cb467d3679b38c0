"""SQL types as text, such as ``DECIMAL(10, 2) NOT NULL`` or ``ROW<id BIGINT, tags ARRAY<STRING>>``.

| text                                        | default      |
|---------------------------------------------|--------------|
| CHAR(n), VARCHAR(n), STRING                 | n = 1        |
| BINARY(n), VARBINARY(n), BYTES              | n = 1        |
| BOOLEAN                                     |              |
| TINYINT, SMALLINT, INT or INTEGER, BIGINT   |              |
| FLOAT, DOUBLE or DOUBLE PRECISION           |              |
| DECIMAL(p, s), DEC(p, s), NUMERIC(p, s)     | p = 10, s = 0|
| DATE; TIME(p)                               | p = 0        |
| TIMESTAMP(p), TIMESTAMP(p) WITHOUT TIME ZONE| p = 6        |
| TIMESTAMP_LTZ(p),                           | p = 6        |
| TIMESTAMP(p) WITH LOCAL TIME ZONE           |              |
| ARRAY<t>, MULTISET<t>, MAP<t, t>            |              |
| ROW<name t, ...>, ROW(name t, ...)          |              |

Each type may end with NULL, which is the default, or NOT NULL. Names with other characters need
backticks.

Flink: ``LogicalTypeParser``.
"""

from __future__ import annotations

import re
from dataclasses import replace

from savepoint_formats.layout import LogicalType
from savepoint_formats.token_reader import TokenReader

_MAX_LENGTH = 0x7FFF_FFFF
_MAX_DECIMAL_PRECISION = 38
_MAX_TIME_PRECISION = 9
_MAX_DEPTH = 50

_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|([^\W\d]\w*)|(\d+)|([<>(),]))")
_CLOSING = {"<": ">", "(": ")"}
_PLAIN = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INT": "INTEGER",
    "INTEGER": "INTEGER",
    "BIGINT": "BIGINT",
    "FLOAT": "FLOAT",
    "DATE": "DATE",
}
_WITH_LENGTH = ("CHAR", "VARCHAR", "BINARY", "VARBINARY")
_UNBOUNDED = {"STRING": "VARCHAR", "BYTES": "VARBINARY"}
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
_PARAMETRIC = {"ARRAY": 1, "MULTISET": 1, "MAP": 2}


def parse_logical_type(text: str) -> LogicalType:
    """The type of a text. Raises ``ValueError`` that says where the text is wrong."""
    parser = _Parser(text, _TOKEN, "SQL type")
    logical_type = parser.read_type(0)
    parser.expect_end()
    return logical_type


class _Parser(TokenReader):
    def read_type(self, depth: int) -> LogicalType:
        if depth > _MAX_DEPTH:
            raise ValueError(f"a SQL type that nests deeper than {_MAX_DEPTH}")
        logical_type = self._read_root(depth)
        if self.take("NOT", "NULL"):
            return replace(logical_type, is_nullable=False)
        self.take("NULL")
        return logical_type

    def _read_root(self, depth: int) -> LogicalType:
        name = self.peek().upper()
        self.position += 1
        if name in _PLAIN:
            return LogicalType(_PLAIN[name])
        if name in _WITH_LENGTH:
            return LogicalType(name, length=self._read_number(1, 1, _MAX_LENGTH))
        if name in _UNBOUNDED:
            return LogicalType(_UNBOUNDED[name], length=_MAX_LENGTH)
        if name in _DECIMALS:
            return self._read_decimal()
        if name in _PARAMETRIC:
            children = self.arguments(lambda: self.read_type(depth + 1), _PARAMETRIC[name])
            return LogicalType(name, children=children)
        match name:
            case "DOUBLE":
                self.take("PRECISION")
                return LogicalType("DOUBLE")
            case "TIME" | "TIMESTAMP" | "TIMESTAMP_LTZ":
                return self._read_time(name)
            case "ROW":
                return self._read_row(depth + 1)
        self.position -= 1
        raise self.error("a type such as BIGINT, DECIMAL(10, 2) or ARRAY<STRING>")

    def _read_number(self, default: int, low: int, high: int) -> int:
        if not self.take("("):
            return default
        number = self._read_limited(low, high)
        self.expect(")")
        return number

    def _read_limited(self, low: int, high: int) -> int:
        token = self.peek()
        if not token.isdecimal() or not low <= int(token) <= high:
            raise self.error(f"a number of {low} to {high}")
        self.position += 1
        return int(token)

    def _read_decimal(self) -> LogicalType:
        precision, scale = 10, 0
        if self.take("("):
            precision = self._read_limited(1, _MAX_DECIMAL_PRECISION)
            scale = self._read_limited(0, precision) if self.take(",") else 0
            self.expect(")")
        return LogicalType("DECIMAL", precision=precision, scale=scale)

    def _read_time(self, name: str) -> LogicalType:
        default = 0 if name == "TIME" else 6
        precision = self._read_number(default, 0, _MAX_TIME_PRECISION)
        is_local = name == "TIMESTAMP_LTZ"
        if name == "TIMESTAMP" and self.take("WITH", "LOCAL", "TIME", "ZONE"):
            is_local = True
        elif not is_local:
            self.take("WITHOUT", "TIME", "ZONE")
        root = "TIMESTAMP_WITH_LOCAL_TIME_ZONE" if is_local else f"{name}_WITHOUT_TIME_ZONE"
        return LogicalType(root, precision=precision)

    def _read_row(self, depth: int) -> LogicalType:
        opening = self.peek()
        if opening not in _CLOSING:
            raise self.error("'<' or '('")
        self.position += 1
        names: list[str] = []
        children: list[LogicalType] = []
        while not self.take(_CLOSING[opening]):
            if names:
                self.expect(",")
            names.append(self.name("the name of a field"))
            children.append(self.read_type(depth))
        return LogicalType("ROW", names=tuple(names), children=tuple(children))
