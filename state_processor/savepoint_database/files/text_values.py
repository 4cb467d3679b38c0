"""Scalars as texts, and texts as scalars, in bulk.

| Arrow                        | text                                                     |
|------------------------------|----------------------------------------------------------|
| timestamp                    | ``2026-01-31 12:00:00.000``, with ``Z`` behind it if UTC |
| date32, time32, time64       | ``2026-01-31``, ``12:00:00.000``                         |
| duration                     | its number, in its unit: milliseconds                    |
| decimal                      | its digits, ``12.50``                                    |
| binary                       | hexadecimal digits                                       |
| float, double                | ``0.1``, ``nan``, ``inf``, ``-inf``; read in any case    |
| utf8                         | as it is                                                 |

``parsed`` names the row of the first wrong text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.files.table_format import FileSplit

_HEXADECIMAL = "^([0-9A-Fa-f]{2})*$"

_LONGEST_SHOWN = 100


def texts_of(array: pa.Array) -> pa.Array:
    """Scalars as texts."""
    if pa.types.is_binary(array.type):
        return projected(array, 'lower(hex("value"))').cast(pa.utf8())
    if pa.types.is_duration(array.type):
        return array.cast(pa.int64()).cast(pa.utf8())
    return array.cast(pa.utf8())


def values_of(texts: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Texts as scalars, or ``pa.ArrowInvalid``; times of day remain texts, as in Spark."""
    if pa.types.is_binary(wanted):
        return _bytes(texts.cast(pa.utf8()))
    if pa.types.is_duration(wanted):
        return texts.cast(pa.int64()).cast(wanted)
    if pa.types.is_null(wanted):
        return pa.nulls(len(texts))
    if pa.types.is_time(wanted):
        return texts.cast(pa.utf8())
    return texts.cast(wanted)


def read_type(data_type: pa.DataType) -> pa.DataType:
    """Type of the scalars that ``values_of`` gives."""
    return pa.utf8() if pa.types.is_time(data_type) else data_type


def projected(array: pa.Array, expression: str) -> pa.Array:
    """DuckDB's result of an expression about ``"value"``, per element."""
    table = duckdb.from_arrow(pa.table({"value": array}))
    result = table.project(f'{expression} AS "value"').to_arrow_table()
    return result.column("value").combine_chunks()


def _bytes(texts: pa.Array) -> pa.Array:
    is_wrong = pc.invert(pc.match_substring_regex(texts, _HEXADECIMAL))
    wrong = texts.filter(pc.fill_null(is_wrong, False))
    if len(wrong):
        raise pa.ArrowInvalid(f"{wrong[0].as_py()!r} is no text of hexadecimal digits")
    return projected(texts, 'unhex("value")').cast(pa.binary())


def parsed(
    split: FileSplit,
    field: pa.Field,
    texts: pa.Array,
    row: int,
    parse: Callable[[pa.Array, pa.DataType], pa.Array],
) -> pa.Array:
    """Values of texts that become a column; ``row`` is the number of the first one.

    ``parse`` raises an error of Arrow or DuckDB for a wrong text, whose row the ``TableFileError`` names.
    """
    try:
        return parse(texts, field.type)
    except (pa.ArrowException, duckdb.Error) as error:
        if len(texts) > 1:
            # Each half is tried, to find the first wrong text.
            half = len(texts) // 2
            parsed(split, field, texts[:half], row, parse)
            parsed(split, field, texts[half:], row + half, parse)
        shown = texts[0].as_py()[:_LONGEST_SHOWN]
        reason = " ".join(str(error).partition("LINE ")[0].split())
        message = f"column {field.name!r} takes {field.type}, found {shown!r} ({reason})"
        raise split.error(message, row) from error
