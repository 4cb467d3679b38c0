"""The Spark data source ``savepoint`` with the option ``changes``: a feed, as a table and as a stream.

::

    spark.readStream.format("savepoint").option("changes", "true").load("s3://jobs/checkpoints/1a2b")
    spark.read.format("savepoint").option("changes", "orders.total").option("since", old).load(new)

The offset of a stream is the id of a checkpoint, and that of the checkpoint before it. So a batch that is
done again compares the same two checkpoints. A task reads some key groups of a table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

from savepoint_database.snapshot import key_types_of, opening_of, types_of_option
from savepoint_database.types import SPARK
from savepoint_extensions.change_feed.change_feed import (
    as_texts,
    changes_in,
    pieces_of,
    tables_with,
)
from savepoint_extensions.change_feed.feed_tables import FeedTable, Wanted, feed_tables
from savepoint_extensions.change_feed.followed import Since, feed_of, first_checkpoint
from savepoint_extensions.change_feed.retained_steps import CheckpointDirectory, Step
from savepoint_formats.errors import NotFoundError
from savepoint_formats.values import kryo_classes_of
from savepoint_spark.columns import spark_schema
from savepoint_spark.reading import FORMAT

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow as AvailableNow
except ImportError:  # of Spark before 4.2, which asks for the newest offset alone
    ReadAllAvailable = ReadMaxFiles = AvailableNow = None  # type: ignore[assignment,misc]

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql.types import StructType

    from savepoint_database.snapshot import OpeningOptions
    from savepoint_extensions.change_feed.change_feed import ChangeFeed
    from savepoint_formats.values import Nanoseconds

CHECKPOINT = "checkpoint"
_SINCE = "since"
_FIRST = "first"
_OPTIONS = (
    *("path", "changes", "since", "operator", "withTimes", "newTypes", "skipGone", "nanoseconds"),
    *("uids", "kryoClasses", "keyTypes", "plan", "types", "allowPaths", "strictPaths"),
)


@dataclass(frozen=True)
class FeedOptions:
    """The options of a feed.

    Attributes:
        path: The later savepoint, or the directory of a job.
        state: ``<operator>.<state>`` for typed changes; None for those of all states.
        since: The earlier savepoint, or where a stream begins; None if it is not given.
        wanted: Which states, and how they are read.
        opening: How the snapshots are opened.
        skips_gone: Whether a checkpoint that is gone is no error.
        nanoseconds: Type of times with nanoseconds in typed changes.
    """

    path: str
    state: str | None
    since: str | None
    wanted: Wanted
    opening: OpeningOptions
    skips_gone: bool
    nanoseconds: Nanoseconds

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> Self:
        """The options as texts, in any case; ``ValueError`` for an unknown one, or without a path."""
        known = {name.casefold() for name in _OPTIONS}
        unknown = [name for name in texts if name.casefold() not in known]
        if unknown:
            raise ValueError(
                f"there is no option {unknown[0]!r} for changes; there are: {', '.join(_OPTIONS)}"
            )
        if "path" not in texts:
            raise ValueError("changes need a path: load(path)")
        changes = texts["changes"]
        return cls(
            texts["path"],
            None if changes.casefold() == "true" else changes,
            texts.get("since"),
            Wanted(
                texts.get("operator"),
                None,
                _flag("withTimes", texts),
                texts.get("newTypes", "refuse"),  # type: ignore[arg-type]  # it checks
            ),
            opening_of(
                uids=_names(texts.get("uids", "[]")),
                kryo_classes=kryo_classes_of(texts.get("kryoClasses", "[]")),
                allow_paths=_names(texts.get("allowPaths", "[]")),
                strict_paths=_flag("strictPaths", texts),
                key_types=key_types_of(texts.get("keyTypes", "{}")),
                plan=texts.get("plan"),
                types=types_of_option(texts.get("types", "{}")),
            ),
            _flag("skipGone", texts),
            texts.get("nanoseconds", "refuse"),  # type: ignore[arg-type]  # its table checks
        )

    @property
    def start(self) -> Since:
        """Where a stream begins."""
        since = self.since or "oldest"
        return int(since) if since.isdecimal() else since  # type: ignore[return-value]  # it is checked

    def feed(self, step: Step) -> ChangeFeed:
        """The changes of a step."""
        return feed_of(step, self.opening, self.wanted)

    def schema(self, step: Step) -> StructType:
        """The columns in Spark."""
        return spark_schema(self.feed(step).schema(self.state), self.nanoseconds)

    def parts(self, step: Step) -> list[FeedPart]:
        """What the tasks of a step read."""
        diff = self.feed(step).diff
        tables = tables_with(feed_tables(diff, self.wanted), self.state)
        return [FeedPart(step, piece) for table in tables for piece in pieces_of(diff, table)]

    def batches(self, part: FeedPart) -> Iterator[pa.RecordBatch]:
        """The changes in a part, with Spark's types; runs in a task."""
        for state, batch in changes_in(self.feed(part.step).diff, part.table):
            if self.state is None:
                yield as_texts(state, batch)
            else:
                yield SPARK[self.nanoseconds].batch(batch)


@dataclass(frozen=True)
class FeedPart(InputPartition):
    """A Spark partition: a table of a step, or a part of one."""

    step: Step
    table: FeedTable


