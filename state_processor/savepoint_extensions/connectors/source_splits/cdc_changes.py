"""Changes of a source with change data capture, which its connector restores.

A source has splits in its readers and the state of its enumerator. Each change keeps both in step,
because a reader asks for finished splits by the enumerator's number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.source_splits.cdc_enumerator import (
    AssignerStatus,
    CdcEnumerator,
    CdcSnapshots,
    CdcTable,
)
from savepoint_extensions.connectors.source_splits.cdc_positions import (
    Dialect,
    checked_position,
    dialect_of,
    expect_one_server,
    newest_position,
    position_order,
)
from savepoint_extensions.connectors.source_splits.cdc_splits import (
    CdcForm,
    CdcSplit,
    FinishedSplit,
    SnapshotSplit,
    StreamSplit,
    plain_table,
)
from savepoint_formats.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_WHOLE = "aced000570"
"""The serialized row that bounds nothing."""

_FINISHED = (
    AssignerStatus.INITIAL_ASSIGNING_FINISHED,
    AssignerStatus.NEWLY_ADDED_ASSIGNING_FINISHED,
)


@dataclass(frozen=True, slots=True)
class CdcSource:
    """Splits of readers and state of the enumerator.

    Attributes:
        splits: Form and split of each element of the readers; None for a dropped split.
        enumerator: State of the enumerator; None if the savepoint has none.
    """

    splits: tuple[tuple[CdcForm, CdcSplit] | None, ...]
    enumerator: CdcEnumerator | None

    def stream(self) -> tuple[CdcForm, StreamSplit] | None:
        """The stream split; None while the source reads snapshots."""
        for known in self.splits:
            if known is not None and isinstance(known[1], StreamSplit):
                return known[0], known[1]
        return None

    def expect_stream(self) -> tuple[CdcForm, StreamSplit]:
        """Raises ``RefusedError`` without a stream split, or if it lacks finished splits."""
        if (stream := self.stream()) is None:
            raise RefusedError("no reader has the stream: its source still reads snapshots")
        if (total := stream[1].total) != (count := len(stream[1].finished)):
            raise RefusedError(
                f"the reader of {stream[1].split} has got {count} of {total} finished splits:"
                " take the savepoint later, when it has all of them"
            )
        return stream

    def expect_snapshots(self) -> tuple[CdcEnumerator, CdcSnapshots]:
        """Raises ``RefusedError`` if the enumerator has no state of snapshots."""
        enumerator = self.enumerator
        if enumerator is None or enumerator.snapshots is None:
            raise RefusedError("the enumerator has no state of snapshots")
        return enumerator, enumerator.snapshots

    def tables(self) -> set[str]:
        """Names of all tables, without quotes."""
        names = set()
        for _, split in filter(None, self.splits):
            if isinstance(split, SnapshotSplit):
                names.add(split.table)
            else:
                names |= {item.table for item in split.finished}
                names |= {schema.table for schema in split.schemas}
        if self.enumerator is not None and (snapshots := self.enumerator.snapshots) is not None:
            names |= {table.name for table in (*snapshots.processed, *snapshots.waiting)}
            names |= {split.table for split in snapshots.remaining}
        return {plain_table(name) for name in names}

    def with_stream(self, change: Callable[[StreamSplit], StreamSplit]) -> CdcSource:
        """The source with another stream split."""
        changed = tuple(
            (known[0], change(known[1]))
            if known is not None and isinstance(known[1], StreamSplit)
            else known
            for known in self.splits
        )
        return replace(self, splits=changed)

    def with_snapshots(self, snapshots: CdcSnapshots) -> CdcSource:
        """The source with other snapshots in its enumerator."""
        enumerator, _ = self.expect_snapshots()
        return replace(self, enumerator=replace(enumerator, snapshots=snapshots))


def moved(source: CdcSource, position: str) -> CdcSource:
    """The source whose stream goes on elsewhere.

    Raises ``RefusedError`` if it reads snapshots, or can't go on from there.
    """
    if (stream := source.stream()) is None:
        raise RefusedError("no reader has the stream: its source still reads snapshots")
    form, split = stream
    checked_position(position, dialect_of(split.start, is_base=form.is_base))
    return source.with_stream(lambda split: replace(split, start=position))


def without_table(source: CdcSource, table: str) -> CdcSource:
    """The source without a table: its splits, watermarks and schema.

    Raises ``RefusedError`` if it is the last table, or the reader lacks finished splits.
    """
    if source.tables() == {table}:
        raise RefusedError(
            f"{table} is the only table; a source without tables looks for all tables again"
        )

    def stays(name: str) -> bool:
        return plain_table(name) != table

    changed = replace(
        source,
        splits=tuple(
            None if known is not None and _is_of(known[1], table) else known
            for known in source.splits
        ),
    )
    if source.stream() is not None:
        source.expect_stream()
        changed = changed.with_stream(lambda split: _without(split, stays))
    if source.enumerator is None or (snapshots := source.enumerator.snapshots) is None:
        return changed
    assigned = tuple(known for known in snapshots.assigned if stays(known[1].table))
    gone = {known[0] for known in snapshots.assigned} - {known[0] for known in assigned}
    divided = snapshots.divided
    return changed.with_snapshots(
        replace(
            snapshots,
            processed=tuple(known for known in snapshots.processed if stays(known.name)),
            waiting=tuple(known for known in snapshots.waiting if stays(known.name)),
            remaining=tuple(split for split in snapshots.remaining if stays(split.table)),
            assigned=assigned,
            finished=_without_ids(snapshots.finished, gone),
            checkpoints=tuple(known for known in snapshots.checkpoints if known[0] not in gone),
            schemas=tuple(schema for schema in snapshots.schemas if stays(schema.table)),
            divided=divided if divided is None or stays(divided.name) else None,
        )
    )


def _is_of(split: CdcSplit, table: str) -> bool:
    return isinstance(split, SnapshotSplit) and plain_table(split.table) == table


def _without(split: StreamSplit, stays: Callable[[str], bool]) -> StreamSplit:
    finished = tuple(item for item in split.finished if stays(item.table))
    schemas = tuple(schema for schema in split.schemas if stays(schema.table))
    return replace(split, finished=finished, schemas=schemas, total=len(finished))


def _without_ids(
    watermarks: Iterable[tuple[str, str | None]], ids: set[str]
) -> tuple[tuple[str, str | None], ...]:
    return tuple(known for known in watermarks if known[0] not in ids)


def with_table(source: CdcSource, table: str) -> CdcSource:
    """The source that reads the changes of another table, without a snapshot of it.

    The connector looks for all schemas anew, because the new table's is not known.

    Raises ``RefusedError`` if the source has the table, or still reads snapshots.
    """
    if plain_table(table) in source.tables():
        raise RefusedError(f"the source has the table {table}")
    _, stream = source.expect_stream()
    changed = source.with_stream(lambda split: replace(split, schemas=()))
    if source.enumerator is None or (snapshots := source.enumerator.snapshots) is None:
        return changed
    _expect_finished(source.enumerator, snapshots)
    catalogs = {known.catalog for known in snapshots.processed}
    catalog = catalogs != {False}
    snapshots = replace(snapshots, processed=(*snapshots.processed, CdcTable(table, catalog)))
    if not stream.finished:
        return changed.with_snapshots(snapshots)
    if stream.start is None or not snapshots.assigned:
        raise RefusedError("the enumerator knows no split that was read, unlike the reader")
    split = f"{plain_table(table)}:0"
    known = replace(snapshots.assigned[0][1], table=table, split=split, start=_WHOLE, end=_WHOLE)
    finished = replace(
        stream.finished[0],
        table=table,
        split=split,
        start=_WHOLE,
        end=_WHOLE,
        watermark=stream.start,
        catalog=catalog,
    )
    snapshots = replace(
        snapshots,
        assigned=(*snapshots.assigned, (split, replace(known, catalog=catalog))),
        finished=(*snapshots.finished, (split, stream.start)),
    )
    return changed.with_snapshots(snapshots).with_stream(
        lambda split: replace(split, finished=(*split.finished, finished), total=split.total + 1)
    )


def _expect_finished(enumerator: CdcEnumerator, snapshots: CdcSnapshots) -> None:
    if not enumerator.is_streamed or snapshots.status not in _FINISHED:
        raise RefusedError(
            f"the enumerator is at {snapshots.status.name}: take the savepoint when the source"
            " reads nothing but the stream"
        )


def released(source: CdcSource) -> CdcSource:
    """The source that remembers one finished split per table instead of thousands.

    It covers all keys of the table, up to the newest watermark of its splits.

    Raises ``RefusedError`` if the stream has not passed all watermarks, because they still matter.
    """
    form, stream = source.expect_stream()
    dialect = dialect_of(stream.start, is_base=form.is_base)
    whole = _whole_splits(stream, dialect)
    kept = {item.split: item for item in whole}
    changed = source.with_stream(lambda split: replace(split, finished=whole, total=len(whole)))
    if source.enumerator is None or (snapshots := source.enumerator.snapshots) is None:
        return changed
    _expect_finished(source.enumerator, snapshots)
    if {known[0] for known in snapshots.assigned} != {item.split for item in stream.finished}:
        raise RefusedError("reader and enumerator know different finished splits")
    assigned = tuple(
        (name, replace(split, start=_WHOLE, end=_WHOLE))
        for name, split in snapshots.assigned
        if name in kept
    )
    return changed.with_snapshots(
        replace(
            snapshots,
            assigned=assigned,
            finished=tuple((name, kept[name].watermark) for name, _ in assigned),
            checkpoints=tuple(known for known in snapshots.checkpoints if known[0] in kept),
        )
    )


def _whole_splits(stream: StreamSplit, dialect: Dialect | None) -> tuple[FinishedSplit, ...]:
    """A finished split for each table."""
    tables: dict[str, list[FinishedSplit]] = {}
    for item in stream.finished:
        tables.setdefault(plain_table(item.table), []).append(item)
    whole = []
    for table, items in tables.items():
        watermarks = [item.watermark for item in items if item.watermark is not None]
        if stream.start is None or len(watermarks) < len(items):
            raise RefusedError(f"a finished split of {table} has no watermark")
        expect_one_server([stream.start, *watermarks])
        newest = newest_position(watermarks, dialect)
        if position_order(stream.start, dialect) < position_order(newest, dialect):
            raise RefusedError(
                f"the stream is at {stream.start}, before the watermark {newest} of {table}:"
                " its finished splits still say which changes the snapshot has"
            )
        whole.append(replace(items[0], start=_WHOLE, end=_WHOLE, watermark=newest))
    return tuple(whole)


def streaming(source: CdcSource, position: str) -> CdcSource:
    """The source that leaves the snapshot phase, and reads changes from a position on.

    Readers get no split; the enumerator gives one of them the stream, because each table has one
    finished split with this watermark.

    Raises ``RefusedError`` if it reads the stream, or its connector is unknown.
    """
    if source.stream() is not None:
        raise RefusedError("the source reads the stream: set its position instead")
    enumerator, snapshots = source.expect_snapshots()
    if enumerator.is_streamed is None:
        raise RefusedError("the source reads snapshots and no stream")
    splits = _snapshot_splits(source, snapshots)
    if not splits:
        raise RefusedError("there is no split, so that the type of its keys is not known")
    watermarks = [split.watermark for split in splits] + [known for _, known in snapshots.finished]
    written = next(filter(None, watermarks), position)
    checked_position(position, dialect_of(written, is_base=enumerator.form.is_base))
    of_table = {plain_table(split.table): split for split in reversed(splits)}
    tables = {name: CdcTable(split.table, split.catalog) for name, split in of_table.items()}
    listed = (*snapshots.processed, *snapshots.waiting)
    tables |= {plain_table(table.name): table for table in listed}
    assigned = tuple(
        (f"{name}:0", _whole_split(table, f"{name}:0", of_table.get(name, splits[0])))
        for name, table in tables.items()
    )
    changed = CdcSnapshots(
        processed=tuple(tables.values()),
        remaining=(),
        assigned=assigned,
        finished=tuple((name, position) for name, _ in assigned),
        status=AssignerStatus.INITIAL_ASSIGNING_FINISHED,
        is_case_sensitive=snapshots.is_case_sensitive,
        schemas=snapshots.schemas,
    )
    enumerator = replace(enumerator, snapshots=changed, is_streamed=False)
    return CdcSource((None,) * len(source.splits), enumerator)


def _snapshot_splits(source: CdcSource, snapshots: CdcSnapshots) -> list[SnapshotSplit]:
    """All snapshot splits of readers and enumerator."""
    return [
        *(known[1] for known in source.splits if known and isinstance(known[1], SnapshotSplit)),
        *snapshots.remaining,
        *(split for _, split in snapshots.assigned),
    ]


def _whole_split(table: CdcTable, name: str, template: SnapshotSplit) -> SnapshotSplit:
    return replace(
        template,
        table=table.name,
        split=name,
        start=_WHOLE,
        end=_WHOLE,
        watermark=None,
        schemas=(),
        catalog=table.catalog,
    )
