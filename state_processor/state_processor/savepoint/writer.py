"""Savepoints that are made: from nothing, or from another one with some operators changed.

What is not changed is copied: its files as they are, byte for byte, and its handles. So state that
nobody can decode survives, native formats do, and it costs no more than its bytes.

A savepoint made from nothing has version 3 of ``_metadata``, which Flink reads from 1.11 on. One
that is based on another has the version of that, for its handles, names of operators and properties
are made for it: the Flink that wrote the one restores the other. Version 2 alone becomes 3, for
before Flink 1.11 no file is named relative to its directory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Literal, Self

from savepoint_formats.errors import OperatorExistsError, OperatorNotFoundError
from savepoint_formats.hashing.hash_shapes import HashShape
from savepoint_formats.key_groups.ranges import MAX_PARALLELISM
from savepoint_formats.new_snapshot.copying import no_progress
from savepoint_formats.new_snapshot.directory import WriteMode
from state_processor.savepoint.planned_operator import (
    PlannedOperator,
    combined,
    expect_parallelism,
    identity,
)
from state_processor.savepoint.state_changes import StateChanges
from state_processor.savepoint.write import SavepointWrite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_formats.key_groups.operator_id import OperatorId
    from savepoint_formats.new_snapshot.copying import Progress
    from state_processor.changing.changed_operator import ChangedOperator
    from state_processor.savepoint.savepoint import Savepoint
    from state_processor.savepoint.written import PlannedSavepoint, WrittenSavepoint
    from state_processor.writing.write_context import StateTransformation

_DEFAULT_MAX_PARALLELISM = 128


@dataclass(frozen=True, slots=True)
class SavepointWriter(StateChanges):
    """A savepoint that is to be written; nothing happens before ``write``.

    Each method gives another writer, and leaves this one as it is.

    Attributes:
        spark: The session for jobs; operators that are only copied need none.
        source: The savepoint that the new one is based on.
        operators: The operators that it will have.
        parallelism: The number of subtasks of new operators.
        max_parallelism: The number of key groups of new operators.

    Example:
        >>> savepoint = Savepoint.load(spark, "s3://jobs/savepoint-1a2b")
        >>> savepoint.remove_operator("sink").rename_operator("sum", "totals").write("s3://jobs/new")
    """

    spark: SparkSession | None
    source: Savepoint | None
    operators: tuple[PlannedOperator, ...]
    parallelism: int
    max_parallelism: int

    def __post_init__(self) -> None:
        """Raises ``ValueError`` if the parallelism is none that Flink allows."""
        expect_parallelism(self.parallelism, self.max_parallelism)

    @classmethod
    def of(cls, source: Savepoint, spark: SparkSession | None) -> Self:
        """A savepoint that is based on another one.

        New operators get the greatest parallelism and max parallelism that its operators have.
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
        )

    def writer(self) -> Self:
        """The writer itself, as that of a savepoint is what writes a copy of it."""
        return self

    def with_operator(
        self,
        uid: str,
        *transformations: StateTransformation,
        parallelism: int | None = None,
        max_parallelism: int | None = None,
    ) -> Self:
        """Adds an operator, or overwrites all state of the one that there is.

        Args:
            uid: Its uid, or the hash of one.
            transformations: What makes its state: one of keyed state at most, and any of operator
                state.
            parallelism: The number of subtasks; by default that of the operator, if there is one.
            max_parallelism: The number of key groups; likewise.

        Raises:
            ValueError: There is no transformation, or there are two of keyed state or of one name;
                or not 1 <= parallelism <= max parallelism <= 32768.
            OperatorExistsError: It was added or overwritten before, or its states were changed.

        Example:
            >>> writer.with_operator("totals", transformation).write("s3://jobs/new")
        """
        operator_id, known = identity(uid)
        found = next((one for one in self.operators if one.operator_id == operator_id), None)
        if found is not None and found.is_made_anew:
            raise OperatorExistsError(
                f"operator {found.name} is made already: give all of its state to one with_operator"
            )
        if found is not None and found.change is not None and not found.change.is_same:
            raise OperatorExistsError(
                f"operator {found.name} was changed before, which would be lost: give all of its"
                " state to with_operator, or change states alone"
            )
        if max_parallelism is None:
            max_parallelism = found.max_parallelism if found else self.max_parallelism
        if parallelism is None:
            parallelism = min(found.parallelism if found else self.parallelism, max_parallelism)
        added = PlannedOperator(
            operator_id,
            known or (found.uid if found else None),
            parallelism,
            max_parallelism,
            found.source if found else None,
            combined(transformations),
        )
        if found is not None:
            return self._with(found, added)
        return replace(self, operators=(*self.operators, added))

    def remove_operator(self, uid: str) -> Self:
        """Leaves an operator and its state out.

        Flink restores such a savepoint to a job that has the operator, which then begins empty.

        Args:
            uid: Its uid, or the hash of one.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists those there are.

        Example:
            >>> savepoint.remove_operator("sink").write("s3://jobs/new")
        """
        return self._with(self.operator(uid))

    def rename_operator(self, uid: str, new_uid: str) -> Self:
        """Gives the state of an operator to another uid.

        Args:
            uid: The present uid, or the hash of one.
            new_uid: The uid that the operator has in the new job, or the hash of one.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists those there are.
            OperatorExistsError: Another operator has the new uid.

        Example:
            >>> savepoint.rename_operator("sum", "totals").write("s3://jobs/new")
        """
        planned = self.operator(uid)
        operator_id, known = identity(new_uid)
        if operator_id != planned.operator_id:
            self._expect_unused(operator_id, new_uid)
        return self._with(planned, replace(planned, operator_id=operator_id, uid=known))

    def operator(self, uid: str) -> PlannedOperator:
        """The operator of this uid, or this hash of a uid, as it is planned.

        Raises:
            OperatorNotFoundError: There is none; the message lists those there are.
        """
        for planned in self.operators:
            if planned.is_called(uid):
                return planned
        path = "the new savepoint" if self.source is None else self.source.path
        raise OperatorNotFoundError.among(path, uid, (one.name for one in self.operators))

    def with_state(
        self, uid: str, name: str, data: DataFrame, *, ttl_times: Literal["now"] | None = None
    ) -> Self:
        """Replaces one state of an operator; its other states pass through as the bytes they are.

        Args:
            uid: The operator's uid, or the hash of one.
            name: The state: keyed, list, union or broadcast.
            data: Rows as the state's table has them. Keyed state: columns ``key``, ``namespace``
                if it has one, and one of the state's name; a column ``key_group`` gives the key
                groups of keys whose hash code cannot be computed. List and union state: column
                ``value``. Broadcast state: columns ``key`` and ``value``.
            ttl_times: ``now`` makes the time of writing that of the last access of values with
                TTL. By default the column has the times, as it is read ``with_times=True``.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists those there are.
            StateNotFoundError: It has no such state; the message lists those there are.
            ColumnNotFoundError: A column is missing.
            ColumnTypeError: A column has another type than the state.
            ValueError: The column lacks the times of a state with TTL.

        Example:
            >>> totals = savepoint.read_keyed_state("summarize", columns=["key", "total"])
            >>> corrected = totals.withColumn("total", abs("total"))
            >>> savepoint.with_state("summarize", "total", corrected).write("s3://jobs/corrected")
        """
        return self.changed(uid, lambda operator: operator.with_rows(name, data, ttl_times))

    def remove_state(self, uid: str, name: str) -> Self:
        """Leaves one state of an operator out; its other states pass through.

        Args:
            uid: The operator's uid, or the hash of one.
            name: The state; timers of a service are a state of each time domain.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists those there are.
            StateNotFoundError: It has no such state; the message lists those there are.

        Example:
            >>> savepoint.remove_state("summarize", "count").write("s3://jobs/new")
        """
        return self.changed(uid, lambda operator: operator.without(name))

    def rescale(
        self,
        *,
        max_parallelism: int | None = None,
        parallelism: int | None = None,
        hash_codes: Mapping[str, HashKeys | str] | None = None,
    ) -> Self:
        """Spreads the state of all operators over other key groups and subtasks.

        Keys are hashed anew if max parallelism changes; values pass through as the bytes that
        they are. Lists are spread over the new subtasks; union and broadcast state is as before.
        Local key groups are assigned in order and evenly; a subtask that gets several instances of
        a key has them in one list.

        Args:
            max_parallelism: The new number of key groups; as before by default.
            parallelism: The new number of subtasks; as before by default.
            hash_codes: Operator -> how its keys are hashed, for classes that have a ``hashCode``
                of their own: the text of its shape, such as ``Objects.hash(id, name)``, or what
                gives the Java hash codes, as i32, of an Arrow array of keys. Where nothing is
                given, the shape is inferred from the key groups that the keys lie in.

        Raises:
            OperatorNotFoundError: ``hash_codes`` names no operator of the savepoint.
            ValueError: They are not 1 <= parallelism <= max parallelism <= 32768; or a text of
                ``hash_codes`` is that of no shape.

        ``write`` raises ``UnstableHashError`` if the hash code of keys can be neither computed nor
        inferred, or does not explain the key group of every key that there is, and
        ``RescaleError`` if an operator has state that only Flink can spread anew.

        Example:
            >>> savepoint.rescale(max_parallelism=1024).write("s3://jobs/wider")
        """
        functions = {self.operator(uid).operator_id: one for uid, one in (hash_codes or {}).items()}
        for shape in functions.values():
            if isinstance(shape, str):
                HashShape.parse(shape)
        operators = tuple(
            planned.rescaled(max_parallelism, parallelism, functions.get(planned.operator_id))
            for planned in self.operators
        )
        return replace(
            self,
            operators=operators,
            parallelism=parallelism or min(self.parallelism, max_parallelism or MAX_PARALLELISM),
            max_parallelism=max_parallelism or self.max_parallelism,
        )

    @property
    def needs_session(self) -> bool:
        """Whether some of its state is made by Spark, and not just copied."""
        return any(planned.transformation is not None for planned in self.operators)

    def with_session(self, spark: SparkSession) -> Self:
        """The same savepoint, made by this session."""
        return replace(self, spark=spark)

    def plan(
        self, path: str, mode: WriteMode | str = WriteMode.ERROR, *, check: bool = False
    ) -> PlannedSavepoint:
        """What ``write`` would write; writes nothing.

        Args:
            path: As for ``write``.
            mode: As for ``write``.
            check: Reads all keyed state that passes through, without Spark, so that what
                ``write`` would refuse of it is refused now. It takes as long as reading it.

        Raises:
            SavepointError: As ``write`` does.
        """
        write = SavepointWrite(self.spark, self.source, self.operators)
        return write.plan(path, mode, check=check)

    def write(
        self,
        path: str,
        mode: WriteMode | str = WriteMode.ERROR,
        on_progress: Progress = no_progress,
    ) -> WrittenSavepoint:
        """Writes the savepoint.

        ``_metadata`` comes last: if anything fails, no savepoint is there, or the one that was.

        Args:
            path: A directory that is empty, or not there yet; a local path, or a URI of a file
                system that pyarrow knows.
            mode: ``overwrite`` if a savepoint that lies there is to be replaced, else ``error``.
            on_progress: Is told the bytes of each step of copying, from several threads.

        Raises:
            SavepointExistsError: A savepoint lies there, and it is not to be replaced.
            NotASavepointError: Something lies there that is no savepoint.
            StateFileNotFoundError: A file of an operator that is to be copied is gone.
            EmptySavepointError: There are no operators.
            ValueError: State is to be made, and there is no session for it.
            SavepointError: What a transformation or the file system finds wrong.

        Example:
            >>> savepoint.remove_operator("sink").write("s3://jobs/new", mode="overwrite")
        """
        write = SavepointWrite(self.spark, self.source, self.operators)
        return write.run(path, mode, on_progress)

    def _expect_unused(self, operator_id: OperatorId, uid: str) -> None:
        if any(planned.operator_id == operator_id for planned in self.operators):
            raise OperatorExistsError(
                f"there is an operator {uid!r} already; remove it first, or choose another uid"
            )

    def _with(self, planned: PlannedOperator, *others: PlannedOperator) -> Self:
        """The writer with other operators, or none, in the place of one."""
        parts = (others if one is planned else (one,) for one in self.operators)
        return replace(self, operators=tuple(chain.from_iterable(parts)))

    def changed(self, uid: str, change: Callable[[ChangedOperator], ChangedOperator]) -> Self:
        """The writer with an operator changed, perhaps once more."""
        planned = self.operator(uid)
        return self._with(planned, planned.changed(change))
