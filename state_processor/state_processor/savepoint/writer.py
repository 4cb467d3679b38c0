"""Writers of savepoints: new ones, or existing ones with changed operators.

Unchanged operators are copied byte for byte, with their handles. So undecodable state and native
formats survive, and copying costs no more than its bytes.

A new savepoint has version 3 of ``_metadata``, which Flink reads from 1.11 on. It has version 5 if
it has objects that only the Kryo of Flink 2.x reads. A savepoint that is based on another has its
version, because handles, operator names and properties depend on it: the Flink that wrote the
original restores the new one. Only version 2 becomes 3, because before Flink 1.11 files have no
relative names.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Self

from savepoint_database.snapshot import DEFAULT_FORMS, ValueForms, id_called
from savepoint_formats.key_groups import expect_parallelism
from savepoint_formats.locations import path_text
from savepoint_formats.metadata import MetadataVersion
from savepoint_formats.new_snapshot import WriteMode, no_progress
from savepoint_formats.printable import html_table, without_secrets
from state_processor.savepoint.changes import SavepointChanges
from state_processor.savepoint.planned_operator import PlannedOperator
from state_processor.savepoint.write import planned_savepoint, written_savepoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from savepoint_extensions.privacy.mask_plan import MaskedField
    from savepoint_extensions.sql_jobs.plan_diff import SqlChange
    from savepoint_formats.locations import PathText
    from savepoint_formats.new_snapshot import Progress
    from savepoint_formats.scan import UndescribedSubclasses
    from savepoint_formats.values import Nanoseconds
    from savepoint_spark.changing import ChangedOperator, StageRule
    from state_processor.savepoint.savepoint import Savepoint
    from state_processor.savepoint.write_summaries import PlannedSavepoint, WrittenSavepoint

_DEFAULT_MAX_PARALLELISM = 128


@dataclass(frozen=True, slots=True, repr=False)
class SavepointWriter(SavepointChanges):
    """A savepoint that will be written; nothing happens before ``write``.

    Each method returns another writer, and leaves this one as it is.

    Attributes:
        spark: The session for jobs; operators that are only copied need none.
        source: The savepoint that the new one is based on.
        operators: The operators of the new savepoint.
        parallelism: The number of subtasks of new operators.
        max_parallelism: The number of key groups of new operators.
        is_canonical: Whether its metadata calls it a canonical savepoint.
        is_of_flink_2: Whether it is for Flink 2.x, although the source is of 1.x.
        sql_changes: What becomes of the operators of a SQL query, after ``sql_migrate``.
        unmasked: Fields of operators that rules for masks leave as they are, and rules without a field.
        forms: The forms in which changes see values that have no exact column.

    Example:
        >>> savepoint = Savepoint.load(spark, "s3://jobs/savepoint-1a2b")
        >>> savepoint.remove_operator("sink").rename_operator("sum", "totals").write("s3://jobs/new")
    """

    spark: SparkSession | None
    source: Savepoint | None
    operators: tuple[PlannedOperator, ...]
    parallelism: int
    max_parallelism: int
    is_canonical: bool = False
    is_of_flink_2: bool = False
    sql_changes: tuple[SqlChange, ...] = ()
    unmasked: tuple[MaskedField, ...] = ()
    forms: ValueForms = DEFAULT_FORMS

    def __repr__(self) -> str:
        source = "nothing" if self.source is None else repr(without_secrets(self.source.path))
        counts = Counter(operator.action.partition(" ")[0] for operator in self.operators)
        actions = ", ".join(f"{count} {action}" for action, count in sorted(counts.items()))
        return f"SavepointWriter(of {source}, operators: {actions or 'none'})"

    def _repr_html_(self) -> str:
        rows = ((operator.name, operator.action) for operator in self.operators)
        return html_table(repr(self), ("operator", "action"), rows)

    def __post_init__(self) -> None:
        """Raises ``ValueError`` if Flink does not allow the parallelism."""
        expect_parallelism(self.parallelism, self.max_parallelism)

    @classmethod
    def of(cls, source: Savepoint, spark: SparkSession | None) -> Self:
        """A savepoint that is based on another one.

        New operators get the greatest parallelism and max parallelism of its operators.
        """
        operators = tuple(PlannedOperator.copy_of(operator) for operator in source.operators())
        return cls(
            spark,
            source,
            operators,
            max((operator.parallelism for operator in operators), default=1),
            max(
                (operator.max_parallelism for operator in operators),
                default=_DEFAULT_MAX_PARALLELISM,
            ),
            forms=source.forms,
        )

    def writer(self) -> Self:
        """The writer itself."""
        return self

    def with_forms(
        self,
        *,
        nanoseconds: Nanoseconds | None = None,
        undescribed_subclasses: UndescribedSubclasses | None = None,
    ) -> Self:
        """The writer whose further changes see values in other forms, see ``Savepoint.with_forms``."""
        forms = self.forms.changed(
            nanoseconds=nanoseconds, undescribed_subclasses=undescribed_subclasses
        )
        return replace(self, forms=forms)

    def operator(self, uid: str) -> PlannedOperator:
        """The planned operator with this uid, hash, unique beginning of a hash, or name in the job.

        Raises:
            OperatorNotFoundError: There is none; the message lists all operators.
            AmbiguousOperatorError: Several hashes begin so, or several operators have this name.
        """
        path = "the new savepoint" if self.source is None else self.source.path
        planned = {str(operator.operator_id): operator for operator in self.operators}
        uids = {operator_id: operator.uid for operator_id, operator in planned.items()}
        names = {
            operator_id: operator.source.record.name
            for operator_id, operator in planned.items()
            if operator.source is not None
        }
        return planned[id_called(uid, uids, names, path)]

    def changes_of(self, uid: str | None) -> dict[str, ChangedOperator]:
        """The changes so far of an operator of the source, or of all of them, by their names."""
        planned = self.operators if uid is None else (self.operator(uid),)
        changes = {it.name: it.change for it in planned if it.source is not None}
        return {name: change for name, change in changes.items() if change is not None}

    @property
    def needs_session(self) -> bool:
        """Whether Spark makes some of its state."""
        return not all(planned.is_copied for planned in self.operators)

    def with_session(self, spark: SparkSession) -> Self:
        """The writer with this session for its jobs."""
        return replace(self, spark=spark)

    def plan(
        self, path: PathText, mode: WriteMode | str = WriteMode.ERROR, *, check: bool = False
    ) -> PlannedSavepoint:
        """Plans ``write``, and writes nothing.

        Args:
            path: As for ``write``.
            mode: As for ``write``.
            check: Reads the state of operators that change, and raises the errors that ``write``
                would raise. State that passes through and values with changed fields need no
                    Spark; expressions and DataFrames do. Hash codes are inferred as by ``write``.
                It takes as long as reading the state. Copied operators are not read.

        Raises:
            SavepointError: As ``write`` does.
        """
        return planned_savepoint(self, path_text(path), mode, check=check)

    def write(
        self,
        path: PathText,
        mode: WriteMode | str = WriteMode.ERROR,
        on_progress: Progress = no_progress,
    ) -> WrittenSavepoint:
        """Writes the savepoint.

        ``_metadata`` comes last: if anything fails, there is no savepoint, or still the old one.

        Args:
            path: An empty or missing directory; a local path, or a URI of a file system that
                pyarrow knows.
            mode: ``overwrite`` to replace a savepoint that is there, else ``error``.
            on_progress: Is called with the bytes of each step of copying, from several threads.

        Raises:
            SavepointExistsError: A savepoint is there, and must not be replaced.
            NotASavepointError: Something else than a savepoint is there.
            StateFileNotFoundError: A file of a copied operator is gone.
            EmptySavepointError: There are no operators.
            ValueError: State must be made, and there is no session for it.
            SavepointError: A transformation or the file system fails.

        Example:
            >>> savepoint.remove_operator("sink").write("s3://jobs/new", mode="overwrite")
        """
        return written_savepoint(self, path_text(path), mode, on_progress)

    @property
    def metadata_version(self) -> int:
        """The version of its ``_metadata``."""
        least = (
            MetadataVersion.OPERATOR_NAMES if self.is_of_flink_2 else MetadataVersion.CHANNEL_STATE
        )
        return least if self.source is None else max(self.source.metadata.version, least)

    def session(self) -> SparkSession:
        """The session; ``ValueError`` if there is none."""
        if self.spark is None:
            raise ValueError(
                "state is changed by Spark: open the savepoint with Savepoint.load(spark, path)"
            )
        return self.spark

    def ready_for(self, rule: StageRule, uid: str | None = None) -> Self:
        """The writer whose operator, or operators, show a change what earlier ones have made.

        Raises:
            SchemaChangeError: The change can't see what an earlier one makes.
        """
        operators = (
            planned.ready_for(rule, is_of_flink_2=self.is_of_flink_2)
            if uid is None or planned is self.operator(uid)
            else planned
            for planned in self.operators
        )
        return replace(self, operators=tuple(operators))

    def changed(self, uid: str, change: Callable[[ChangedOperator], ChangedOperator]) -> Self:
        """The writer with an operator changed, perhaps once more."""
        planned = self.operator(uid)
        return self.replaced(planned, planned.changed(change))

    def replaced(self, planned: PlannedOperator, *others: PlannedOperator) -> Self:
        """The writer with other operators, or none, in the place of one."""
        kept = (others if operator is planned else (operator,) for operator in self.operators)
        return replace(self, operators=tuple(chain.from_iterable(kept)))
