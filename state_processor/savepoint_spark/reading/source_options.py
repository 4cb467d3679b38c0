"""The options of the data source ``savepoint``, and their texts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Self

from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.scan import ReadOptions, checked_key_groups

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_formats.locations import PathRules

FORMAT = "savepoint"
"""The name of the data source."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a read by Spark; ``split_size`` is in bytes, None lets the scan choose."""

    read: ReadOptions = field(default_factory=ReadOptions)
    where: str | None = None
    split_size: int | None = None

    def __post_init__(self) -> None:
        if self.where is not None and not isinstance(self.where, str):
            raise TypeError(f"where is {self.where!r}, expected a condition in SQL")
        size = self.split_size
        if size is not None and (isinstance(size, bool) or not isinstance(size, int)):
            raise TypeError(f"split_size is {size!r}, expected a number of bytes")
        if size is not None and size < 1:
            raise ValueError(f"split_size is {size}, expected a number of bytes")

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Self:
        """The options among the arguments of a call; raises what ``ReadOptions.of`` raises."""
        own = {name: arguments[name] for name in _OWN if name in arguments}
        return cls(ReadOptions.of(arguments), **own)

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> Self:
        """Parses options of the data source, in any case; ``ValueError`` for unknown ones."""
        options = {}
        for name, text in _given(texts).items():
            if (known := _BY_PLAIN_NAME.get(_plain_name(name))) is not None:
                options[known] = _parsed(known, text)
            elif name.casefold() not in _OF_SAVEPOINTS:
                raise ValueError(_unknown_option(name))
        return cls.of(options)

    def texts(self) -> dict[str, str]:
        """The options that are not default, as texts; ``TypeError`` for functions in ``merge``."""
        return {_camel_case(name): _text(value) for name, value in self.changed().items()}

    def changed(self) -> dict[str, Any]:
        """The options that are not default."""
        default = SourceOptions()
        pairs = {name: (getattr(self, name), getattr(default, name)) for name in _OWN}
        pairs |= {
            name: (getattr(self.read, name), getattr(default.read, name)) for name in _OF_READ
        }
        return {name: value for name, (value, before) in pairs.items() if value != before}


def path_options(rules: PathRules) -> dict[str, str]:
    """The options for rules of paths that differ from the default."""
    allowed = {"allowPaths": json.dumps(rules.allowed)} if rules.allowed else {}
    return allowed | ({"strictPaths": "true"} if rules.is_strict else {})


_OF_READ = tuple(field.name for field in fields(ReadOptions))
_OWN = ("where", "split_size")
_NAMES = (*_OF_READ, *_OWN)
_SHOWN = (
    *("table", "uids", "kryoClasses", "keyTypes", "plan", "types"),
    *("savepoint", "allowPaths", "strictPaths"),
)
_OF_SAVEPOINTS = {"path", *map(str.casefold, _SHOWN)}
"""The options that select a table of a savepoint."""


def _camel_case(name: str) -> str:
    """A name as Spark writes options: ``withKeyGroup``."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _unknown_option(name: str) -> str:
    known = [*map(_camel_case, _NAMES), *_SHOWN]
    meant = get_close_matches(name.casefold(), known, 1)
    hint = f": did you mean {meant[0]!r}?" if meant else ""
    return f"there is no option {name!r}{hint}; there are: {', '.join(sorted(known))}"


def _plain_name(name: str) -> str:
    """A name without case and ``_``, because Spark does not keep the case of options."""
    return name.replace("_", "").casefold()


_BY_PLAIN_NAME = {_plain_name(name): name for name in _NAMES}

_CATALOG_MARK, _CATALOG_PREFIX = "provider", "option."


def _given(texts: Mapping[str, str]) -> dict[str, str]:
    """The user's options. A table of the catalog also has properties, such as its owner."""
    if _CATALOG_MARK not in texts:
        return dict(texts)
    return {
        name.removeprefix(_CATALOG_PREFIX): text
        for name, text in texts.items()
        if name.startswith(_CATALOG_PREFIX)
    }


def _parsed(name: str, text: str) -> Any:
    match name:
        case "columns":
            return names_of(_camel_case(name), text)
        case "keys":
            return _json_list(name, text)
        case "key_groups":
            return _key_groups(text)
        case "flat" | "where" | "nanoseconds" | "undescribed_subclasses":
            return text
        case "merge":
            return _rules(text)
        case "split_size" | "chunk_size":
            return _size(_camel_case(name), text)
        case _:
            return flag_of(_camel_case(name), text)


def _text(value: Any) -> str:
    """An option as a text that ``_parsed`` reads."""
    match value:
        case bool():
            return str(value).lower()
        case str() | int():
            return str(value)
        case KeyGroupRange(start, end):
            return f"{start}-{end}"
        case tuple():
            return json.dumps(value, default=_plain)
    if not all(isinstance(rule, str) for rule in value.values()):
        raise TypeError("merge has a function, which only read_local_state takes; name a rule here")
    return json.dumps(dict(value))


def _plain(value: Any) -> str:
    """A value that JSON lacks, as the option ``keys`` takes it."""
    return value.hex() if isinstance(value, bytes) else str(value)


def names_of(name: str, text: str) -> tuple[str, ...]:
    """Names with commas between them, or as a JSON list."""
    if text.lstrip().startswith("["):
        return tuple(map(str, _json_list(name, text)))
    return tuple(part.strip() for part in text.split(","))


def flag_of(name: str, text: str) -> bool:
    """A text that says yes or no, or ``ValueError``."""
    if text.lower() not in ("true", "false"):
        raise ValueError(f"option {name!r} is {text!r}, expected true or false")
    return text.lower() == "true"


def _json_list(name: str, text: str) -> list[Any]:
    parsed = _json(name, text)
    if not isinstance(parsed, list):
        raise ValueError(f"option {name!r} is {text!r}, expected a JSON list")
    return parsed


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"option {name!r} is not JSON: {text!r}") from error


def _rules(text: str) -> dict[str, str]:
    rules = _json("merge", text)
    if not isinstance(rules, dict) or not all(isinstance(rule, str) for rule in rules.values()):
        raise ValueError(f'option \'merge\' is {text!r}, expected JSON such as {{"count": "sum"}}')
    return rules


def _key_groups(text: str) -> Any:
    try:
        return checked_key_groups(text)
    except ValueError as error:
        raise ValueError(f"option 'keyGroups' is {text!r}, expected 3 or 0-15") from error


def _size(name: str, text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise ValueError(f"option {name!r} is {text!r}, expected a number of bytes")
    return int(text)
