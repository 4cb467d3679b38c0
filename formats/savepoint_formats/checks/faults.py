"""Results of checks: faults, their places and their costs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from savepoint_formats.checks.odd_entries import OddEntryError
from savepoint_formats.errors import (
    FormatError,
    MissingPackageError,
    RocksDbError,
    UndecodableError,
    UnknownSnapshotError,
    UnreachableError,
    UnsupportedVersionError,
)
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from savepoint_formats.errors import SavepointError

_NOT_READ = (
    UndecodableError,
    UnknownSnapshotError,
    UnsupportedVersionError,
    RocksDbError,
    UnreachableError,
    MissingPackageError,
)
"""Errors of bytes that another reader may find whole."""

_STATE = re.compile(r"state '(.*)'", re.DOTALL)
_KEY_GROUP = re.compile(r"key groups? (\d+(?: to \d+)?)")


class Severity(StrEnum):
    """Whether state is lost.

    | value     | meaning                                                                   |
    |-----------|---------------------------------------------------------------------------|
    | damage    | bytes are missing, or violate their format                      |
    | not read  | this package can't read it: a class, a version or a store is unknown      |
    | unchecked | it is read, but the savepoint alone does not tell whether it is right     |
    """

    DAMAGE = "damage"
    NOT_READ = "not read"
    UNCHECKED = "unchecked"


class Check(StrEnum):
    """The subject of a check."""

    METADATA = "metadata"
    FILES = "files"
    HEADERS = "headers"
    OFFSETS = "offsets"
    SECTIONS = "sections"
    CHECKSUMS = "checksums"
    KEY_GROUPS = "key groups"
    UNIQUE_KEYS = "unique keys"
    VALUES = "values"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a savepoint.

    Attributes:
        severity: Whether state is lost.
        check: The subject of the check.
        problem: What is wrong, and what was expected.
        operator: The operator's uid or hash; empty if there is no particular one.
        subtask: The index of the subtask; None if there is no particular one.
        state: The state; empty if there is no particular one.
        key_group: The key group, or a range such as ``3 to 7``; empty if there is none.
        file: The file, as its handle names it.
        offset: The byte in it, from 0; None if there is no particular one.
        lost_entries: Number of entries or elements that are lost; None if unknown.
        lost_bytes: Number of bytes of the savepoint that are lost; None if unknown.
        cost: The loss in words.
    """

    severity: Severity
    check: Check
    problem: str
    operator: str = ""
    subtask: int | None = None
    state: str = ""
    key_group: str = ""
    file: str = ""
    offset: int | None = None
    lost_entries: int | None = None
    lost_bytes: int | None = None
    cost: str = ""

    @classmethod
    def of(
        cls,
        check: Check,
        error: SavepointError,
        *,
        file: str = "",
        cost: str = "",
        lost_entries: int | None = None,
        lost_bytes: int | None = None,
    ) -> Self:
        """The fault that an error describes.

        Args:
            check: The subject of the check.
            error: The error.
            file: The file; the error's path by default.
            cost: The loss in words.
            lost_entries: Number of entries that are lost.
            lost_bytes: Number of bytes that are lost.
        """
        severity = Severity.DAMAGE
        if isinstance(error, OddEntryError):
            severity = Severity.UNCHECKED
        elif isinstance(error, _NOT_READ):
            severity = Severity.NOT_READ
        is_open = severity is not Severity.DAMAGE
        problem, offset = printable(str(error.args[0]) if error.args else ""), None
        if isinstance(error, FormatError):
            problem, file = printable(error.message), file or printable(error.path)
            offset = error.offset if error.offset >= 0 else None
        return cls(
            severity=severity,
            check=check,
            problem=problem,
            state=_place(_STATE, error.places),
            key_group=_place(_KEY_GROUP, error.places),
            file=file,
            offset=offset,
            lost_entries=None if is_open else lost_entries,
            lost_bytes=None if is_open else lost_bytes,
            cost="" if is_open else cost,
        )

    @property
    def is_damage(self) -> bool:
        """Whether state is lost."""
        return self.severity is Severity.DAMAGE


def _place(pattern: re.Pattern[str], places: tuple[str, ...]) -> str:
    """The pattern's group in the first place that matches it."""
    for place in places:
        if match := pattern.fullmatch(place):
            return printable(match[1])
    return ""
