"""The connectors of Flink 1 whose state is written for newer ones: a row each.

| old                    | new                  | what is written                                       |
|------------------------|----------------------|-------------------------------------------------------|
| `FlinkKafkaConsumer`   | KafkaSource          | splits of readers, state of the coordinator           |
| `FlinkKafkaProducer`   | KafkaSink            | transactions, for the operator of the committer       |
| `FlinkKinesisConsumer` | KinesisStreamsSource | as for Kafka; not proven                              |
| `RMQSource`            | none                 | nothing; refused while it has messages                |
| `ContinuousFile…`      | FileSource           | files that were read, and those that were not         |

A row of ``RENEWALS`` adds a connector.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.connector_rows import TWO_PHASE_STATE
from savepoint_extensions.connectors.consumed_messages import MESSAGES_STATE
from savepoint_extensions.connectors.monitored_files import (
    SPLITS_STATE,
    is_file_reader,
    newest_times,
)
from savepoint_extensions.connectors.renewal import kafka_producer
from savepoint_extensions.connectors.renewal.file_source import renewed_reader, without_time
from savepoint_extensions.connectors.renewal.kafka_consumer import renewed_consumer
from savepoint_extensions.connectors.renewal.kinesis_consumer import renewed_shards
from savepoint_extensions.connectors.renewal.message_source import without_messages
from savepoint_extensions.connectors.renewal.renewed_operator import has_list
from savepoint_extensions.connectors.renewal.stopped_jobs import warnings_of
from savepoint_formats.errors import FormatError, MigrationError, RefusedError, StateNotFoundError
from savepoint_formats.metadata import KAFKA_POSITIONS, KINESIS_POSITIONS, NEWEST_FILE
from savepoint_formats.savepoint_warnings import ConnectorWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.connectors.renewal.renewed_operator import RenewalOptions, Renewed
    from savepoint_formats.metadata import OperatorState
    from state_processor import PlannedOperator, SavepointWriter


@dataclass(frozen=True, slots=True)
class Renewal:
    """A connector that Flink 2 lacks, and the one that continues from its state.

    Attributes:
        old: Its class.
        new: The class that replaces it.
        state: The state that it continues from.
        applies: Whether an operator is its.
        renew: What the operator becomes; takes the id of the checkpoint. Raises ``RefusedError``.
    """

    old: str
    new: str
    state: str
    applies: Callable[[Operator], bool]
    renew: Callable[[Operator, int, RenewalOptions], Renewed]


RENEWALS = (
    Renewal(
        "FlinkKafkaConsumer",
        "KafkaSource",
        KAFKA_POSITIONS,
        lambda operator: has_list(operator, KAFKA_POSITIONS),
        lambda operator, _, options: renewed_consumer(operator, options),
    ),
    Renewal(
        "FlinkKafkaProducer",
        "KafkaSink",
        TWO_PHASE_STATE,
        kafka_producer.is_of_producer,
        kafka_producer.renewed_producer,
    ),
    Renewal(
        "FlinkKinesisConsumer",
        "KinesisStreamsSource",
        KINESIS_POSITIONS,
        lambda operator: has_list(operator, KINESIS_POSITIONS),
        lambda operator, _, options: renewed_shards(operator, options),
    ),
    Renewal(
        "RMQSource",
        "the source of RabbitMQ",
        MESSAGES_STATE,
        lambda operator: has_list(operator, MESSAGES_STATE),
        lambda operator, *_: without_messages(operator),
    ),
    Renewal(
        "ContinuousFileReaderOperator",
        "FileSource",
        SPLITS_STATE,
        is_file_reader,
        lambda operator, _, options: renewed_reader(operator, options),
    ),
    Renewal(
        "ContinuousFileMonitoringFunction",
        "FileSource",
        NEWEST_FILE,
        lambda operator: has_list(operator, NEWEST_FILE),
        lambda operator, *_: without_time(operator),
    ),
)


def with_new_connectors(
    writer: SavepointWriter, options: RenewalOptions, only: str | None = None
) -> SavepointWriter:
    """The writer with the state of old connectors written for new ones; warns of what that can't do.

    Args:
        writer: The writer.
        options: What the user chose.
        only: The operator to renew, by uid or hash; by default all of old connectors.

    Raises:
        OperatorNotFoundError: There is no such operator.
        StateNotFoundError: The operator is of no old connector; or none has a topic, a stream or a split
            that the user names.
        ValueError: An ARN is none of a stream.
        MigrationError: Some state can't be carried; the message names all such operators.
        SavepointError: A file is gone or damaged.
    """
    assert writer.source is not None  # it is based on a savepoint
    chosen: Sequence[PlannedOperator] = (
        writer.operators if only is None else (writer.operator(only),)
    )
    if only is not None and _row_of(chosen[0]) is None:
        names = " or ".join(row.old for row in RENEWALS)
        raise StateNotFoundError(f"operator {only} has no state of {names}")
    problems, remarks = list[str](), list(warnings_of(writer.source))
    known: set[str] = set()
    checkpoint = writer.source.metadata.checkpoint_id
    options, chosen = _with_monitors(writer, options, chosen)
    for planned in chosen:
        row = _row_of(planned)
        if row is None:
            continue
        try:
            others, renewed = _renewed(planned, row, checkpoint, options)
        except (RefusedError, FormatError) as error:
            problems.append(str(error))
            continue
        _expect_free(writer, others[1:])
        writer = writer.replaced(planned, *others)
        remarks += renewed.remarks
        known |= renewed.names
    if problems:
        raise MigrationError(*problems)
    if unknown := sorted((options.without_topics | options.positions.keys()) - known):
        raise StateNotFoundError(f"no old source has {', '.join(unknown)}")
    for remark in remarks:
        warnings.warn(remark, ConnectorWarning, stacklevel=2)
    return writer


def _with_monitors(
    writer: SavepointWriter, options: RenewalOptions, chosen: Sequence[PlannedOperator]
) -> tuple[RenewalOptions, Sequence[PlannedOperator]]:
    """Readers of files are renewed with the functions that watch for them, which have no uid."""
    monitors = [
        planned
        for planned in writer.operators
        if planned.source is not None and has_list(planned.source, NEWEST_FILE)
    ]
    times = [newest_times(planned.source) for planned in monitors if planned.source is not None]
    properties = None if writer.source is None else writer.source.metadata.properties
    options = replace(
        options,
        newest_files_ms=tuple(chain.from_iterable(times)),
        is_stopped=properties is not None and properties.is_of_stopped_job,
    )
    rows = {planned.name: row.state for planned in chosen if (row := _row_of(planned)) is not None}
    if SPLITS_STATE in rows.values():
        return options, [*chosen, *(planned for planned in monitors if planned not in chosen)]
    for name, state in rows.items():
        if state == NEWEST_FILE:
            raise MigrationError(
                f"operator {name}: only it knows which files were read, and no reader of files is renewed"
                " with it, so that the new job would read all of them again: renew the reader, which has the"
                f" uid (savepoint sources --to-new); or leave this out (savepoint remove-operator PATH {name} OUT)"
            )
    return options, chosen


def _row_of(planned: PlannedOperator) -> Renewal | None:
    """The row of an operator whose state is not left out."""
    if planned.source is None or planned.is_made_anew:
        return None
    removed = _removed(planned)
    for row in RENEWALS:
        if row.state not in removed and row.applies(planned.source):
            return row
    return None


def _removed(planned: PlannedOperator) -> frozenset[str]:
    change = None if planned.is_copied else planned.change
    return frozenset() if change is None else change.removed


def _renewed(
    planned: PlannedOperator, row: Renewal, checkpoint: int, options: RenewalOptions
) -> tuple[Sequence[PlannedOperator], Renewed]:
    source, removed = planned.source, _removed(planned)
    assert source is not None  # it has a row
    change = None if planned.is_copied else planned.change
    if change is not None and replace(change, removed=frozenset()) != type(change)(source):
        raise RefusedError(
            f"operator {planned.name} was changed before, which {row.new} would not see: write that"
            " first, and change what it has written"
        )
    # A sink may have got its uid by a change before this one; its committer is called after it.
    source = replace(source, uid=planned.uid)
    renewed = row.renew(source, checkpoint, options)
    own = replace(source, record=renewed.record)
    plan = planned.copied(own)
    if remaining := {state.name for state in own.catalog.states} & removed:
        plan = plan.changed(lambda operator: replace(operator, removed=frozenset(remaining)))
    added = (planned.copy_of(_added(source, record)) for record in renewed.added)
    return [plan, *added], renewed


def _added(source: Operator, record: OperatorState) -> Operator:
    return replace(source, record=record, uid=record.uid or None)


def _expect_free(writer: SavepointWriter, added: Sequence[PlannedOperator]) -> None:
    known = {planned.operator_id for planned in writer.operators}
    for planned in added:
        if planned.operator_id in known:
            raise MigrationError(f"the savepoint has an operator {planned.name} already")
