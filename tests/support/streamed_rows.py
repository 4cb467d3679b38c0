"""A stream that a test feeds: a directory of JSON files, of which each is a micro-batch."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

# Files are streamed in the order of their times.
_FIRST_FILE_TIME = 1_000_000_000


class StreamedRows:
    """Rows that a test puts into a stream, batch by batch.

    Args:
        directory: Where the files lie; it may have some already.
        schema: The columns of the rows.
    """

    def __init__(self, directory: Path, schema: str) -> None:
        self._directory = directory
        self._schema = schema
        self._names = [column.split()[0] for column in schema.split(",")]
        directory.mkdir(parents=True, exist_ok=True)

    def put(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Adds a batch."""
        number = len(list(self._directory.glob("*.json")))
        path = self._directory / f"{number:06}.json"
        hidden = path.with_name(f".{path.name}")
        lines = (json.dumps(dict(zip(self._names, row, strict=True))) for row in rows)
        hidden.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        at = _FIRST_FILE_TIME + number
        os.utime(hidden, (at, at))
        hidden.rename(path)

    def frame(self, spark: SparkSession) -> DataFrame:
        """The stream."""
        files = spark.readStream.schema(self._schema).option("maxFilesPerTrigger", 1)
        return files.json(str(self._directory))
