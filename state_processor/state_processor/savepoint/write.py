"""Writes a savepoint: runs the jobs, copies files, and commits ``_metadata`` at the end."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from savepoint_formats.errors import (
    ConversionError,
    EmptySavepointError,
    MigrationError,
    UndecodableError,
    UnencodableError,
)
from savepoint_formats.metadata import (
    CheckpointMetadata,
    CheckpointProperties,
    RelativeFile,
    stream_references,
)
from savepoint_formats.new_snapshot import CopyPlan, NewSnapshot, WriteMode
from savepoint_formats.values import KryoVersion
from savepoint_spark import changing
from savepoint_spark.writing import WriteContext, expect_key_types
from state_processor.savepoint.planned_operator import (
    AlteredOperator,
    CopiedOperator,
    MadeOperator,
)
from state_processor.savepoint.write_summaries import (
    PlannedSavepoint,
    WrittenOperator,
    WrittenSavepoint,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from savepoint_extensions.change_files.change_count import ChangeCount
    from savepoint_extensions.privacy.mask_plan import MaskedField
    from savepoint_formats.key_groups import OperatorId
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.new_snapshot import Progress
    from state_processor.savepoint.planned_operator import PlannedOperator
    from state_processor.savepoint.writer import SavepointWriter

# The job continues with the next number; Flink itself begins with 1.
_FIRST_CHECKPOINT = 1


def planned_savepoint(
    writer: SavepointWriter, path: str, mode: WriteMode | str, *, check: bool
) -> PlannedSavepoint:
    """See ``SavepointWriter.plan``."""
    _expect_operators(writer)
    _expect_one_backend(writer)
    writer = _of_one_kryo(writer)
    target, copies = NewSnapshot.at(path, mode), _copies(writer)
    operators = writer.operators
    if check:
        _expect_key_types(writer)
        operators = tuple(_with_listed_keys(planned).with_hash_codes() for planned in operators)
        _check(writer, operators)
    masked = _masked(writer) if check and writer.spark is not None else ()
    return PlannedSavepoint(
        path,
        target.replaced is not None,
        writer.metadata_version,
        len(copies.sizes),
        sum(copies.sizes),
        _left_out(writer),
        tuple(_planned(operator, copies) for operator in operators),
        writer.sql_changes,
        masked,
        _counts(writer.spark, operators) if check and writer.spark is not None else (),
    )


def written_savepoint(
    writer: SavepointWriter, path: str, mode: WriteMode | str, on_progress: Progress
) -> WrittenSavepoint:
    """See ``SavepointWriter.write``."""
    start = perf_counter()
    _expect_operators(writer)
    _expect_one_backend(writer)
    _expect_key_types(writer)
    operators = tuple(operator.with_hash_codes() for operator in writer.operators)
    writer = _of_one_kryo(replace(writer, operators=operators))
    _expect_session(writer)
    masked = _masked(writer)
    target, copies = NewSnapshot.at(path, mode), _copies(writer)
    with target.begun() as target:
        # Jobs first: if one fails, nothing was copied in vain.
        records = _made(writer, target)
        copied = copies.write(target, on_progress)
        records.update(zip(_untouched(writer), copied, strict=True))
        states = tuple(
            planned.identified(records[planned.operator_id]) for planned in writer.operators
        )
        files = target.commit(_metadata(writer, states))
    return WrittenSavepoint(
        path,
        writer.metadata_version,
        len(files),
        sum(files.values()),
        round(perf_counter() - start, 3),
        _left_out(writer),
        tuple(
            _written(operator, record, files)
            for operator, record in zip(writer.operators, states, strict=True)
        ),
        writer.sql_changes,
        masked,
    )


def _masked(writer: SavepointWriter) -> tuple[MaskedField, ...]:
    """Fields of masked state with counts; ``MaskError`` if masks would make keys equal."""
    # A copy has no session, and must not import changes, which need PySpark.
    if writer.spark is None:
        return writer.unmasked
    changes = (planned.change for planned in writer.operators)
    stages = (stage for change in changes if change is not None for stage in change.stages)
    counted = (
        field
        for stage in stages
        for change in stage.changes
        for field in change.fields(stage, writer.spark)
    )
    return (*counted, *writer.unmasked)


def _with_listed_keys(planned: PlannedOperator) -> PlannedOperator:
    """The operator whose deleted keys are known, so that a check and a count need them once."""
    if not isinstance(planned, AlteredOperator):
        return planned
    return planned.changed(lambda operator: operator.with_listed_keys())


def _counts(spark: SparkSession, operators: tuple[PlannedOperator, ...]) -> tuple[ChangeCount, ...]:
    from savepoint_extensions.change_files.counted_changes import change_counts  # noqa: PLC0415  # loads no extension before it is used

    changes = (it.changes for it in operators if isinstance(it, AlteredOperator))
    return tuple(count for change in changes for count in change_counts(change, spark))


def _check(writer: SavepointWriter, operators: tuple[PlannedOperator, ...]) -> None:
    """Raises what ``write`` would; for a migration, one error for all that can't be read or written."""
    problems: list[str] = []
    for operator in operators:
        try:
            operator.check(writer.spark)
        except (UndecodableError, UnencodableError) as error:
            if not writer.is_of_flink_2:
                raise
            problems += operator.undescribed() or [str(error)]
    if problems:
        raise MigrationError("; ".join(problems))