class FeedSource(DataSource):
    """The changes of state: between two savepoints, or from each checkpoint of a job to the next."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        """The columns; with a stream, the checkpoint comes first."""
        options = self._parsed
        if self._is_batch:
            return options.schema(_step(options))
        job = CheckpointDirectory.of(options.path)
        newest = first_checkpoint(job, "newest")
        return _with_checkpoint(options.schema(job.step(newest, newest)))

    def reader(self, schema: StructType) -> FeedReader:  # noqa: ARG002  # Spark's name
        """The reader; raises ``ValueError`` without the option ``since``."""
        options = self._parsed
        if not self._is_batch:
            raise ValueError(
                "changes of one savepoint need the earlier one: option('since', path); those of a job's"
                " checkpoints are a stream: use spark.readStream"
            )
        return FeedReader(options)

    def streamReader(self, schema: StructType) -> FeedStreamReader:  # noqa: ARG002, N802  # Spark's names
        return FeedStreamReader(self._parsed)

    @property
    def _parsed(self) -> FeedOptions:
        return FeedOptions.parse(self.options)

    @property
    def _is_batch(self) -> bool:
        """Whether ``since`` is the path of a savepoint."""
        since = self.options.get("since", "oldest")
        return not (since.isdecimal() or since in ("oldest", "newest"))


class FeedReader(DataSourceReader):
    """The changes from one savepoint to a later one."""

    def __init__(self, options: FeedOptions) -> None:
        self._options = options

    def partitions(self) -> list[FeedPart]:
        return self._options.parts(_step(self._options))

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        # If there are no partitions, Spark asks for the rows of None.
        if isinstance(partition, FeedPart):
            yield from self._options.batches(partition)


class FeedStreamReader(DataSourceStreamReader, *([AvailableNow] if AvailableNow else [])):  # type: ignore[misc]
    """The changes from each checkpoint to the next, a checkpoint per batch."""

    def __init__(self, options: FeedOptions) -> None:
        self._options = options
        self._job = CheckpointDirectory.of(options.path)
        self._last: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  # Spark's name
        first = first_checkpoint(self._job, self._options.start)
        return {CHECKPOINT: first, _SINCE: first}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        """Later checkpoints are for the next run."""
        self._last = first_checkpoint(self._job, "newest")

    def getDefaultReadLimit(self) -> Any:  # noqa: N802  # Spark's name
        """A checkpoint per batch."""
        return ReadMaxFiles(1)

    def latestOffset(  # noqa: N802  # Spark's name
        self, start: dict[str, int] | None = None, limit: object = None
    ) -> dict[str, int]:
        """The checkpoint after ``start``; the newest one if all are wanted, as by Spark before 4.2."""
        there = [it for it in self._job.checkpoints() if self._last is None or it <= self._last]
        if start is None:
            if not there:
                return self.initialOffset()
            # Spark asks before it says whether this is a first batch, and doesn't store where that begins.
            return {CHECKPOINT: there[-1], _FIRST: first_checkpoint(self._job, self._options.start)}
        later = [it for it in there if it > start[CHECKPOINT]]
        is_all = ReadAllAvailable is not None and isinstance(limit, ReadAllAvailable)
        following = later[-1] if is_all and later else self._job.following(start[CHECKPOINT])
        if following is None or (self._last is not None and following > self._last):
            return start
        return {CHECKPOINT: following, _SINCE: start[CHECKPOINT]}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[FeedPart]:
        """The parts of the step that the offsets name.

        Raises:
            GoneCheckpointError: One of the checkpoints is gone, and that is not to be skipped.
        """
        since, checkpoint = end.get(_SINCE, start[CHECKPOINT]), end[CHECKPOINT]
        if start.get(_SINCE) == start[CHECKPOINT]:
            # A first batch that is done again begins where it began, even if the oldest checkpoint is another one now.
            since = end.get(_FIRST, since)
        # After a restart, Spark asks for what is behind its newest offset.
        if since == checkpoint or start == end:
            return []
        step = self._job.step(since, checkpoint)
        try:
            self._job.expect(step)
            return self._options.parts(step)
        except NotFoundError as error:
            missing = [it for it in (since, checkpoint) if not self._job.has(it)]
            if not missing:
                raise
            if self._options.skips_gone:
                return []
            raise step.gone(missing[0]) from error

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FeedPart)
        step = partition.step
        try:
            for batch in self._options.batches(partition):
                checkpoints = pa.repeat(pa.scalar(step.checkpoint, pa.int64()), len(batch))
                yield batch.add_column(0, CHECKPOINT, checkpoints)
        except NotFoundError as error:
            missing = [it for it in (step.since, step.checkpoint) if not self._job.has(it)]
            if not missing:
                raise
            raise step.gone(missing[0]) from error


def _step(options: FeedOptions) -> Step:
    assert options.since is not None  # the source has checked it
    return Step(0, 1, options.since, options.path)


def _with_checkpoint(schema: StructType) -> StructType:
    columns = spark_schema(pa.schema({CHECKPOINT: pa.int64()}), "refuse")
    return type(schema)([*columns, *schema])


def _names(text: str) -> tuple[str, ...]:
    """Names with commas between them, or as a JSON list."""
    if text.lstrip().startswith("["):
        return tuple(map(str, json.loads(text)))
    return tuple(part.strip() for part in text.split(","))


def _flag(name: str, texts: Mapping[str, str]) -> bool:
    text = texts.get(name, "false").lower()
    if text not in ("true", "false"):
        raise ValueError(f"option {name!r} is {text!r}, expected true or false")
    return text == "true"
