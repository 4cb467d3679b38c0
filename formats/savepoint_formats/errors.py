"""What can be wrong with a savepoint, as one tree of exceptions.

::

    SavepointError
    ├── NotFoundError                     what was asked for is not there
    │   ├── SavepointNotFoundError        nothing lies at the path
    │   ├── StateFileNotFoundError        a file that the savepoint refers to is gone
    │   ├── UnreachableError              a file system refuses to read, or does not answer
    │   ├── OperatorNotFoundError *
    │   ├── TableNotFoundError *
    │   ├── StateNotFoundError *
    │   ├── ColumnNotFoundError *
    │   ├── FieldNotFoundError *          values of a state have no field of this name
    │   └── ClassNotNamedError *          no serializer names this class of Java
    ├── DamagedError                      something is there, but not what it should be
    │   ├── NotASavepointError            something else lies there
    │   ├── FormatError                   the bytes are not what the format says
    │   │   ├── TruncatedError            they end too early
    │   │   ├── WrongFileError            a file is not at all what the savepoint says that it is
    │   │   ├── FileReplacedError         a file became another one while it was read
    │   │   ├── UnsupportedVersionError   a version that this release does not know
    │   │   ├── RocksDbError              a table of RocksDB has something that only RocksDB reads
    │   │   ├── UnknownSnapshotError      a serializer snapshot of a class that is not known
    │   │   └── UndecodableError          a value is right, but no column can hold it
    │   │       ├── ValueOutOfRangeError  it lies beyond what its Arrow type holds
    │   │       └── UndescribedSubclassError  a POJO of a subclass whose fields nobody knows
    │   ├── StateTypeError                subtasks differ in the type of a state
    │   └── TableFileError                a file of rows can't be read as its format, or as its types
    ├── RefusedError                      it can't be done, or not exactly
    │   ├── SavepointExistsError          something lies where a savepoint is to be written
    │   ├── AmbiguousOperatorError *      several operators have hashes that begin so
    │   ├── OperatorExistsError           a savepoint would have two operators of one uid
    │   ├── StateExistsError              an operator would have two states of one name
    │   ├── EmptySavepointError           a savepoint would have no operators at all
    │   ├── SchemaChangeError             a change that the serializer or the bytes of a state forbid
    │   ├── RescaleError                  state that only Flink can spread over other subtasks
    │   ├── ConversionError               state that only its operator can read, and so no one convert
    │   ├── MigrationError                state of Flink 1.x that can't be written for Flink 2.x
    │   ├── MergeError                    instances of local state that nothing makes one of
    │   ├── NotMergeableError             an aggregate whose partial results can't be combined
    │   ├── HashCodeError                 a function of the user gives no hash code for each key
    │   ├── UnstableHashError             nobody but the writing JVM knows the key's hash code
    │   ├── UnstableKeyError              equal keys may have different bytes, so that none can be sorted
    │   ├── KeyTypeError *                no row can have such a key, or nobody tells the keys' type
    │   ├── InexactTimeError              a time has more digits than a column of Spark, or lies beyond
    │   ├── DescriptionError              a description of what is to be imported has a mistake
    │   ├── ConditionError *              a condition on rows that does not fit the table
    │   ├── QueryError *                  a query that can't be understood, or failed
    │   └── MissingPackageError           a package that a method needs is not installed
    ├── UsageError                        the call is wrong: the errors with a * are of this class, too
    ├── JobError                          a job has lost its processes, and was not done again
    └── WriteError                        rows do not fit the state that they are to become
        ├── ColumnTypeError               a column has another type than what it is to become
        ├── UnencodableError              a column holds a value that its serializer cannot write
        │   └── NullValueError            a null that it has no bytes for
        ├── DuplicateKeyError             a key that is to be written has two rows
        ├── OverlappingWindowsError       windows of a session that are to be written have not merged
        ├── NullKeyError                  a key that is to be written is null
        ├── KeyGroupError                 a key group that the operator does not have
        └── SubtaskError                  a subtask that the operator does not have

A wrong call that the savepoint shows to be wrong is a ``UsageError``. One that is wrong for every savepoint is a ``ValueError``
or a ``TypeError``. What does not stop a call is a warning::

    SavepointWarning
    ├── UnreadTableWarning        a table is left out, as its files are missing or damaged
    ├── UnknownUidWarning         a uid was given that no operator of the savepoint has
    └── NewestSnapshotWarning     of a directory of snapshots the newest complete one is read
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.printable import did_you_mean, printable, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    _Reduced = tuple[type["FormatError"], tuple[str | int, ...], dict[str, tuple[str, ...]]]


READABLE = "a canonical savepoint of the job can be read"
"""The way out where only RocksDB reads a table."""


class SavepointError(Exception):
    """The root: everything that a savepoint can be wrong in.

    Attributes:
        places: What of the savepoint it is in, from the inside out: ``state 'total'``,
            ``key group 17``, ``operator summarize``.
    """

    places: tuple[str, ...] = ()

    def within(self, *places: str) -> Self:
        """The error, after it was given the place that it is in."""
        self.places += tuple(place for place in places if place not in self.places)
        return self

    def __str__(self) -> str:
        return self._placed(super().__str__())

    def _placed(self, message: str) -> str:
        # Names in it come from the savepoint; no terminal and no log is to obey them.
        told = f"{message}; in {', '.join(self.places)}" if self.places else message
        return printable(without_secrets(told))


class NotFoundError(SavepointError):
    """What was asked for is not there."""


class DamagedError(SavepointError):
    """Something is there, but it is not what it should be."""


class RefusedError(SavepointError):
    """What was asked for can't be done, or not exactly."""


