"""All errors, as one tree of exceptions; ``savepoint_warnings`` has the warnings.

::

    SavepointError
    ├── NotFoundError
    │   ├── SavepointNotFoundError, StateFileNotFoundError, UnreachableError
    │   ├── OperatorNotFoundError *, TableNotFoundError *, StateNotFoundError *, JobNotFoundError *
    │   └── ColumnNotFoundError *, FieldNotFoundError *, ClassNotNamedError *
    ├── DamagedError
    │   ├── NotASavepointError, StateTypeError, TableFileError
    │   └── FormatError
    │       ├── TruncatedError, WrongFileError, FileReplacedError, UnsupportedVersionError
    │       ├── RocksDbError, UnknownSnapshotError
    │       └── UndecodableError
    │           └── ValueOutOfRangeError, UndescribedSubclassError
    ├── RefusedError
    │   ├── SavepointExistsError, OperatorExistsError, StateExistsError, EmptySavepointError
    │   ├── SchemaChangeError, RescaleError, ConversionError, MaskError
    │   ├── MigrationError
    │   │   └── NotAcceptedError
    │   ├── MergeError, NotMergeableError, HashCodeError, UnstableHashError, UnstableKeyError
    │   ├── InexactTimeError, DescriptionError, MissingPackageError, EndlessTimersError, ClusterError
    │   ├── AmbiguousOperatorError *, AmbiguousJobError *
    │   └── KeyTypeError *, ConditionError *, QueryError *, PlanError *
    ├── UsageError, the parent of all errors with a *: the call doesn't fit this savepoint
    ├── JobError
    └── WriteError
        ├── ColumnTypeError, DuplicateKeyError, OverlappingWindowsError
        ├── NullKeyError, KeyGroupError, SubtaskError, FunctionResultError
        └── UnencodableError
            └── NullValueError

A call that is wrong for every savepoint raises ``ValueError`` or ``TypeError``.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.printable import did_you_mean, printable, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class SavepointError(Exception):
    """The root of all errors.

    Attributes:
        places: Places in the savepoint, from the inside out: ``state 'total'``, ``key group 17``,
            ``operator summarize``.
    """

    places: tuple[str, ...] = ()

    def within(self, *places: str) -> Self:
        """Adds places to the error, and returns it."""
        self.places += tuple(place for place in places if place not in self.places)
        return self

    def __str__(self) -> str:
        return self._placed(super().__str__())

    def _placed(self, message: str) -> str:
        # Names come from the savepoint; no terminal and no log may obey them.
        whole = f"{message}; in {', '.join(self.places)}" if self.places else message
        return printable(without_secrets(whole))


class NotFoundError(SavepointError):
    """Something that was asked for does not exist."""


class DamagedError(SavepointError):
    """Something exists, but is damaged or of another kind."""


class RefusedError(SavepointError):
    """The call can't be carried out, or only inexactly."""


class UsageError(SavepointError):
    """The call is wrong: it names something missing, or doesn't fit the savepoint."""


class JobError(SavepointError):
    """A job has lost its processes; it has no result and no error of its own."""


class WriteError(SavepointError):
    """New rows do not fit their state."""


@contextmanager
def within(*places: str) -> Iterator[None]:
    """Adds places to every ``SavepointError`` that leaves the context."""
    try:
        yield
    except SavepointError as error:
        error.within(*places)
        raise


class SavepointNotFoundError(NotFoundError):
    """The path doesn't exist, or is a directory without a ``_metadata`` file."""


class NotASavepointError(DamagedError):
    """The file at the path is not a ``_metadata`` file."""


class SavepointExistsError(RefusedError):
    """A savepoint, or something else, exists at the path of a new savepoint."""


class StateFileNotFoundError(NotFoundError):
    """A file that the savepoint refers to is neither at its path nor next to ``_metadata``."""


class UnreachableError(NotFoundError):
    """A file system is unknown, refuses to read, or does not answer in time."""


class OperatorNotFoundError(NotFoundError, UsageError):
    """No operator of the savepoint has this uid, name or hash."""

    @classmethod
    def among(cls, path: str, uid: str, names: Iterable[str]) -> Self:
        """The error that lists the operators of the savepoint."""
        listed = ", ".join(known := sorted(names)) or "none"
        return cls(f"{path} has no operator {uid!r}; it has: {listed}{did_you_mean(uid, known)}")


class AmbiguousOperatorError(RefusedError, UsageError, ValueError):
    """Several operators have hashes that begin with the given digits."""


class JobNotFoundError(NotFoundError, UsageError):
    """A cluster has no job with this id or name."""


class AmbiguousJobError(RefusedError, UsageError, ValueError):
    """A cluster has several jobs with this name."""


class ClusterError(RefusedError):
    """A running cluster refuses a request, fails at it, or does not answer as Flink does."""


class OperatorExistsError(RefusedError, ValueError):
    """A savepoint would have two operators with the same uid."""


class EmptySavepointError(RefusedError, ValueError):
    """A savepoint would have no operators at all."""


class StateNotFoundError(NotFoundError, UsageError):
    """The operator has no state, or no table, of this name."""


class StateExistsError(RefusedError, ValueError):
    """An operator would have two states with the same name."""


class FieldNotFoundError(NotFoundError, UsageError):
    """The values of a state have no field of this name."""


class ClassNotNamedError(NotFoundError, UsageError):
    """No serializer of the operators in question names this Java class."""


class SchemaChangeError(RefusedError):
    """A type change that the serializer, or the bytes of the values, don't allow."""


class UnstableHashError(RefusedError):
    """A key's value doesn't determine its Java hash code, so its key group is unknown."""


