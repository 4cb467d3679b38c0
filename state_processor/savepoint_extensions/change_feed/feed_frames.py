"""The changes between two savepoints in a session of Spark, as a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING

from savepoint_database.checks import SavepointDiff
from savepoint_database.snapshot import Snapshot
from savepoint_database.types import SPARK
from savepoint_extensions.change_feed.change_feed import (
    ChangeFeed,
    as_texts,
    changes_in,
    pieces_of,
    tables_with,
)
from savepoint_extensions.change_feed.feed_tables import feed_tables
from savepoint_spark.columns import spark_schema
from savepoint_spark.session import rows_of_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from savepoint_extensions.change_feed.feed_tables import FeedTable
    from savepoint_formats.values import Nanoseconds


@dataclass(frozen=True, repr=False)
class SparkChangeFeed(ChangeFeed):
    """The changes of state from one savepoint to a later one; ``to_dataframe`` reads them in tasks.

    Attributes:
        spark: The session.
    """

    spark: SparkSession = field(kw_only=True)

    def to_dataframe(self, state: str | None = None) -> DataFrame:
        """The changes as a lazy DataFrame; a task reads some key groups of a table.

        Args:
            state: ``<operator>.<state>``, for typed changes, in the forms of the first savepoint. By
                default those of all states, as texts.

        Returns:
            The columns of ``batches``.

        Raises:
            StateNotFoundError: Neither savepoint has the state.
            SavepointError: The headers of the files can't be read.

        Example:
            >>> feed = savepoint.changes("s3://jobs/orders/savepoint-5e6f")
            >>> feed.to_dataframe("summarize.total").groupBy("kind").count().show()
        """
        nanoseconds = self.diff.before.forms.nanoseconds
        sent = SavepointDiff(
            _sent(self.diff.before), _sent(self.diff.after), None, self.wanted.with_times
        )
        tables = tables_with(feed_tables(self.diff, self.wanted), state)
        return rows_of_tasks(
            self.spark,
            partial(_batches, sent, state, nanoseconds),
            [piece for table in tables for piece in pieces_of(self.diff, table)],
            spark_schema(self.schema(state), nanoseconds),
        )


def _sent(snapshot: Snapshot) -> Snapshot:
    """The snapshot without a session, which can't go to tasks."""
    return Snapshot(**{it.name: getattr(snapshot, it.name) for it in fields(Snapshot)})


def _batches(
    diff: SavepointDiff, state: str | None, nanoseconds: Nanoseconds, piece: FeedTable
) -> Iterator[pa.RecordBatch]:
    for changed, batch in changes_in(diff, piece):
        yield as_texts(changed, batch) if state is None else SPARK[nanoseconds].batch(batch)
