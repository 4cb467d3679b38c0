"""Rules for masks, from a YAML file.

| field                        | meaning                                                           |
|------------------------------|-------------------------------------------------------------------|
| secret                       | ``env`` or ``file``: where the key of keyed methods is            |
| rules                        | the first rule that fits a field decides                          |
| operator, state, field, name | globs; ``name`` is the last name of ``field``, or of the state    |
| type                         | types of fields, as ``FieldType`` has them                        |
| method                       | one of ``METHODS``, with its options                              |

A field is ``key``, ``namespace``, ``map_key`` or ``value``, followed by the names of inner fields:
``value.address.zip``. Elements of a list have the name of the list, entries of an inner map ``key``
and ``value``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Self

from savepoint_database.types import YamlSection, milliseconds
from savepoint_extensions.privacy.mask_methods import METHODS, FieldType
from savepoint_formats.errors import DescriptionError, MaskError
from savepoint_formats.python_state.stored_forms import job_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SECRET_VARIABLE = "SAVEPOINT_MASK_SECRET"
"""The variable with the secret, unless the rules name another place."""

_SHORTEST_SECRET = 16
_UNITS = ("s", "ms", "us", "ns")
_GLOBS = ("operator", "state", "field", "name", "type")


@dataclass(frozen=True, slots=True)
class MaskField:
    """A field of a state: its place, its type, and whether only Flink needs its values.

    ``state`` is the name in the savepoint; rules may have that of the job.
    """

    operator: str
    state: str
    field: str
    type: FieldType
    is_own: bool = False

    @property
    def name(self) -> str:
        """The last name of the field; that of the state if it is the whole value."""
        last = self.field.rpartition(".")[2]
        return self.job_state if self.field in ("value", "map_key") else last

    @property
    def job_state(self) -> str:
        """Name of the state in its job."""
        return job_name(self.state)

    def __str__(self) -> str:
        return f"{self.operator}/{self.job_state}: {self.field}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A method for some fields.

    Attributes:
        method: Its name.
        place: The place of the rule in its file.
        globs: Pairs of a property of ``MaskField`` and a glob, all of which must fit.
        secret: The key of the method.
        value: The text of ``fixed``.
        by: The distance of ``shift`` in ms; None derives it from the secret.
        unit: The unit of integers that are times.
        values: The texts of ``fake``.
        sql: The expression of ``sql``.
        keep_domain: Whether ``email`` keeps the part after the @.
        numbers: Whether ``hash`` and ``digits`` mask the text of a whole number like the number.
    """

    method: str
    place: str
    globs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    secret: bytes = field(default=b"", repr=False)
    value: str = ""
    by: int | None = None
    unit: str = "ms"
    values: tuple[str, ...] = field(default=(), repr=False)
    sql: str = ""
    keep_domain: bool = False
    numbers: bool = False

    def __str__(self) -> str:
        return self.place

    def fits(self, place: MaskField) -> bool:
        return (self._names(place) or not place.is_own) and all(
            any(fnmatchcase(text, glob) for glob in globs for text in _fitting(place, name))
            for name, globs in self.globs
        )

    def _names(self, place: MaskField) -> bool:
        """Whether the rule means the state, the namespace, or the key of an operator by name."""
        globs = dict(self.globs)
        if place.state:
            return not set(_fitting(place, "state")).isdisjoint(globs.get("state", ()))
        root = place.field.partition(".")[0]
        is_named = any(glob.partition(".")[0] == root for glob in globs.get("field", ()))
        return is_named and (root != "key" or place.operator in globs.get("operator", ()))


def _fitting(place: MaskField, name: str) -> tuple[str, ...]:
    """What a glob for a property of a field may fit."""
    return (place.state, place.job_state) if name == "state" else (getattr(place, name),)