def _metadata(writer: SavepointWriter, operators: tuple[OperatorState, ...]) -> CheckpointMetadata:
    version, canonical = writer.metadata_version, CheckpointProperties.of_canonical_savepoint()
    if writer.source is None:
        properties = canonical if writer.is_of_flink_2 else None
        return CheckpointMetadata(version, _FIRST_CHECKPOINT, operators, properties=properties)
    metadata = writer.source.metadata
    properties = metadata.properties
    if properties is None:
        properties = canonical if writer.is_of_flink_2 else None
    elif writer.is_canonical and not properties.is_canonical:
        properties = canonical
    return replace(metadata, version=version, operators=operators, properties=properties)


def _of_one_kryo(writer: SavepointWriter) -> SavepointWriter:
    """The savepoint as one of the Flink whose Kryo reads all of its objects, or ``MigrationError``."""
    versions = {version for operator in writer.operators for version in operator.kryo_versions()}
    if versions and writer.source is not None and not writer.is_of_flink_2:
        versions.add(writer.source.kryo.version.value)
    if len(versions) > 1:
        raise MigrationError(
            f"objects for Kryo {' and for '.join(sorted(versions))}: Flink 1.x restores those of"
            " 2.24, and Flink 2.x those of 5.6; write all of it for one of them"
        )
    is_of_flink_2 = writer.is_of_flink_2 or KryoVersion.V5_6.value in versions
    return replace(writer, is_of_flink_2=is_of_flink_2)


def _expect_operators(writer: SavepointWriter) -> None:
    if not writer.operators:
        raise EmptySavepointError("the savepoint would have no operators; add one, or keep one")


def _expect_one_backend(writer: SavepointWriter) -> None:
    """Raises ``ConversionError`` for canonical files beside those of ForSt: no backend restores both."""
    anew = [operator for operator in writer.operators if operator.becomes_canonical]
    if not anew:
        return
    copied = [
        operator.source for operator in writer.operators if isinstance(operator, CopiedOperator)
    ]
    native = [source for source in copied if changing.needs_conversion(source)]
    sources = (operator.source for operator in anew if operator.source is not None)
    if native and any(map(changing.is_of_forst, (*native, *sources))):
        raise ConversionError(
            f"the keyed state of operator {anew[0].name} becomes a canonical file, which ForSt does not"
            f" restore, and that of operator {native[0].name} stays in files of ForSt, which no other"
            " backend restores: add convert() to the changes, or run savepoint convert first, and"
            " restore the result with RocksDB or on the heap"
        )


def _expect_key_types(writer: SavepointWriter) -> None:
    """Raises ``KeyTypeError`` for all operators at once whose keys have no known type."""
    planned = (operator for operator in writer.operators if operator.writes_keys)
    expect_key_types(operator.source for operator in planned if operator.source is not None)


def _expect_session(writer: SavepointWriter) -> None:
    made = [operator.name for operator in writer.operators if not operator.is_copied]
    if made and writer.spark is None:
        raise ValueError(
            f"the state of {', '.join(made)} is made by Spark: open the savepoint with"
            " Savepoint.load(spark, path)"
        )


def _left_out(writer: SavepointWriter) -> tuple[str, ...]:
    """The operators that only the source has, and the states that its operators lose."""
    if writer.source is None:
        return ()
    taken = {
        operator.source.id: operator for operator in writer.operators if operator.source is not None
    }
    return tuple(
        name
        for operator in writer.source.operators()
        for name in (
            taken[operator.id].dropped_states() if operator.id in taken else (operator.name,)
        )
    )


def _untouched(writer: SavepointWriter) -> dict[OperatorId, OperatorState]:
    """The new ids of the operators that are copied, with their present records."""
    return {
        planned.operator_id: planned.source.record
        for planned in writer.operators
        if isinstance(planned, CopiedOperator)
    }


def _copies(writer: SavepointWriter) -> CopyPlan:
    records = _untouched(writer)
    sources = [it.source for it in writer.operators if isinstance(it, CopiedOperator)]
    if not sources:
        return CopyPlan(())
    # Operators of other savepoints have absolute paths.
    directory = sources[0].directory if writer.source is None else writer.source.directory
    return CopyPlan.of(records.values(), directory)


def _made(writer: SavepointWriter, target: NewSnapshot) -> dict[OperatorId, OperatorState]:
    """Runs the jobs of the operators whose state is made; returns their records."""
    return {
        planned.operator_id: planned.transformation.write(
            WriteContext(
                writer.spark,
                target,
                planned.operator_id,
                planned.parallelism,
                planned.max_parallelism,
                writer.source,
                planned.source,
            )
        )
        for planned in writer.operators
        if isinstance(planned, AlteredOperator | MadeOperator) and writer.spark is not None
    }


def _planned(operator: PlannedOperator, copies: CopyPlan) -> WrittenOperator:
    if isinstance(operator, CopiedOperator):
        return _summary(operator, copies.sizes_of(operator.source.record))
    return _summary(operator, None)


def _written(
    operator: PlannedOperator, record: OperatorState, files: Mapping[str, int]
) -> WrittenOperator:
    streams = {reference.stream for reference in stream_references(record)}
    paths = {stream.path for stream in streams if isinstance(stream, RelativeFile)}
    return _summary(operator, [files[path] for path in paths])


def _summary(operator: PlannedOperator, sizes: Sequence[int] | None) -> WrittenOperator:
    files, size = (None, None) if sizes is None else (len(sizes), sum(sizes))
    return WrittenOperator(
        operator.name, str(operator.operator_id), operator.action, files, size, operator.hash_code
    )
