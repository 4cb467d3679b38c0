"""The fields of a struct in Spark's state, whose names may be equal: they are found by position."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from savepoint_formats.errors import ColumnTypeError
from savepoint_spark.writing import Grouping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from savepoint_formats.errors import SavepointError

_EXACT = "spark.sql.caseSensitive"
_IGNORED = f"; Spark ignores case, unless {_EXACT} is true"


@dataclass(frozen=True, slots=True)
class StoredFields:
    """Fields of a struct, as columns by position; ``is_exact`` if the session does not ignore case."""

    columns: tuple[Column, ...]
    fields: tuple[StructField, ...]
    is_exact: bool = False

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
        return cls(columns, tuple(struct.fields), is_exact(stored.sparkSession))

    def between(self, start: int, end: int | None = None) -> StoredFields:
        """Some of them, by position."""
        return replace(self, columns=self.columns[start:end], fields=self.fields[start:end])

    @property
    def names(self) -> tuple[str, ...]:
        """The names, which may be equal."""
        return tuple(field.name for field in self.fields)

    @property
    def words(self) -> str:
        """Names and types in order, as in DDL."""
        return ", ".join(f"{it.name} {it.dataType.simpleString()}" for it in self.fields)

    @property
    def struct(self) -> Column:
        """The fields as a struct."""
        pairs = zip(self.names, self.columns, strict=True)
        return F.struct(*(column.alias(name) for name, column in pairs))

    def named(self, names: Sequence[str] = (), after: Iterable[str] = ()) -> dict[str, Column]:
        """The columns by other names, or by their own; the second of a name gets ``_2``.

        ``after`` has the names of columns in front of these. Raises ``ColumnTypeError`` for another number of
        names, or one that comes twice.
        """
        if not names:
            seen = Counter(self._folded(name) for name in after)
            names = []
            for name in self.names:
                seen[self._folded(name)] += 1
                number = seen[self._folded(name)]
                names.append(name if number == 1 else f"{name}_{number}")
        if len(names) != len(self.columns):
            raise ColumnTypeError(
                f"key={list(names)!r}, but the key has {len(self.columns)} columns: {self.words}"
            )
        if len({self._folded(name) for name in names}) < len(names):
            raise ColumnTypeError(f"key={list(names)!r} has a name twice{_IGNORED}")
        return dict(zip(names, self.columns, strict=True))

    def _folded(self, name: str) -> str:
        return name if self.is_exact else name.lower()


def is_exact(spark: SparkSession) -> bool:
    """Whether a session tells names apart that differ by case alone."""
    return str(spark.conf.get(_EXACT)).lower() == "true"


def expect_distinct(names: Iterable[str], spark: SparkSession, what: str, way: str = "") -> None:
    """Raises ``ColumnTypeError`` for two names that are one to a session."""
    fold = str if is_exact(spark) else str.lower
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.get(fold(name))) is not None:
            ignored = "" if other == name else _IGNORED
            raise ColumnTypeError(f"{what} {other!r} and {name!r} have one name{way}{ignored}")
        seen[fold(name)] = name


def selected(
    stored: DataFrame, keys: Mapping[str, Column], columns: Mapping[str, Column]
) -> DataFrame:
    """The columns of a table, after those of its key; ``ColumnTypeError`` if two have one name."""
    way = ": give the columns of the key other names by key=[…], or the aggregates"
    expect_distinct([*keys, *columns], stored.sparkSession, "columns", way)
    named = {**keys, **columns}
    return stored.select(*(column.alias(name) for name, column in named.items()))


def unwrapped(value: Column, data_type: DataType) -> Column:
    """The only field of a struct with one field, otherwise the value."""
    is_single = isinstance(data_type, StructType) and len(data_type) == 1
    return value.getField(data_type.names[0]) if is_single else value  # type: ignore[attr-defined]


def quoted(names: Sequence[str]) -> list[Column]:
    """Columns by their names, which may have any characters."""
    return [F.col("`" + name.replace("`", "``") + "`") for name in names]


@contextmanager
def sql_errors(kind: type[SavepointError], before: str = "", after: str = "") -> Iterator[None]:
    """Raises an error of a kind for SQL of a user that Spark refuses, with its reason."""
    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise kind(f"{before}{str(error).strip().splitlines()[0]}{after}") from error


def with_arrays(table: DataFrame, keys: Sequence[str], column: str) -> DataFrame:
    """A row per key, with all its numbers in a column as an array in order."""
    numbers = F.sort_array(F.collect_list(*quoted([column]))).alias(column)
    return Grouping.of(table, (*keys,)).aggregated(numbers)


def by_key(tables: Sequence[DataFrame], keys: Sequence[str], way: str = "") -> DataFrame:
    """Tables as one, with a row per key; ``ColumnTypeError`` if two have another column of one name.

    ``way``: advice at the end of the message.
    """
    if len(tables) == 1:
        return tables[0]
    names = [name for table in tables for name in table.columns if name not in keys]
    expect_distinct([*keys, *names], tables[0].sparkSession, "states or timers", way)
    rows = reduce(lambda all_, table: all_.unionByName(table, allowMissingColumns=True), tables)
    firsts = [F.first(column, ignorenulls=True) for column in quoted(names)]
    named = [first.alias(name) for first, name in zip(firsts, names, strict=True)]
    return Grouping.of(rows, (*keys,)).aggregated(*named)
