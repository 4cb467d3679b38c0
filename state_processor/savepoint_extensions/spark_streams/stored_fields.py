"""The fields of a struct in Spark's state, whose names may be equal: they are found by position."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from savepoint_formats.errors import ColumnTypeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class StoredFields:
    """Fields of a struct, as columns by position.

    Attributes:
        columns: The column of each field.
        fields: Its name and type in Spark's state.
    """

    columns: tuple[Column, ...]
    fields: tuple[StructField, ...]

    @classmethod
    def of(cls, stored: DataFrame, name: str) -> StoredFields:
        """The fields of a column of stored rows."""
        struct = stored.schema[name].dataType
        assert isinstance(struct, StructType)  # keys and rows are structs
        # Spark casts structs by position, and reads no field whose name comes twice.
        distinct = StructType(
            [StructField(f"_{place}", field.dataType) for place, field in enumerate(struct)]
        )
        whole = F.col(name).cast(distinct)
        columns = tuple(whole.getField(f"_{place}") for place in range(len(struct)))
        return cls(columns, tuple(struct.fields))

    def between(self, start: int, end: int | None = None) -> StoredFields:
        """Some of them, by position."""
        return StoredFields(self.columns[start:end], self.fields[start:end])

    @property
    def names(self) -> tuple[str, ...]:
        """The names, which may be equal."""
        return tuple(field.name for field in self.fields)

    @property
    def words(self) -> str:
        """Names and types in order, as in DDL."""
        return ", ".join(f"{it.name} {it.dataType.simpleString()}" for it in self.fields)

    def named(self, names: Sequence[str] = ()) -> dict[str, Column]:
        """The columns by other names, or by their own; the second of a name gets ``_2``.

        Raises:
            ColumnTypeError: There is another number of names.
        """
        if not names:
            seen: Counter[str] = Counter()
            own = []
            for name in self.names:
                seen[name] += 1
                own.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
            names = own
        if len(names) != len(self.columns):
            raise ColumnTypeError(
                f"key={list(names)!r}, but the key has {len(self.columns)} columns: {self.words}"
            )
        return dict(zip(names, self.columns, strict=True))


def selected(
    stored: DataFrame, keys: Mapping[str, Column], columns: Mapping[str, Column]
) -> DataFrame:
    """The columns of a table, after those of its key.

    Raises:
        ColumnTypeError: A column has the name of one of the key.
    """
    twice = sorted(keys.keys() & columns.keys())
    if twice:
        raise ColumnTypeError(
            f"column {twice[0]!r} is in the key and in the state: give the columns of the key other"
            " names, by key=[…]"
        )
    named = {**keys, **columns}
    return stored.select(*(column.alias(name) for name, column in named.items()))


def quoted(names: Sequence[str]) -> list[Column]:
    """Columns by their names, which may have any characters."""
    return [F.col("`" + name.replace("`", "``") + "`") for name in names]
