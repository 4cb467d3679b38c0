"""What a check found: what is wrong, where it is, and what it costs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from savepoint_formats.errors import FormatError, UndecodableError, UnknownSnapshotError
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from savepoint_formats.errors import SavepointError

_STATE = re.compile(r"state '(.*)'", re.DOTALL)
_KEY_GROUP = re.compile(r"key groups? (\d+(?: to \d+)?)")


class Severity(StrEnum):
    """Whether state is lost.

    | value     | meaning                                                                   |
    |-----------|---------------------------------------------------------------------------|
    | damage    | bytes are missing, or are not what their format says                      |
    | unchecked | nobody can tell from the savepoint alone, as a class of the job decides it |
    """

    DAMAGE = "damage"
    UNCHECKED = "unchecked"


class Check(StrEnum):
    """What was looked at."""

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
    """Something that is wrong.

    Attributes:
        severity: Whether state is lost.
        check: What was looked at.
        problem: What was found, and what was expected.
        operator: The operator, by its uid or hash; empty if it is none in particular.
        subtask: The index of the subtask; None of none in particular.
        state: The state; empty if it is none in particular.
        key_group: The key group, or a range of them as ``3 to 7``; empty if it is none.
        file: The file, as its handle has it.
        offset: The byte in it, from 0; None if it is none in particular.
        lost_entries: How many entries or elements are lost; None if nobody can tell.
        lost_bytes: How many bytes of the savepoint are lost; None if nobody can tell.
        cost: The same in words.
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
        """What an error says.

        Args:
            check: What was looked at.
            error: The error.
            file: The file, for errors that do not know it.
            cost: What is lost, in words.
            lost_entries: How many entries are lost.
            lost_bytes: How many bytes are lost.
        """
        is_open = isinstance(error, UndecodableError | UnknownSnapshotError)
        problem, offset = printable(str(error.args[0]) if error.args else ""), None
        if isinstance(error, FormatError):
            problem, file = printable(error.message), file or printable(error.path)
            offset = error.offset if error.offset >= 0 else None
        return cls(
            severity=Severity.UNCHECKED if is_open else Severity.DAMAGE,
            check=check,
            problem=problem,
            state=_found(_STATE, error.places),
            key_group=_found(_KEY_GROUP, error.places),
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


def _found(pattern: re.Pattern[str], places: tuple[str, ...]) -> str:
    """What the first of the places that the pattern fits has in its group."""
    for place in places:
        if match := pattern.fullmatch(place):
            return printable(match[1])
    return ""
