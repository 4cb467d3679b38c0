"""Formats of files for export and import, and databases that an export writes to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from savepoint_formats.errors import TableFileError

if TYPE_CHECKING:
    from savepoint_formats.locations import Location

_OTHER_ENDINGS = {"json": "jsonl", "ndjson": "jsonl"}


class TableFormat(StrEnum):
    """A format of files of rows; the value is also the ending of their names."""

    PARQUET = "parquet"
    AVRO = "avro"
    CSV = "csv"
    JSONL = "jsonl"

    @classmethod
    def of_name(cls, name: str) -> Self | None:
        """The format by the ending of a name; None for an unknown one."""
        ending = name.rpartition(".")[2].lower()
        ending = _OTHER_ENDINGS.get(ending, ending)
        return cls(ending) if ending in {member.value for member in cls} else None

    @property
    def has_types(self) -> bool:
        """Whether a file stores the types of its columns."""
        return self in (TableFormat.PARQUET, TableFormat.AVRO)


class TableTarget(StrEnum):
    """A database that an export writes to."""

    DUCKDB = "duckdb"
    DELTA = "delta"
    ICEBERG = "iceberg"


@dataclass(frozen=True, slots=True)
class FileSplit:
    """A file of rows, or a range of it; small and picklable.

    Attributes:
        location: The file.
        row_groups: Row groups of a Parquet file to read; all by default.
    """

    location: Location
    row_groups: tuple[int, ...] | None = None

    def error(self, message: str, row: int | None = None) -> TableFileError:
        """An error with its place; ``row`` counts from 1; a line of names doesn't count."""
        where = "" if row is None else f" row {row}"
        return TableFileError(f"{self.location.path}{where}: {message}")
