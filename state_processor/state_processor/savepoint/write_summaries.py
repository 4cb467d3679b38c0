"""What was written, and what is planned: the answers of ``SavepointWriter``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.printable import html_records, without_secrets

if TYPE_CHECKING:
    from savepoint_extensions.change_files.change_count import ChangeCount
    from savepoint_extensions.privacy.mask_plan import MaskedField
    from savepoint_extensions.sql_jobs.plan_diff import SqlChange

_SHOWN = ("operator", "action", "files", "size")


@dataclass(frozen=True, slots=True, repr=False)
class WrittenOperator:
    """An operator of a savepoint that was written, or is planned.

    Attributes:
        operator: Its uid, or the hash if that is not known.
        hash: The hash of its uid.
        action: The action: ``copied``, ``renamed from ...``, ``converted``, ``changed``,
            ``written``.
        files: The number of its files; None if that is not known beforehand.
        size: Their bytes, without state inside ``_metadata``.
        hash_code: The shape of the ``hashCode`` of its keys, inferred or given by the user, if
            they were hashed anew and their type does not tell it.
    """

    operator: str
    hash: str
    action: str
    files: int | None
    size: int | None
    hash_code: str | None = None

    def __repr__(self) -> str:
        return f"WrittenOperator({self.operator!r}, {self.action})"


@dataclass(frozen=True, slots=True, repr=False)
class PlannedSavepoint:
    """A savepoint that is about to be written.

    Attributes:
        path: The target.
        replaces: Whether a savepoint is there, and is replaced.
        metadata_version: The version of its ``_metadata``.
        copied_files: The number of files that are copied.
        copied_size: Their bytes.
        left_out: Operators that only the old savepoint has, and lost states of operators that
            are made anew, as ``uid.state``.
        operators: Its operators.
        sql_changes: What becomes of each operator of a SQL query, after ``sql_migrate``.
        masked: Its fields, if it is masked: with their methods, and counts of changed values.
        counts: How many values change and how many keys are deleted, by state; only after a check
            with a session.
    """

    path: str
    replaces: bool
    metadata_version: int
    copied_files: int
    copied_size: int
    left_out: tuple[str, ...]
    operators: tuple[WrittenOperator, ...]
    sql_changes: tuple[SqlChange, ...] = ()
    masked: tuple[MaskedField, ...] = ()
    counts: tuple[ChangeCount, ...] = ()

    def __repr__(self) -> str:
        count = len(self.operators)
        return f"PlannedSavepoint({without_secrets(self.path)!r}, {count} operators, {self.copied_size} bytes to copy)"

    def _repr_html_(self) -> str:
        return html_records(repr(self), self.operators, _SHOWN)


@dataclass(frozen=True, slots=True, repr=False)
class WrittenSavepoint:
    """A savepoint that was written.

    Attributes:
        path: Its place.
        metadata_version: The version of its ``_metadata``.
        files: The number of its files, ``_metadata`` among them.
        size: Their bytes.
        seconds: The duration of writing.
        left_out: Operators that only the old savepoint has, and lost states of operators that
            were made anew, as ``uid.state``.
        operators: Its operators.
        sql_changes: What becomes of each operator of a SQL query, after ``sql_migrate``.
        masked: Its fields, if it is masked: with their methods, and counts of changed values.
    """

    path: str
    metadata_version: int
    files: int
    size: int
    seconds: float
    left_out: tuple[str, ...]
    operators: tuple[WrittenOperator, ...]
    sql_changes: tuple[SqlChange, ...] = ()
    masked: tuple[MaskedField, ...] = ()

    def __repr__(self) -> str:
        count = len(self.operators)
        return f"WrittenSavepoint({without_secrets(self.path)!r}, {count} operators, {self.size} bytes)"

    def _repr_html_(self) -> str:
        return html_records(repr(self), self.operators, _SHOWN)
