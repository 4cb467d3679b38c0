"""Savepoints whose sources continue elsewhere, or with other tables."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from savepoint_extensions.connectors.byte_elements import with_byte_elements
from savepoint_extensions.connectors.connector_rows import position_value
from savepoint_extensions.connectors.kafka.kafka_source import (
    CoordinatorState,
    KafkaEnumerator,
    KafkaSplit,
)
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.source_splits.cdc_changes import (
    CdcSource,
    moved,
    released,
    streaming,
    with_table,
    without_table,
)
from savepoint_extensions.connectors.source_splits.cdc_enumerator import CdcEnumerator
from savepoint_extensions.connectors.source_splits.cdc_splits import (
    plain_table,
    read_cdc_split,
    split_bytes,
)
from savepoint_extensions.connectors.source_splits.cdc_versions import as_version
from savepoint_extensions.connectors.source_splits.split_connectors import (
    CDC,
    KAFKA,
    UNKNOWN,
    kafka_facts,
)
from savepoint_extensions.connectors.source_state import ReaderSplit, reader_splits
from savepoint_formats.errors import FormatError, RefusedError, StateNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from savepoint_database.snapshot import Operator, Snapshot
    from savepoint_formats.metadata import OperatorState

    Change = Callable[[CdcSource], CdcSource]


@dataclass(frozen=True, slots=True)
class SourceChanges:
    """Changes of sources, made in this order.

    Attributes:
        positions: Id of a split -> its position, as JSON.
        drop_tables: Tables that sources forget.
        add_tables: Tables whose changes sources read from now on, without a snapshot.
        release_finished: Whether sources remember one finished split per table instead of all.
        stream_from: Position from which sources read the stream, instead of snapshots.
    """

    positions: Mapping[str, str]
    drop_tables: tuple[str, ...] = ()
    add_tables: tuple[str, ...] = ()
    release_finished: bool = False
    stream_from: str | None = None

    def of_cdc(self) -> list[Change]:
        """Changes of sources with change data capture."""
        changes: list[Change] = []
        for table in self.drop_tables:
            changes.append(partial(without_table, table=plain_table(table)))
        changes += [partial(with_table, table=table) for table in self.add_tables]
        if self.release_finished:
            changes.append(released)
        if self.stream_from is not None:
            changes.append(partial(streaming, position=self.stream_from))
        return changes


def with_changed_sources(
    snapshot: Snapshot, changes: SourceChanges, operator: str | None
) -> tuple[OperatorState, ...]:
    """Records of all operators with changed sources.

    Args:
        snapshot: The savepoint.
        changes: The changes.
        operator: The source to change, by uid or hash; by default the source that has the split or
            the table.

    Raises:
        OperatorNotFoundError: There is no such operator.
        StateNotFoundError: No source has a split or a table, or uses change data capture.
        RefusedError: A connector could not go on from the changed state, or the changes fit
            several sources with change data capture.
        SavepointError: A file of a source is gone or damaged.
    """
    return _with_changes(snapshot, _sources(snapshot, operator), changes)


def with_offsets(
    snapshot: Snapshot, rows: Iterable[Mapping[str, Any]], operator: str | None = None
) -> tuple[OperatorState, ...]:
    """Records of all operators, with Kafka sources moved to other offsets.

    Each of the ``rows`` has ``topic``, ``partition`` and ``offset``: the next record's, or
    ``earliest``, ``latest`` or ``committed``; optionally ``stopping_offset``. ``operator`` is the uid or
    hash of the source; by default all sources that have the partition.

    Raises:
        OperatorNotFoundError: There is no such operator.
        StateNotFoundError: The operator is not a Kafka source.
        RefusedError: No source has a partition, or a stopping offset is for a
            ``FlinkKafkaConsumer``, which never stops.
        ValueError: A row lacks a field, or has an invalid offset.
    """
    positions = dict(map(_position, rows))
    sources = [source for source in _sources(snapshot, operator) if source.is_of_kafka]
    if not sources:
        where = snapshot.path if operator is None else f"operator {operator}"
        raise StateNotFoundError(f"{where} has no Kafka source that has partitions")
    known = {split.facts.split for source in sources for split in source.splits}
    if missing := sorted(positions.keys() - known):
        raise RefusedError(
            f"{snapshot.path} has no source that reads {', '.join(missing)}: a reader gets only"
            " what the coordinator has assigned to it"
        )
    return _with_changes(snapshot, sources, SourceChanges(positions))


def with_enumerator_version(
    snapshot: Snapshot, version: int, operator: str
) -> tuple[OperatorState, ...]:
    """Records of all operators, with the enumerator of a source in another version.

    The source is one of Kafka, or of change data capture, whose splits get the version that goes with it.

    Raises:
        OperatorNotFoundError: There is no such operator.
        StateNotFoundError: The operator is no such source.
        RefusedError: The version has no room for what the enumerator knows, or is not written.
    """
    source = snapshot.operator(operator)
    known = _Source.of(source)
    if known.cdc is not None:
        return _with_record(snapshot, known.changed(partial(as_version, version=version)).record())
    state = source.record.coordinator_state
    if state is None or not known.is_of_kafka:
        raise StateNotFoundError(
            f"operator {operator} has no coordinator of a Kafka source, or of change data capture"
        )
    try:
        enumerator = KafkaEnumerator.of(state.data, state.name)
    except FormatError as error:
        raise RefusedError(f"operator {operator}: {error.message}, which is not known") from error
    written = replace(enumerator, version=version).to_versioned()
    coordinator = replace(CoordinatorState.of(state.data, state.name), enumerator=written)
    data = coordinator.to_bytes()
    changed = replace(source.record, coordinator_state=replace(state, data=data))
    return _with_record(snapshot, changed)


def _with_record(snapshot: Snapshot, changed: OperatorState) -> tuple[OperatorState, ...]:
    return tuple(
        changed if known.record.operator_id == changed.operator_id else known.record
        for known in snapshot.operators()
    )


def _position(row: Mapping[str, Any]) -> tuple[str, str]:
    """The id of a split, and its position as JSON."""
    missing = [name for name in ("topic", "partition", "offset") if row.get(name) in (None, "")]
    if missing:
        raise ValueError(f"{dict(row)} lacks {', '.join(missing)}")
    split = KafkaSplit(str(row["topic"]), int(row["partition"]), 0)
    position = {"offset": row["offset"], "stopping_offset": row.get("stopping_offset")}
    split.at(**position)
    return kafka_facts(split).split, json.dumps(position, default=str)


def _sources(snapshot: Snapshot, operator: str | None) -> list[_Source]:
    chosen = snapshot.operators() if operator is None else (snapshot.operator(operator),)
    return list(map(_Source.of, chosen))


def _with_changes(
    snapshot: Snapshot, sources: list[_Source], changes: SourceChanges
) -> tuple[OperatorState, ...]:
    missing = set(changes.positions)
    moved_sources = [source.at(changes.positions, missing) for source in sources]
    if missing:
        names = ", ".join(sorted(missing))
        raise StateNotFoundError(f"{snapshot.path} has no reader with the split {names}")
    captured = _captured(snapshot, sources, moved_sources, changes)
    records = {}
    for source in moved_sources:
        changed = source
        for change in changes.of_cdc() if source.operator.name in captured else ():
            changed = changed.changed(change)
        records[source.operator.name] = changed.record()
    return tuple(records.get(known.name, known.record) for known in snapshot.operators())


def _captured(
    snapshot: Snapshot, before: list[_Source], after: list[_Source], changes: SourceChanges
) -> list[str]:
    """The source with change data capture that the changes are for; none if they are for others.

    Raises:
        StateNotFoundError: There is none for them.
        RefusedError: There are several.
    """
    tables = {plain_table(table) for table in changes.drop_tables}
    names = [
        old.operator.name
        for old, new in zip(before, after, strict=True)
        if old.cdc is not None
        and (old.cdc != new.cdc or (changes.of_cdc() and tables <= old.cdc.tables()))
    ]
    if changes.of_cdc() and not names:
        text = f" that has {', '.join(changes.drop_tables)}" if tables else ""
        raise StateNotFoundError(f"{snapshot.path} has no source with change data capture{text}")
    if len(names) > 1:
        text = ", ".join(names)
        raise RefusedError(f"the changes fit several sources ({text}): name one by its operator")
    return names


@dataclass(frozen=True, slots=True)
class _Source:
    """A source, and the replacements of its elements."""

    operator: Operator
    splits: tuple[ReaderSplit, ...]
    elements: tuple[bytes, ...]
    cdc: CdcSource | None

    @classmethod
    def of(cls, operator: Operator) -> _Source:
        splits = tuple(reader_splits(operator))
        elements = tuple(split.element.data for split in splits)
        return cls(operator, splits, elements, _cdc_source(operator, splits))

    @property
    def is_of_kafka(self) -> bool:
        return {split.facts.connector for split in self.splits} == {KAFKA}

    def at(self, positions: Mapping[str, str], missing: set[str]) -> _Source:
        """The source with other positions; splits that it has are no longer missing."""
        cdc, changed = self.cdc, list(self.elements)
        for number, split in enumerate(self.splits):
            text = positions.get(split.facts.split)
            if text is None or split.facts.connector == UNKNOWN:
                continue
            missing.discard(split.facts.split)
            if cdc is None:
                changed[number] = split.at(position_value(text))
                continue
            if split.facts.kind != "stream":
                raise RefusedError(f"{split.facts.split} is a snapshot, which is read as a whole")
            cdc = moved(cdc, text)
        return replace(self, elements=tuple(changed), cdc=cdc)

    def changed(self, change: Change) -> _Source:
        return self if self.cdc is None else replace(self, cdc=change(self.cdc))

    def record(self) -> OperatorState:
        changed: Iterable[bytes | None] = self.elements
        if self.cdc is not None:
            changed = [
                known and Versioned(known[0].version, split_bytes(known[1], known[0])).to_bytes()
                for known in self.cdc.splits
            ]
        elements = (split.element for split in self.splits)
        record = with_byte_elements(self.operator, zip(elements, changed, strict=True))
        state = record.coordinator_state
        if state is None or self.cdc is None or self.cdc.enumerator is None:
            return record
        coordinator = CoordinatorState.of(state.data, state.name)
        coordinator = replace(coordinator, enumerator=self.cdc.enumerator.to_versioned())
        return replace(record, coordinator_state=replace(state, data=coordinator.to_bytes()))


def _cdc_source(operator: Operator, of_readers: Iterable[ReaderSplit]) -> CdcSource | None:
    """Splits and enumerator of a source with change data capture; None for any other."""
    splits = []
    for split in of_readers:
        if split.raw is None or split.connector is None or split.connector.name != CDC:
            return None
        splits.append(read_cdc_split(split.raw, split.element.state))
    state, enumerator = operator.record.coordinator_state, None
    if state is not None:
        try:
            raw = CoordinatorState.of(state.data, state.name).enumerator
            if any(form.is_base for form, _ in splits):
                enumerator = CdcEnumerator.of(raw, state.name, is_base=True)
            else:
                enumerator = CdcEnumerator.of_either(raw, state.name)
        except FormatError:
            if splits:
                raise
            return None
    return CdcSource(tuple(splits), enumerator) if splits or enumerator else None