@dataclass(frozen=True, slots=True)
class MaskRules:
    """Rules in their order."""

    rules: tuple[Rule, ...]

    @classmethod
    def of_file(cls, path: str | os.PathLike[str]) -> Self:
        """The rules of a file of YAML; raises what ``of_text`` raises."""
        try:
            data = Path(path).read_bytes()
            return cls.of_text(data.decode("utf-8-sig"), os.fspath(path))
        except (OSError, UnicodeDecodeError) as error:
            raise DescriptionError(f"{os.fspath(path)} can't be read: {error}") from error

    @classmethod
    def of_text(cls, text: str, file: str = "rules") -> Self:
        """The rules of a text in YAML.

        Raises:
            DescriptionError: The text has no valid rules; the message has the line.
            MaskError: A rule needs the secret, which is missing or has less than 16 bytes.
        """
        section = YamlSection.of_text(text, file)
        section.expect_only(("secret", "rules"))
        rules = section.sections("rules")
        if not rules:
            raise section.error("there are no rules, expected a list of them")
        return cls.of_sections(rules, section)

    @classmethod
    def of_sections(cls, rules: Sequence[YamlSection], around: YamlSection | None = None) -> Self:
        """The rules of sections; ``around`` may name the place of the secret. Raises as ``of_text``."""
        named = [_method(rule) for rule in rules]
        needs_secret = any(METHODS[name].needs_secret for name in named)
        place = None if around is None else around.section("secret")
        secret = _secret(place, Path(rules[0].file).parent) if needs_secret else b""
        parsed = (_rule(rule, name, secret) for rule, name in zip(rules, named, strict=True))
        return cls(tuple(parsed))


def rule_for(rules: MaskRules, place: MaskField) -> Rule | None:
    """The first rule that fits a field; ``MaskError`` if its method does not take the type."""
    rule = next((rule for rule in rules.rules if rule.fits(place)), None)
    if rule is None:
        return None
    method = METHODS[rule.method]
    if place.type not in method.types:
        known = ", ".join(name for name, other in METHODS.items() if place.type in other.types)
        raise MaskError(
            f"{rule}: method {rule.method} can't mask {place}, which is of type"
            f" {place.type.value}; take one of {known}, or put a rule for it in front"
        )
    return rule


def _method(section: YamlSection) -> str:
    name = section.choice("method", METHODS)
    section.expect_only((*_GLOBS, "method", *METHODS[name].options))
    return name


def _rule(section: YamlSection, method: str, secret: bytes) -> Rule:
    globs = tuple((name, section.texts(name)) for name in _GLOBS if name in section.fields)
    for name in section.texts("type") if "type" in section.fields else ():
        if "*" not in name and name not in set(FieldType):
            known = ", ".join(FieldType)
            raise section.error(f"there is no type {name!r}, expected one of {known}", "type")
    needed = {"fixed": "value", "sql": "sql"}.get(method)
    return Rule(
        method,
        f"{section.file} line {section.line}",
        globs,
        secret,
        value=section.text(needed) if needed == "value" else "",
        by=section.parsed("by", _distance),
        unit=section.choice("unit", _UNITS, "ms"),
        values=_texts(section, Path(section.file).parent) if method == "fake" else (),
        sql=section.text(needed) if needed == "sql" else "",
        keep_domain=section.flag("keep_domain"),
        numbers=section.flag("numbers"),
    )


def _distance(text: str) -> int:
    """A duration in ms, perhaps with a minus in front."""
    return -milliseconds(text[1:].strip()) if text.startswith("-") else milliseconds(text)


def _texts(section: YamlSection, folder: Path) -> tuple[str, ...]:
    """The texts of a list, or the lines of a file."""
    name = section.optional_text("file")
    if name is None:
        return section.texts("values")
    lines = _content(section, "file", folder / name, Path.read_bytes).decode().splitlines()
    texts = tuple(line.strip() for line in lines if line.strip())
    if not texts:
        raise section.error(f"{name} is empty, expected a text per line", "file")
    return texts


def _secret(place: YamlSection | None, folder: Path) -> bytes:
    variable, file = SECRET_VARIABLE, None
    if place is not None:
        place.expect_only(("env", "file"))
        variable, file = place.optional_text("env") or variable, place.optional_text("file")
    if place is not None and file is not None:
        secret = _content(place, "file", folder / file, Path.read_bytes).strip()
        where = f"file {file}"
    else:
        secret, where = os.environ.get(variable, "").encode(), f"variable {variable}"
    if len(secret) < _SHORTEST_SECRET:
        raise MaskError(
            f"the rules need a secret, but {where} has {len(secret)} bytes, expected"
            f" {_SHORTEST_SECRET} or more, such as the output of openssl rand -hex 32"
        )
    return secret


def _content(section: YamlSection, name: str, path: Path, read: Callable[[Path], bytes]) -> bytes:
    try:
        return read(path)
    except OSError as error:
        raise section.error(f"it can't be read: {error}", name) from error
