"""Texts that are parsed in bulk, and the row of the first wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.files.table_format import FileSplit

_LONGEST_SHOWN = 100


def parsed(
    split: FileSplit,
    field: pa.Field,
    texts: pa.Array,
    row: int,
    parse: Callable[[pa.Array], pa.Array],
) -> pa.Array:
    """Values of texts that become a column; ``row`` is the number of the first one.

    ``parse`` raises an error of Arrow or DuckDB for a wrong text.

    Raises:
        TableFileError: A text is wrong; names its row.
    """
    try:
        return parse(texts)
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
