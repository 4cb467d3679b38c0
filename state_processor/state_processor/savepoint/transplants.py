"""Operators of other savepoints, taken as a whole: keyed and operator state, and the coordinator's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.errors import MigrationError, OperatorExistsError, RefusedError
from savepoint_formats.metadata import (
    FileStream,
    RelativeFile,
    SegmentStream,
    is_of_flink_2,
    with_streams,
)
from state_processor.savepoint.new_operator import id_and_uid
from state_processor.savepoint.planned_operator import PlannedOperator

if TYPE_CHECKING:
    from savepoint_database.snapshot import Operator
    from savepoint_formats.metadata import OperatorState, PlainStream
    from state_processor.savepoint.writer import SavepointWriter


def transplanted(
    writer: SavepointWriter,
    uid: str,
    operator: Operator,
    parallelism: int | None,
    max_parallelism: int | None,
) -> SavepointWriter:
    """See ``SavepointChanges.with_operator``."""
    if parallelism is not None or max_parallelism is not None:
        raise ValueError(f"operator {uid} is taken as a whole: its parallelism can't be set")
    _expect_flink(writer, operator)
    operator_id, known = id_and_uid(uid)
    places = (planned for planned in writer.operators if planned.operator_id == operator_id)
    before = next(places, None)
    if before is not None and not before.is_copied:
        raise OperatorExistsError(f"operator {before.name} was changed before, which would be lost")
    key_groups = (before or writer).max_parallelism
    record = operator.record
    if record.max_parallelism != key_groups:
        if operator.has_keyed_state:
            raise RefusedError(
                f"operator {operator.name} has {record.max_parallelism} key groups, and {uid} in this"
                f" savepoint {key_groups}: write it by rescale(max_parallelism={key_groups}) first"
            )
        record = replace(
            record, max_parallelism=key_groups, parallelism=min(record.parallelism, key_groups)
        )
        _expect_room(operator, record)
    if writer.source is not None:
        from savepoint_extensions.connectors.sink_state import warn_of_hidden_commits  # noqa: PLC0415  # loads no extension before it is used

        warn_of_hidden_commits(operator, writer.source.metadata.checkpoint_id)
    absolute = replace(operator, record=_with_paths(operator, record))
    planned = replace(PlannedOperator.copy_of(absolute), operator_id=operator_id, uid=known)
    if before is None:
        return replace(writer, operators=(*writer.operators, planned))
    return writer.replaced(before, planned)


def _expect_flink(writer: SavepointWriter, operator: Operator) -> None:
    """Raises ``MigrationError`` unless the same major release of Flink restores both."""
    is_2 = is_of_flink_2(writer.metadata_version)
    if operator.kryo is not None and operator.kryo.is_5 != is_2:
        own, other = ("2", "1") if is_2 else ("1", "2")
        raise MigrationError(
            f"operator {operator.name} is of Flink {other}, and the savepoint that is written is for"
            f" Flink {own}: migrate the savepoint of Flink 1 first"
        )


def _expect_room(operator: Operator, record: OperatorState) -> None:
    if len(record.subtasks) > record.parallelism:
        raise RefusedError(
            f"operator {operator.name} has {len(record.subtasks)} subtasks, more than the"
            f" {record.max_parallelism} key groups of this savepoint"
        )


def _with_paths(operator: Operator, record: OperatorState) -> OperatorState:
    """The record with absolute paths, which lead to its files from another savepoint."""
    directory = operator.directory

    def absolute(stream: PlainStream) -> PlainStream:
        if not isinstance(stream, FileStream | RelativeFile | SegmentStream):
            return stream
        location = directory.file(stream).location
        if location is None:
            return stream  # the copy names what is missing
        # What stands before the path in a URI: a scheme, with or without a host.
        start, _, _ = directory.absolute_uri.partition(directory.location.path)
        path = start + location.path
        if isinstance(stream, SegmentStream):
            return replace(stream, path=path)
        return FileStream(stream.size, path)

    return with_streams(record, absolute)
