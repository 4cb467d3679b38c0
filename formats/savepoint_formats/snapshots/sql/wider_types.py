"""SQL types that hold all values of others: a column of state may become wider, and not narrower."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from savepoint_formats.layout import LogicalType

_WIDER = {
    "TINYINT": {"SMALLINT", "INTEGER", "BIGINT"},
    "SMALLINT": {"INTEGER", "BIGINT"},
    "INTEGER": {"BIGINT"},
    "FLOAT": {"DOUBLE"},
    "CHAR": {"VARCHAR"},
    "BINARY": {"VARBINARY"},
}
_OF_FIXED_LENGTH = ("CHAR", "BINARY")


def holds(wide: LogicalType, narrow: LogicalType) -> bool:
    """Whether a type holds all values of another one."""
    if narrow.is_nullable and not wide.is_nullable:
        return False
    if wide.root in _WIDER.get(narrow.root, ()):
        return wide.length >= narrow.length
    same = replace(wide, is_nullable=narrow.is_nullable)
    if wide.root != narrow.root or same == narrow:
        return same == narrow
    digits = wide.precision - wide.scale >= narrow.precision - narrow.scale
    is_longer = wide.length >= narrow.length and wide.root not in _OF_FIXED_LENGTH
    known = replace(same, length=narrow.length, precision=narrow.precision, scale=narrow.scale)
    return known == narrow and is_longer and digits and wide.scale >= narrow.scale


def type_text(logical_type: LogicalType) -> str:
    """A type as reasons show it."""
    size = logical_type.length or logical_type.precision
    scale = f", {logical_type.scale}" if logical_type.scale else ""
    null = "" if logical_type.is_nullable else " NOT NULL"
    return f"{logical_type.root}{f'({size}{scale})' if size else ''}{null}"
