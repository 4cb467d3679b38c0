"""What happens when a savepoint is written: jobs, copies, and ``_metadata`` at the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Self

from savepoint_formats.errors import (
    EmptySavepointError,
    MigrationError,
    UndecodableError,
    UnencodableError,
)
from savepoint_formats.metadata import (
    CheckpointMetadata,
    CheckpointProperties,
    MetadataVersion,
    RelativeFile,
)
from savepoint_formats.metadata.references import stream_references
from savepoint_formats.new_snapshot.copying import CopyPlan
from savepoint_formats.new_snapshot.directory import NewSnapshot, WriteMode
from savepoint_formats.values.kryo.dialect import KryoVersion
from savepoint_spark.savepoint.written import PlannedSavepoint, WrittenOperator, WrittenSavepoint
from savepoint_spark.writing.stored_types import expect_key_types
from savepoint_spark.writing.write_context import WriteContext

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from savepoint_formats.key_groups.operator_id import OperatorId
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.new_snapshot.copying import Progress
    from savepoint_spark.savepoint.planned_operator import PlannedOperator
    from savepoint_spark.savepoint.savepoint import Savepoint

# A job goes on with the next one; Flink itself begins with 1.
_FIRST_CHECKPOINT = 1


@dataclass(frozen=True, slots=True)
class SavepointWrite:
    """A savepoint that is being written; see ``SavepointWriter``.

    Attributes:
        spark: The session for jobs.
        source: The savepoint that the new one is based on.
        operators: The operators that it will have.
        is_canonical: Whether it says of itself that it is a canonical savepoint.
        is_of_flink_2: Whether it is one of Flink 2.x, though the source is one of 1.x.
    """

    spark: SparkSession | None
    source: Savepoint | None
    operators: tuple[PlannedOperator, ...]
    is_canonical: bool = False
    is_of_flink_2: bool = False

    def plan(self, path: str, mode: WriteMode | str, *, check: bool) -> PlannedSavepoint:
        """See ``SavepointWriter.plan``."""
        self._expect_operators()
        return self._of_one_kryo()._plan(path, mode, check=check)

    def _plan(self, path: str, mode: WriteMode | str, *, check: bool) -> PlannedSavepoint:
        target, copies = NewSnapshot.at(path, mode), self._copies()
        operators = self.operators
        if check:
            self._expect_key_types()
            operators = tuple(planned.with_hash_codes() for planned in operators)
            self._check(operators)
        return PlannedSavepoint(
            path,
            target.replaced is not None,
            self.metadata_version,
            len(copies.sizes),
            sum(copies.sizes),
            self._left_out(),
            tuple(_planned(operator, copies) for operator in operators),
        )

    def _check(self, operators: tuple[PlannedOperator, ...]) -> None:
        """Raises what ``write`` would; of a migration all that can't be read or written at once."""
        problems: list[str] = []
        for operator in operators:
            try:
                operator.check(self.spark)
            except (UndecodableError, UnencodableError) as error:
                if not self.is_of_flink_2:
                    raise
                problems += operator.undescribed() or [str(error)]
        if problems:
            raise MigrationError("; ".join(problems))

    def run(self, path: str, mode: WriteMode | str, on_progress: Progress) -> WrittenSavepoint:
        """See ``SavepointWriter.write``."""
        start = perf_counter()
        self._expect_operators()
        self._expect_key_types()
        operators = tuple(operator.with_hash_codes() for operator in self.operators)
        whole = replace(self, operators=operators)._of_one_kryo()
        return whole._run(path, mode, on_progress, start)

    def _run(
        self, path: str, mode: WriteMode | str, on_progress: Progress, start: float
    ) -> WrittenSavepoint:
        self._expect_session()
        target, copies = NewSnapshot.at(path, mode), self._copies()
        with target.begun():
            # Jobs first: if one fails, nothing was copied in vain.
            records = self._made(target)
            copied = copies.write(target, on_progress)
            records.update(zip(self._untouched(), copied, strict=True))
            operators = tuple(
                planned.identified(records[planned.operator_id]) for planned in self.operators
            )
            files = target.commit(self._metadata(operators))
        return WrittenSavepoint(
            path,
            self.metadata_version,
            len(files),
            sum(files.values()),
            round(perf_counter() - start, 3),
            self._left_out(),
            tuple(
                _written(operator, record, files)
                for operator, record in zip(self.operators, operators, strict=True)
            ),
        )

    @property
    def metadata_version(self) -> int:
        """The version that its ``_metadata`` will have."""
        least = (
            MetadataVersion.OPERATOR_NAMES if self.is_of_flink_2 else MetadataVersion.CHANNEL_STATE
        )
        return least if self.source is None else max(self.source.metadata.version, least)

    def _metadata(self, operators: tuple[OperatorState, ...]) -> CheckpointMetadata:
        if self.source is None:
            version, is_of_flink_2 = self.metadata_version, self.is_of_flink_2
            canonical = CheckpointProperties.of_canonical_savepoint() if is_of_flink_2 else None
            return CheckpointMetadata(version, _FIRST_CHECKPOINT, operators, properties=canonical)
        metadata, properties = self.source.metadata, self.source.metadata.properties
        if self.is_canonical and properties is not None and not properties.is_canonical:
            properties = CheckpointProperties.of_canonical_savepoint()
        if self.is_of_flink_2 and properties is None:
            properties = CheckpointProperties.of_canonical_savepoint()
        return replace(
            metadata,
            version=self.metadata_version,
            operators=operators,
            properties=properties,
        )

    def _of_one_kryo(self) -> Self:
        """The savepoint as one of the Flink whose Kryo is to read all of its objects.

        Raises:
            MigrationError: Some are for another Kryo than others, or than the source has.
        """
        versions = {version for operator in self.operators for version in operator.kryo_versions()}
        if versions and self.source is not None and not self.is_of_flink_2:
            versions.add(self.source.kryo.version.value)
        if len(versions) > 1:
            raise MigrationError(
                f"objects for Kryo {' and for '.join(sorted(versions))}: Flink 1.x restores those of"
                " 2.24, and Flink 2.x those of 5.6; write all of it for one of them"
            )
        return replace(self, is_of_flink_2=self.is_of_flink_2 or KryoVersion.V5_6.value in versions)

    def _expect_operators(self) -> None:
        if not self.operators:
            raise EmptySavepointError(
                "a savepoint without operators would hold nothing; add one, or keep one"
            )

    def _expect_key_types(self) -> None:
        """Raises ``KeyTypeError`` for all operators at once whose keys are of no known type."""
        planned = (operator for operator in self.operators if operator.writes_keys)
        expect_key_types(operator.source for operator in planned if operator.source is not None)

    def _expect_session(self) -> None:
        """Raises ``ValueError`` if there is state to make, and no session for it."""
        made = [operator.name for operator in self.operators if operator.transformation is not None]
        if made and self.spark is None:
            raise ValueError(
                f"the state of {', '.join(made)} is made by Spark: open the savepoint with"
                " Savepoint.load(spark, path)"
            )

    def _left_out(self) -> tuple[str, ...]:
        """What the source has and the savepoint does not: operators, and states of others."""
        if self.source is None:
            return ()
        taken = {
            operator.source.id: operator
            for operator in self.operators
            if operator.source is not None
        }
        return tuple(
            name
            for operator in self.source.operators()
            for name in (
                taken[operator.id].dropped_states() if operator.id in taken else (operator.name,)
            )
        )

    def _untouched(self) -> dict[OperatorId, OperatorState]:
        """The operators that are copied: the id that each will have, the record it has."""
        return {
            planned.operator_id: planned.source.record
            for planned in self.operators
            if planned.source is not None and planned.transformation is None
        }

    def _copies(self) -> CopyPlan:
        if self.source is None:
            return CopyPlan(())
        return CopyPlan.of(self._untouched().values(), self.source.directory)

    def _made(self, target: NewSnapshot) -> dict[OperatorId, OperatorState]:
        """The operators whose state is made, after the jobs that do it."""
        return {
            planned.operator_id: planned.transformation.write(
                WriteContext(
                    self.spark,
                    target,
                    planned.operator_id,
                    planned.parallelism,
                    planned.max_parallelism,
                    self.source,
                    planned.source,
                )
            )
            for planned in self.operators
            if planned.transformation is not None and self.spark is not None
        }


def _planned(operator: PlannedOperator, copies: CopyPlan) -> WrittenOperator:
    files = size = None
    if operator.source is not None and operator.transformation is None:
        sizes = copies.sizes_of(operator.source.record)
        files, size = len(sizes), sum(sizes)
    return WrittenOperator(
        operator.name,
        str(operator.operator_id),
        operator.action,
        files,
        size,
        operator.hash_code,
    )


def _written(
    operator: PlannedOperator, record: OperatorState, files: Mapping[str, int]
) -> WrittenOperator:
    streams = {reference.stream for reference in stream_references(record)}
    sizes = {
        stream.path: files[stream.path] for stream in streams if isinstance(stream, RelativeFile)
    }
    return WrittenOperator(
        operator.name,
        str(operator.operator_id),
        operator.action,
        len(sizes),
        sum(sizes.values()),
        operator.hash_code,
    )