class HashCodeError(RefusedError, ValueError):
    """The user's function doesn't return one Java hash code for each key."""


class UnstableKeyError(RefusedError):
    """Equal keys of this type may have different bytes, so rows can't be sorted by them."""


class NotMergeableError(RefusedError, TypeError):
    """An aggregate whose partial results, one per partition, can't be combined."""


class ConditionError(RefusedError, UsageError):
    """A condition on rows can't be understood, or does not fit the table."""


class QueryError(RefusedError, UsageError):
    """A query in SQL can't be understood, or failed."""


class PlanError(RefusedError, UsageError, ValueError):
    """A file is not a compiled plan of Flink SQL, or not the plan of the savepoint's job."""


class MissingPackageError(RefusedError, ImportError):
    """A package that a method needs is not installed; the message has the pip command."""


class TableFileError(DamagedError):
    """A file of rows doesn't have its format, or a value doesn't have its column's type."""


class DescriptionError(RefusedError, ValueError):
    """A description has a mistake, or something is missing in it."""


class TableNotFoundError(NotFoundError, UsageError):
    """There is no such table, or there are several to choose from."""


class ColumnNotFoundError(NotFoundError, UsageError):
    """The table has no column of this name."""


class ColumnTypeError(WriteError, TypeError):
    """The type of a column doesn't fit the required type."""


class InexactTimeError(RefusedError, ValueError):
    """A time is not a whole number of microseconds, Spark's finest unit."""


class UnencodableError(WriteError, ValueError):
    """A column holds a value that its serializer cannot write.

    Attributes:
        message: The value, and what was expected.
        column: The place in the column: ``$.tags[]``; empty if unknown.
        row: The row of the column, from 0; -1 if unknown.
    """

    def __init__(self, message: str, column: str = "", row: int = -1) -> None:
        super().__init__(message, column, row)
        self.message, self.column, self.row = message, column, row

    def __str__(self) -> str:
        where = f"row {self.row} of {self.column}: " if self.column else ""
        return self._placed(f"{where}{self.message}")


class NullValueError(UnencodableError):
    """A null that the serializer can't write."""


class DuplicateKeyError(WriteError):
    """Two rows have the same key, so one would hide the other's state."""


class OverlappingWindowsError(WriteError):
    """Session windows of a key overlap or touch; Flink would have merged them."""


class RescaleError(RefusedError):
    """An operator has state that only Flink can spread over other subtasks."""


class EndlessTimersError(RefusedError):
    """A function registers timers that are due at once, again and again."""


class ConversionError(RefusedError):
    """An operator has state that only it can read, so it can't be converted."""


class MigrationError(RefusedError):
    """State of Flink 1.x can't be written for Flink 2.x; ``problems`` has each reason."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class NotAcceptedError(MigrationError):
    """A changed query lacks history, which the user has to accept by name."""


class MaskError(RefusedError):
    """Mask rules can't be applied to a state, or would make its keys equal."""


class MergeError(RefusedError):
    """A key has several instances of local state, and nothing merges them."""


class SubtaskError(WriteError, ValueError):
    """A row names a subtask that the operator does not have."""


class KeyGroupError(WriteError, ValueError):
    """A row names a key group that the operator does not have."""


class FunctionResultError(WriteError, ValueError, TypeError):
    """A function returned rows or state that don't fit its declarations."""


class NullKeyError(WriteError, ValueError):
    """A new key is null; keys in Flink never are."""


class KeyTypeError(RefusedError, UsageError, ValueError):
    """A key doesn't have the type of the table's keys, or that type is unknown."""


class StateTypeError(DamagedError):
    """Subtasks differ in the type of a state, so no table can show it."""


@dataclass(eq=False)
class FormatError(DamagedError):
    """The bytes of a file violate its format.

    Attributes:
        message: What is wrong, and what was expected.
        path: The file, or the name of the bytes inside another file.
        offset: The byte position in it; -1 if the error has none.
        record: The index of its record among those decoded together; -1 if there is none.
        state: The number of its state in its file; -1 if unknown.
    """

    message: str
    path: str
    offset: int
    record = -1
    state = -1

    def __str__(self) -> str:
        where = self.path if self.offset < 0 else f"{self.path} at byte {self.offset}"
        return self._placed(f"{where}: {self.message}")


class TruncatedError(FormatError):
    """The bytes end in the middle of a structure."""


class WrongFileError(FormatError):
    """A file is not of the kind that the savepoint says; it is neither read nor copied."""


class FileReplacedError(FormatError):
    """A file of an object store was replaced while it was read."""


class UnsupportedVersionError(FormatError):
    """A version that this release does not know; a newer one may read it."""


class RocksDbError(FormatError):
    """A RocksDB table has a feature that only RocksDB reads; Flink itself never writes it."""

    def __init__(self, message: str, path: str, offset: int) -> None:
        advice = "a canonical savepoint of the job can be read"
        # An error from a task is made again from its message, which has the advice already.
        super().__init__(message if advice in message else f"{message}; {advice}", path, offset)


class UnknownSnapshotError(FormatError):
    """A serializer snapshot of an unknown class; its body begins at ``offset``."""

    def __init__(self, message: str, path: str, offset: int, class_name: str = "") -> None:
        super().__init__(message, path, offset)
        self.class_name = class_name


class UndecodableError(FormatError):
    """An undamaged value that its column cannot hold; its bytes may be shown instead."""


class ValueOutOfRangeError(UndecodableError):
    """A value is too large for its Arrow type, such as a timestamp of the year 9999."""


class UndescribedSubclassError(UndecodableError):
    """A POJO is of a subclass that neither its serializer's snapshot nor the user describes."""
