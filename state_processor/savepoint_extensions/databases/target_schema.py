"""Schemas of tables in databases: types that they have, and comments that say what a column is.

| Arrow                   | DuckDB        | Delta             | Iceberg       |
|-------------------------|---------------|-------------------|---------------|
| int8, int16             | as they are   | as they are       | int           |
| timestamp               | microseconds  | microseconds      | microseconds  |
| time32[ms]              | TIME          | text              | time          |
| time64[ns]              | text          | text              | text          |
| duration                | long          | long              | long          |
| null                    | text          | text              | text          |
| all others              | as they are   | as they are       | as they are   |

The comment of a column says why it has another type than its state. Precise times have been converted
before, by ``EXPORTED``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from savepoint_database.files import flink_type
from savepoint_database.types import converted
from savepoint_formats.errors import TableFileError
from savepoint_formats.printable import without_secrets
from savepoint_formats.tables import column_remarks, distinct_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.scan import TableScan

COMMENT = b"comment"
"""Metadata of a field: its comment. Delta has the same name for it."""


class Replacement(NamedTuple):
    """A type that a target lacks, the type to use instead, and the reason for readers of the table."""

    is_lacking: Callable[[pa.DataType], bool]
    instead: pa.DataType
    reason: str = ""


_EVERYWHERE = (
    Replacement(pa.types.is_duration, pa.int64(), "a duration, counted in {unit}"),
    Replacement(pa.types.is_time64, pa.utf8(), "text, because times end at microseconds"),
    Replacement(pa.types.is_null, pa.utf8(), "always null"),
    Replacement(pa.types.is_time32, pa.time64("us")),
    Replacement(lambda leaf: leaf == pa.timestamp("ms"), pa.timestamp("us")),
    Replacement(lambda leaf: leaf == pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC")),
)
_NO_TIME_OF_DAY = Replacement(
    pa.types.is_time32, pa.utf8(), "text, because Delta has no times of day"
)
_NO_SMALL_INTEGER = Replacement(lambda leaf: leaf in (pa.int8(), pa.int16()), pa.int32())


@dataclass(frozen=True, slots=True)
class TargetTypes:
    """Types and names that a target takes; the first fitting replacement counts."""

    replacements: tuple[Replacement, ...]
    refused_letters: str = ""

    def type(self, data_type: pa.DataType) -> pa.DataType:
        """The type of a column of this type. Raises ``ValueError`` for a struct without fields."""
        if pa.types.is_list(data_type):
            return pa.list_(pa.field("element", self.type(data_type.value_type)))
        if pa.types.is_map(data_type):
            return pa.map_(self.type(data_type.key_type), self.type(data_type.item_type))
        if pa.types.is_struct(data_type):
            if not data_type.num_fields:
                raise ValueError("a struct without fields")
            names = self.names([field.name for field in data_type])
            return pa.struct(
                [pa.field(names[field.name], self.type(field.type)) for field in data_type]
            )
        replacement = self._replacement(data_type)
        return replacement.instead if replacement else data_type

    def names(self, names: list[str]) -> dict[str, str]:
        """Maps names of columns or fields to those in the target."""
        if not self.refused_letters:
            return {name: name for name in names}
        return distinct_names(names, lambda name: re.sub(self.refused_letters, "_", name))

    def reasons(self, data_type: pa.DataType) -> Iterator[str]:
        """Reasons for the replacements in a type."""
        if pa.types.is_nested(data_type):
            for index in range(data_type.num_fields):
                yield from self.reasons(data_type.field(index).type)
        elif replacement := self._replacement(data_type):
            yield replacement.reason.format(unit=getattr(data_type, "unit", ""))

    def _replacement(self, data_type: pa.DataType) -> Replacement | None:
        return next((each for each in self.replacements if each.is_lacking(data_type)), None)


DUCKDB = TargetTypes(_EVERYWHERE)
DELTA = TargetTypes((_NO_TIME_OF_DAY, *_EVERYWHERE), r"[ ,;{}()\n\t=]")
ICEBERG = TargetTypes((_NO_SMALL_INTEGER, *_EVERYWHERE))


def target_schema(types: TargetTypes, schema: pa.Schema, scan: TableScan, target: str) -> pa.Schema:
    """Schema of the table in a target, with comments as metadata; ``TableFileError`` for a type that it lacks."""
    names, comments = types.names(schema.names), dict(_column_comments(scan))
    fields = []
    for field in schema:
        try:
            data_type = types.type(field.type)
        except ValueError as error:
            raise TableFileError(
                f"column {field.name!r} has {error}, which {target} lacks: choose other columns"
            ) from error
        said = [comments.get(field.name), *types.reasons(field.type)]
        comment = "; ".join(dict.fromkeys(filter(None, said)))
        metadata = {COMMENT: comment.encode()} if comment else None
        fields.append(pa.field(names[field.name], data_type, metadata=metadata))
    return pa.schema(fields)


def table_comment(scan: TableScan) -> str:
    """Comment of a table: where its rows come from."""
    return f"Flink state {scan.full_name} of {without_secrets(scan.directory.absolute_uri)}"


def _column_comments(scan: TableScan) -> Iterator[tuple[str, str]]:
    """Columns and their comments: kind and name of the state, its type in Flink, remarks."""
    states = {column.name: state for column, state in scan.shown.state_columns()}
    for column in scan.shown.columns:
        comment = flink_type(column.layout)
        if state := states.get(column.name):
            comment = f"{state.job_kind} state {state.job_name}: {comment}"
        yield column.name, "; ".join([comment, *column_remarks(scan.table, column)])


def target_table(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows with the types and names of a schema; ``pa.ArrowInvalid`` for a value beyond its type's range."""
    columns = [
        converted(column.combine_chunks(), field.type, _cast)
        for column, field in zip(rows.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _cast(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    return values.cast(wanted)