class UsageError(SavepointError):
    """The call is wrong: it names what the savepoint doesn't have, or doesn't fit what it has."""


class JobError(SavepointError):
    """A job has lost its processes, or what runs it: it has no result, and no error of its own."""


class WriteError(SavepointError):
    """Rows that are to be written do not fit the state that they are to become."""


class SavepointWarning(UserWarning):
    """The root of warnings: a call goes on, but not with all that it was asked for."""

    def __str__(self) -> str:
        return without_secrets(super().__str__())


class UnreadTableWarning(SavepointWarning):
    """A table is left out, as its files are missing or damaged."""


class UnknownUidWarning(SavepointWarning):
    """A uid was given that no operator of the savepoint has."""


class NewestSnapshotWarning(SavepointWarning):
    """A directory of snapshots was given, of which the newest complete one is read."""


@contextmanager
def within(*places: str) -> Iterator[None]:
    """Tells every ``SavepointError`` that comes out of it what it is in."""
    try:
        yield
    except SavepointError as error:
        error.within(*places)
        raise


class SavepointNotFoundError(NotFoundError):
    """Nothing lies at the path, or a directory without a ``_metadata`` file."""


class NotASavepointError(DamagedError):
    """The file at the path is no ``_metadata`` file."""


class SavepointExistsError(RefusedError):
    """A savepoint, or something else, lies where a new one is to be written."""


class StateFileNotFoundError(NotFoundError):
    """A file that the savepoint refers to is neither where it says nor beside ``_metadata``."""


class UnreachableError(NotFoundError):
    """A file system is not known, refuses to read, or does not answer in time."""


class OperatorNotFoundError(NotFoundError, UsageError):
    """No operator of the savepoint has this uid, name or hash."""

    @classmethod
    def among(cls, path: str, uid: str, names: Iterable[str]) -> Self:
        """The error that lists the operators there are."""
        listed = ", ".join(known := sorted(names)) or "none"
        return cls(f"{path} has no operator {uid!r}; it has: {listed}{did_you_mean(uid, known)}")


class AmbiguousOperatorError(RefusedError, UsageError, ValueError):
    """An operator is named by the first digits of its hash, which are those of others, too."""

    @classmethod
    def among(cls, path: str, digits: str, candidates: Iterable[str]) -> Self:
        """The error that lists the operators that may be meant."""
        listed = ", ".join(candidates)
        return cls(f"{path} has several operators whose hash begins with {digits}: {listed}")


class OperatorExistsError(RefusedError, ValueError):
    """A savepoint would have two operators of one uid."""


class EmptySavepointError(RefusedError, ValueError):
    """A savepoint would have no operators at all."""


class StateNotFoundError(NotFoundError, UsageError):
    """The operator has no state, or no table, of this name."""


class StateExistsError(RefusedError, ValueError):
    """An operator would have two states of one name."""


class FieldNotFoundError(NotFoundError, UsageError):
    """The values of a state have no field of this name."""


class ClassNotNamedError(NotFoundError, UsageError):
    """No serializer of the operators in question names this class of Java."""


class SchemaChangeError(RefusedError):
    """A change of a type that its serializer, or the bytes of its values, do not allow."""


class UnstableHashError(RefusedError):
    """The Java hash code of a key, hence its key group, cannot be computed from its value."""


class HashCodeError(RefusedError, ValueError):
    """A function of the user gives something else than a hash code of Java for each key."""


class UnstableKeyError(RefusedError):
    """Equal keys of this type may have different bytes, so that rows can't be sorted by them."""


class NotMergeableError(RefusedError, TypeError):
    """An aggregate of which partial results, one per partition, can't be combined."""


class ConditionError(RefusedError, UsageError):
    """A condition on rows can't be understood, or does not fit the table."""


class QueryError(RefusedError, UsageError):
    """A query in SQL can't be understood, or failed."""


class MissingPackageError(RefusedError, ImportError):
    """A package that a method needs is not installed; the message has the command of pip."""


class TableFileError(DamagedError):
    """A file of rows is none of its format, or a value in it is none of its column's type."""


