"""Positions of sources, and pending commits of sinks: shown, and changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from state_processor.savepoint.audit_verbs import AuditVerbs
from state_processor.savepoint.changes import SavepointChanges

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from savepoint_extensions.connectors.kafka_state import KafkaState
    from savepoint_extensions.connectors.sink_state import SinkState
    from savepoint_extensions.connectors.source_state import SourceState
    from savepoint_formats.metadata import OperatorState
    from state_processor.savepoint.writer import SavepointWriter


class ConnectorVerbs(AuditVerbs, SavepointChanges):
    """What a savepoint knows of the systems that its job reads and writes."""

    def kafka(self) -> KafkaState:
        """The state of Kafka sources and sinks: topics, partitions, offsets, transactions.

        Raises:
            SavepointError: A file of such an operator is gone or damaged.

        Example:
            >>> for one in savepoint.kafka().offsets:
            ...     print(one.operator, one.topic, one.partition, one.offset)
        """
        from savepoint_extensions.connectors.kafka_state import KafkaState  # noqa: PLC0415  # loads no extension before it is used

        return KafkaState.of(self)

    def set_kafka_offsets(
        self, offsets: Iterable[Mapping[str, Any]], *, operator: str | None = None
    ) -> SavepointWriter:
        """Returns a writer of a savepoint whose Kafka sources continue at other offsets.

        Args:
            offsets: For each partition to move a dict of ``topic``, ``partition`` and ``offset``:
                that of the next record, or ``earliest``, ``latest`` or ``committed``; and
                ``stopping_offset``, if the source has an end. Other partitions stay.
            operator: The uid or hash of the source; by default all that read the partition.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            StateNotFoundError: There is no Kafka source with partitions.
            RefusedError: No source reads a partition.
            ValueError: An offset is incomplete or invalid.

        Example:
            >>> moved = savepoint.set_kafka_offsets([{"topic": "t", "partition": 0, "offset": 42}])
            >>> moved.write("s3://jobs/earlier")
        """
        from savepoint_extensions.connectors.changed_sources import with_offsets  # noqa: PLC0415  # loads no extension before it is used

        return self._with_records(with_offsets(self, offsets, operator)).writer()

    def sinks(self) -> SinkState:
        """Pending commits of sinks, and the states of their writers.

        A restored job repeats these commits before it does anything else.

        Raises:
            SavepointError: A file of a sink is gone or damaged.

        Example:
            >>> for entry in savepoint.sinks().entries:
            ...     print(entry.operator, entry.connector, entry.checkpoint, entry.facts)
        """
        from savepoint_extensions.connectors.sink_state import SinkState  # noqa: PLC0415  # loads no extension before it is used

        return SinkState.of(self)

    def change_sinks(
        self,
        *,
        drop: str | None = None,
        keep: str | None = None,
        checkpoint: int | None = None,
        transactional_prefix: str | None = None,
    ) -> SavepointWriter:
        """A savepoint whose sinks have other pending commits or other writers' states.

        The changes are made in the order of the arguments. The data of a dropped commit is lost,
        unless you commit it by hand: ``sinks().chosen(condition)`` shows it.

        Args:
            drop: Drops the entries of ``sinks()`` that fulfil this condition in SQL about its
                columns, such as ``"checkpoint < 17 AND connector = 'kafka'"``; ``"all"`` for all.
            keep: Drops all entries that do not fulfil this condition.
            checkpoint: New checkpoint id of the newest pending commit; ids of older ones keep
                their distance. A committer commits at once whatever is not newer than the savepoint.
            transactional_prefix: New prefix of the transactional ids of Kafka writers.

        Raises:
            ConditionError: A condition can't be understood.
            ValueError: ``drop`` and ``keep`` are both given.
            StateNotFoundError: The savepoint has no state of a Kafka writer.
            RefusedError: A checkpoint id would be negative, or a Kafka writer remembers
                transactions with its old prefix.
            SavepointError: A file of a sink is gone or damaged.

        Example:
            >>> savepoint.change_sinks(drop="checkpoint < 17").write("s3://jobs/mended")
        """
        from savepoint_extensions.connectors import sink_state  # noqa: PLC0415  # loads no extension before it is used

        changed = self
        if drop is not None or keep is not None:
            numbers = {entry.number for entry in self.sinks().dropped(drop, keep)}
            changed = self._with_records(sink_state.without_entries(self, numbers))
        if checkpoint is not None:
            changed = changed._with_records(sink_state.with_checkpoint(changed, checkpoint))
        if transactional_prefix is not None:
            records = sink_state.with_transactional_prefix(changed, transactional_prefix)
            changed = changed._with_records(records)
        return changed.writer()

    def sources(self) -> SourceState:
        """Positions of sources: splits of readers, and the state of their coordinators.

        Raises:
            SavepointError: A file of a source is gone or damaged.

        Example:
            >>> for entry in savepoint.sources().entries:
            ...     print(entry.operator, entry.split, entry.position)
        """
        from savepoint_extensions.connectors.source_state import SourceState  # noqa: PLC0415  # loads no extension before it is used

        return SourceState.of(self)

    def change_sources(  # noqa: PLR0913  # the options of the command
        self,
        positions: Mapping[str, str] | None = None,
        *,
        drop_tables: Sequence[str] = (),
        add_tables: Sequence[str] = (),
        release_finished: bool = False,
        stream_from: str | None = None,
        as_version: int | None = None,
        drop_topics: Sequence[str] = (),
        drop_partitions: Sequence[str] = (),
        drop_files: Sequence[str] = (),
        reset: Sequence[str] = (),
        operator: str | None = None,
    ) -> SavepointWriter:
        """A savepoint whose sources continue elsewhere, or with other tables.

        The changes are made in the order of the arguments; tables, splits and streams are of sources
        with change data capture.

        Args:
            positions: Id of a split -> its position in JSON, as ``sources()`` shows it.
            drop_tables: Tables that the source forgets.
            add_tables: Tables whose changes the source reads from now on, without a snapshot.
            release_finished: The source remembers one finished split per table instead of all.
            stream_from: The source reads changes from this position on, instead of snapshots.
            as_version: The coordinator of an ``operator`` of Kafka, or of change data capture, gets its
                state in this version, for another release of the connector.
            drop_topics: Topics that the source forgets, with all partitions.
            drop_partitions: Partitions that it forgets, such as ``orders-3``.
            drop_files: Paths that a source of files forgets, as ``sources()`` shows them; one that
                watches a directory reads them again.
            reset: Sources, by uid or hash, that forget everything and start as in a new job.
            operator: The source, by uid or hash; by default the source that has the split or table.

        Raises:
            OperatorNotFoundError: There is no such operator.
            StateNotFoundError: No source has such a split, table or file, or change data capture.
            RefusedError: The connector could not continue from the changed state, or the changes
                fit several sources.
            ValueError: A position is not a number, or ``as_version`` comes without an operator.
            SavepointError: A file of a source is gone or damaged.

        Example:
            >>> position = '{"file": "mysql-bin.000012", "pos": "4"}'
            >>> savepoint.change_sources({"binlog-split": position}).write("s3://jobs/moved")
        """
        from savepoint_extensions.connectors.changed_sources import (  # noqa: PLC0415  # as above
            SourceChanges,
            with_changed_sources,
            with_enumerator_version,
        )
        from savepoint_extensions.connectors.removed_splits import RemovedSplits, without_splits  # noqa: PLC0415  # as above

        changes = SourceChanges(
            positions or {}, tuple(drop_tables), tuple(add_tables), release_finished, stream_from
        )
        changed = self._with_records(with_changed_sources(self, changes, operator))
        removed = RemovedSplits(*map(tuple, (drop_topics, drop_partitions, drop_files, reset)))
        changed = changed._with_records(without_splits(changed, removed, operator))
        if as_version is None:
            return changed.writer()
        if operator is None:
            raise ValueError("another version is for one source: name its operator")
        records = with_enumerator_version(changed, as_version, operator)
        return changed._with_records(records).writer()

    def _with_records(self, records: Iterable[OperatorState]) -> Self:
        """The savepoint with other records of its operators, in the order of these."""
        changed = tuple(records)
        operators = tuple(
            replace(operator, record=record)
            for operator, record in zip(self.operators(), changed, strict=True)
        )
        metadata = replace(self.metadata, operators=changed)
        return replace(self, metadata=metadata, _operators=operators)
