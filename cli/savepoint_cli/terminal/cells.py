"""Values as cells of a table: for people, or plain for programs.

| value     | people                        | programs                       | JSON         |
|-----------|-------------------------------|--------------------------------|--------------|
| number    | ``1250268.8125``              | ``1250268.8125``               | number       |
| bytes     | ``00ff (2 bytes)``            | ``00ff``                       | ``"00ff"``   |
| struct    | ``{f0: 7, f1: Zoë}``          | JSON                           | object       |
| map       | ``{EUR: 5}``                  | JSON, a list of pairs          | list of pairs|
| null      | ``null``                      | ``null``                       | ``null``     |
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from savepoint_formats.printable import field_text, fields_of, is_of_records, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SHOWN_BYTES = 16
_HASH = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")


def person_cell(value: Any) -> str:
    """A value of data for people, on one line."""
    return printable(_for_people(value, is_nested=False), keep="")


def _for_people(value: Any, *, is_nested: bool = True) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float() | Decimal():
            # Without separators, so that people can copy a key into a command.
            return str(_plain(value))
        case bytes():
            return _bytes(value, has_length=not is_nested or len(value) > _SHOWN_BYTES)
        case dict():
            return _joined("{}", (f"{name}: {_for_people(item)}" for name, item in value.items()))
        case [(_, _), *_] if all(isinstance(pair, tuple) for pair in value):
            return _joined("{}", (f"{_for_people(k)}: {_for_people(v)}" for k, v in value))
        case list() | tuple():
            return _joined("[]", map(_for_people, value))
        case _:
            return str(value)


def _joined(brackets: str, parts: Any) -> str:
    return f"{brackets[0]}{', '.join(parts)}{brackets[1]}"


def _bytes(value: bytes, *, has_length: bool) -> str:
    shown = value[:_SHOWN_BYTES].hex() + ("…" if len(value) > _SHOWN_BYTES else "")
    if not has_length:
        return shown
    unit = "byte" if len(value) == 1 else "bytes"
    return f"{shown} ({len(value):,} {unit})".lstrip()


def plain_cell(value: Any) -> str:
    """A value of data for programs, on one line."""
    match value:
        case None:
            return "null"
        case str():
            return printable(value, keep="")
        case bytes():
            return value.hex()
        case float() | Decimal():
            return str(_plain(value))
        case _:
            return printable(to_json(value), keep="")


def to_json(value: Any) -> str:
    """A value as JSON; bytes are hexadecimal."""
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, default=_json_text)


def _plain(value: Any) -> Any:
    """The value with texts for ``NaN`` and ``Infinity``, which JSON doesn't have."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dict():
            return {name: _plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


def _json_text(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def person_field(value: Any, name: str = "") -> str:
    """A field of a record for people, on one line; see ``field_text``."""
    return printable(field_text(value, name), keep="")


def shortened(text: str, names: Mapping[str, str]) -> str:
    """The text with short names instead of operator hashes; only for texts that are not data."""
    return _HASH.sub(lambda match: names.get(match[0], match[0]), text)


def plain_field(value: Any) -> str:
    """A field of a record for programs."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case tuple():
            return printable(", ".join(map(str, value)), keep="")
        case _:
            return printable(str(value), keep="")


def plain_fields(records: Sequence[Any]) -> Iterable[str]:
    """The names of fields without records."""
    first = records[0]
    declared = {field.name: field.type for field in fields(first)} if is_dataclass(first) else {}
    for name in fields_of(first):
        values = [fields_of(record)[name] for record in records]
        is_plain = not any(is_dataclass(value) or is_of_records(value) for value in values)
        if is_plain and not _is_of_records(declared.get(name)):
            yield name


def _is_of_records(declared: object) -> bool:
    """Whether a field is declared for records, even if it has none: not a tuple of plain values."""
    text = str(declared)
    return text.startswith("tuple[") and not text.startswith(("tuple[str", "tuple[int"))