class DescriptionError(RefusedError, ValueError):
    """A description says something that is not understood, or leaves out what is needed."""


class TableNotFoundError(NotFoundError, UsageError):
    """There is no such table, or there are several to choose from."""


class ColumnNotFoundError(NotFoundError, UsageError):
    """The table has no column of this name."""


class ColumnTypeError(WriteError, TypeError):
    """A column has a type that is none of what it is to become."""


class InexactTimeError(RefusedError, ValueError):
    """A time is not the same in microseconds, the finest that Spark has."""


class UnencodableError(WriteError, ValueError):
    """A column holds a value that its serializer cannot write.

    Attributes:
        message: What was found and what was expected.
        column: Where in the column the value is: ``$.tags[]``; empty if that is not known.
        row: The row of the column, from 0; -1 if it is not known.
    """

    def __init__(self, message: str, column: str = "", row: int = -1) -> None:
        super().__init__(message, column, row)
        self.message, self.column, self.row = message, column, row

    def __str__(self) -> str:
        where = f"row {self.row} of {self.column}: " if self.column else ""
        return self._placed(f"{where}{self.message}")


class NullValueError(UnencodableError):
    """A null for which the serializer has no bytes."""


class DuplicateKeyError(WriteError):
    """Two rows have the same key, so that one would hide the other's state."""


class OverlappingWindowsError(WriteError):
    """Session windows of a key overlap, or touch, which Flink would have merged."""


class RescaleError(RefusedError):
    """An operator is to have other subtasks, but has state that only Flink can spread anew."""


class ConversionError(RefusedError):
    """An operator is to have canonical state, but has state that only it can read."""


class MigrationError(RefusedError):
    """State of Flink 1.x that can't be written for Flink 2.x, or of which nobody says what it is."""


class MergeError(RefusedError):
    """A key has several instances of local state, and nothing makes one value of them."""


class SubtaskError(WriteError, ValueError):
    """A row is of a subtask that the operator does not have."""


class KeyGroupError(WriteError, ValueError):
    """A key is said to be of a key group that the operator does not have."""


class NullKeyError(WriteError, ValueError):
    """A key that is to be written is null, which no key of Flink is."""


class KeyTypeError(RefusedError, UsageError, ValueError):
    """A key that is none of the type of the table's keys; or nobody tells what type that is."""


class StateTypeError(DamagedError):
    """Subtasks differ in the type of a state, so that no table can show it."""


@dataclass
class FormatError(DamagedError):
    """The bytes of a file are not what its format says.

    Attributes:
        message: What was found and what was expected.
        path: The file, or the name of the bytes inside another file.
        offset: The byte in it, from 0; -1 if it is none in particular.
        record: The index of its record among those that were decoded together; -1 = of none.
        state: The number of its state in its file; -1 = of none that is known.
    """

    message: str
    path: str
    offset: int
    record = -1
    state = -1

    def __str__(self) -> str:
        where = self.path if self.offset < 0 else f"{self.path} at byte {self.offset}"
        return self._placed(f"{where}: {self.message}")

    # A dataclass is compared by value, which would take the hash away that `raise from` needs.
    __hash__ = Exception.__hash__

    def __reduce__(self) -> _Reduced:
        return type(self), (self.message, self.path, self.offset), {"places": self.places}


class TruncatedError(FormatError):
    """The bytes end before the structure that they hold."""


class WrongFileError(FormatError):
    """A file is not what the savepoint says that it is; it is neither read nor copied."""


class FileReplacedError(FormatError):
    """A file of an object store became another one while it was read."""


class UnsupportedVersionError(FormatError):
    """A version that this release does not know; a newer one may read it."""


class RocksDbError(FormatError):
    """A table of RocksDB has something that only RocksDB reads; Flink itself never writes it."""

    @classmethod
    def at(cls, message: str, path: str, offset: int) -> Self:
        """The error, with the way out."""
        return cls(f"{message}; {READABLE}", path, offset)


class UnknownSnapshotError(FormatError):
    """A serializer snapshot of an unknown class, whose body begins at ``offset`` and has no known end."""

    def __init__(
        self, message: str, path: str, offset: int, class_name: str = "", version: int = 0
    ) -> None:
        super().__init__(message, path, offset)
        self.class_name, self.version = class_name, version

    def __reduce__(self) -> _Reduced:
        facts = (self.message, self.path, self.offset, self.class_name, self.version)
        return type(self), facts, {"places": self.places}


class UndecodableError(FormatError):
    """A value is as Flink wrote it, but its column cannot hold it; its bytes may be shown instead."""


class ValueOutOfRangeError(UndecodableError):
    """A value lies beyond what its Arrow type holds, such as a timestamp of the year 9999."""


class UndescribedSubclassError(UndecodableError):
    """A POJO is of a subclass that neither its serializer's snapshot nor the user describes."""
