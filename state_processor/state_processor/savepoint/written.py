"""What a written savepoint tells of itself, and one that is about to be written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WrittenOperator:
    """An operator of a savepoint that was written, or is to be.

    Attributes:
        operator: Its uid, or the hash where that is not known.
        hash: The hash of its uid.
        action: What was done: ``copied``, ``renamed from ...``, ``changed``, ``written``.
        files: The number of its files; None if that is not known beforehand.
        size: Their bytes; what lies in ``_metadata`` itself is not among them.
        hash_code: What its keys are hashed by, where they were hashed anew and their type does not
            say it: the shape of a ``hashCode``, inferred from the savepoint or given by the user.
    """

    operator: str
    hash: str
    action: str
    files: int | None
    size: int | None
    hash_code: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedSavepoint:
    """A savepoint that is about to be written.

    Attributes:
        path: Where to.
        replaces: Whether a savepoint lies there, and is replaced.
        metadata_version: The version of its ``_metadata``.
        copied_files: The number of files that are copied.
        copied_size: Their bytes.
        left_out: What the savepoint that it is based on has, but it has not: operators, and of
            operators that are made anew the states that are not, as ``uid.state``.
        operators: What it consists of.
    """

    path: str
    replaces: bool
    metadata_version: int
    copied_files: int
    copied_size: int
    left_out: tuple[str, ...]
    operators: tuple[WrittenOperator, ...]


@dataclass(frozen=True, slots=True)
class WrittenSavepoint:
    """A savepoint that was written.

    Attributes:
        path: Where it is.
        metadata_version: The version of its ``_metadata``.
        files: The number of its files, ``_metadata`` among them.
        size: Their bytes.
        seconds: How long it took.
        left_out: What the savepoint that it is based on has, but it has not: operators, and of
            operators that are made anew the states that are not, as ``uid.state``.
        operators: What it consists of.
    """

    path: str
    metadata_version: int
    files: int
    size: int
    seconds: float
    left_out: tuple[str, ...]
    operators: tuple[WrittenOperator, ...]
