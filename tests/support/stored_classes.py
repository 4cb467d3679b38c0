"""Runs what tests ask of Spark, so that Java has loaded its classes, and waits until Java has stored them.

    SPARK_SUBMIT_OPTS=-XX:ArchiveClassesAtExit=FILE python -m support.stored_classes

Java 17 stores them in FILE at its end, and a later process has them by ``-XX:SharedArchiveFile=FILE``. Java 21 and
later refuse an archive for a class path as long as Spark's; then nothing is stored.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from state_processor import Savepoint, local_session
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SAMPLE = SAMPLES / "currency-2.2.1-rocksdb-native"
_SECONDS = 300


def main() -> None:
    from pyspark import SparkContext  # noqa: PLC0415  # local_session says what is missing

    session = local_session("local[1]")
    with tempfile.TemporaryDirectory() as folder:
        _use(session, Path(folder))
    session.stop()
    java = SparkContext._gateway.proc  # type: ignore[union-attr]  # there is one: a session was made
    java.stdin.close()
    java.wait(_SECONDS)


def _use(session: SparkSession, folder: Path) -> None:
    savepoint = Savepoint.load(session, str(_SAMPLE))
    rows = savepoint.read_keyed_state("summarize")
    rows.write.parquet(str(folder / "rows"))
    read = session.read.format("savepoint").option("table", "summarize.keyed_state")
    read.load(str(_SAMPLE)).groupBy("key").count().orderBy("key").collect()
    session.read.parquet(str(folder / "rows")).join(rows, "key").toPandas()
    savepoint.writer().write(str(folder / "copy"))


if __name__ == "__main__":
    main()
