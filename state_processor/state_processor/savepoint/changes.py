"""Changes of a savepoint that will be written: of its operators, states and key groups."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, overload

from savepoint_database.snapshot import Operator
from savepoint_formats.errors import OperatorExistsError
from savepoint_formats.key_groups import MAX_PARALLELISM
from savepoint_formats.savepoint_warnings import LostStateWarning
from savepoint_spark.writing import OfKeyGroups, PlannedTransformation
from state_processor.savepoint.file_changes import FileChanges
from state_processor.savepoint.new_operator import combined, id_and_uid, operator_with
from state_processor.savepoint.transplants import transplanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame

    from savepoint_formats.hashing import HashKeys
    from savepoint_spark.writing import StateTransformation
    from state_processor.savepoint.writer import SavepointWriter

SnapshotFormat = Literal["canonical"]
"""The formats to which ``convert`` can bring a snapshot."""


class SavepointChanges(FileChanges):
    """The changes of a savepoint; each returns a writer, and nothing happens before ``write``.

    Savepoints and writers have these methods. A later change sees the results of earlier ones.
    """

    __slots__ = ()

    def with_operator(
        self,
        uid: str,
        *transformations: StateTransformation | Operator,
        parallelism: int | None = None,
        max_parallelism: int | None = None,
    ) -> SavepointWriter:
        """Adds an operator, or overwrites all state of an existing one.

        Args:
            uid: Its uid, or the hash of one.
            transformations: Make its state: at most one of keyed state, and any number of operator
                state. Or an operator of another savepoint, ``other.operator("x")``, which is taken as
                a whole, with the state of its coordinator.
            parallelism: The number of subtasks; by default that of the existing operator, if any.
            max_parallelism: The number of key groups; likewise. An operator of SQL that has no key
                has one.

        Warns:
            LostStateWarning: The operator is there, and has states that the transformations don't
                make; ``with_state`` keeps them.

        Raises:
            ValueError: There is no transformation, or there are two of keyed state or of one name;
                or not 1 <= parallelism <= max parallelism <= 32768.
            OperatorExistsError: It was added or overwritten before, or its states were changed.
            MigrationError: The other operator is of another major release of Flink.
            RefusedError: The other operator has keyed state in another number of key groups.

        Example:
            >>> writer.with_operator("totals", transformation).write("s3://jobs/new")
        """
        writer = self.writer()
        others = [made for made in transformations if isinstance(made, Operator)]
        if others:
            if len(transformations) > 1:
                raise ValueError(
                    f"operator {others[0].name} is taken as a whole, with nothing else"
                )
            return transplanted(writer, uid, others[0], parallelism, max_parallelism)
        operator_id, known = id_and_uid(uid)
        before = next(
            (operator for operator in writer.operators if operator.operator_id == operator_id), None
        )
        if before is not None and before.is_made_anew:
            raise OperatorExistsError(
                f"operator {before.name} is already made: give all of its state to one"
                " with_operator"
            )
        if before is not None and before.change is not None and not before.change.is_same:
            raise OperatorExistsError(
                f"operator {before.name} was changed before, which would be lost: give all of its"
                " state to with_operator, or only change states"
            )
        made_here = (made for made in transformations if not isinstance(made, Operator))
        transformation = combined(tuple(made_here))
        alike = before or writer
        if isinstance(transformation, OfKeyGroups) and max_parallelism is None:
            max_parallelism = transformation.key_groups
        key_groups = alike.max_parallelism if max_parallelism is None else max_parallelism
        subtasks = min(alike.parallelism, key_groups) if parallelism is None else parallelism
        uid_of_old, source = (None, None) if before is None else (before.uid, before.source)
        made = operator_with(
            operator_id, known or uid_of_old, subtasks, key_groups, source, transformation
        )
        if before is None:
            return replace(writer, operators=(*writer.operators, made))
        if isinstance(transformation, PlannedTransformation) and (lost := made.dropped_states()):
            message = (
                f"operator {made.name} is made anew without {', '.join(lost)}: give these states too,"
                " or replace single states by with_state (savepoint import --state), which keeps"
                " the others"
            )
            warnings.warn(message, LostStateWarning, stacklevel=2)
        return writer.replaced(before, made)

    def remove_operator(
        self, *uids: str, empty: bool = False, all_but: Iterable[str] = ()
    ) -> SavepointWriter:
        """Leaves operators and their state out.

        Flink restores such a savepoint to a job with the operators, which then begin empty.

        Args:
            uids: Their uids, or hashes of uids.
            empty: Also those without state: nothing is stored, or only empty lists and tables.
                One that has ended stays, because without it the job would run it again.
            all_but: Uids or hashes: all other operators go.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            SavepointError: With ``empty``, a file of keyed state can't be read.
            ValueError: Nothing says which operators go.

        Example:
            >>> savepoint.remove_operator("sink").write("s3://jobs/new")
        """
        from savepoint_extensions.lifecycle.removed_operators import removed_operators  # noqa: PLC0415  # loads no extension before it is used

        writer = self.writer()
        gone = removed_operators(writer, uids, empty=empty, all_but=tuple(all_but))
        return replace(writer, operators=tuple(it for it in writer.operators if it not in gone))

    def rename_operator(self, uid: str, new_uid: str) -> SavepointWriter:
        """Gives the state of an operator to another uid.

        Args:
            uid: The present uid, or the hash of one.
            new_uid: The operator's uid in the new job, or the hash of one.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            OperatorExistsError: Another operator has the new uid.

        Example:
            >>> savepoint.rename_operator("sum", "totals").write("s3://jobs/new")
        """
        writer = self.writer()
        planned = writer.operator(uid)
        operator_id, known = id_and_uid(new_uid)
        others = (operator for operator in writer.operators if operator is not planned)
        if any(other.operator_id == operator_id for other in others):
            raise OperatorExistsError(
                f"there is an operator {new_uid!r} already; remove it first, or choose another uid"
            )
        return writer.replaced(planned, replace(planned, operator_id=operator_id, uid=known))

    @overload
    def with_state(self, uid: str, name: StateTransformation) -> SavepointWriter: ...

    @overload
    def with_state(
        self, uid: str, name: str, data: DataFrame, *, ttl_times: Literal["now"] | None = None
    ) -> SavepointWriter: ...

    def with_state(
        self,
        uid: str,
        name: str | StateTransformation,
        data: DataFrame | None = None,
        *,
        ttl_times: Literal["now"] | None = None,
    ) -> SavepointWriter:
        """Replaces one state of an operator, or adds one; its other states pass through as bytes.

        With a name and rows, the state keeps its type. With a transformation it may get another kind
        or type, and an operator may get new states, also several at once, and timers.

        Args:
            uid: The operator's uid, or the hash of one.
            name: The state: keyed, list, union or broadcast. Or a transformation that makes states,
                as ``with_operator`` takes it; its keys have the type of the operator's keys.
            data: Rows as in the state's table. Keyed state: columns ``key``, ``namespace`` if it
                has one, and a column with the state's name (``state_key`` for a state ``key``); a
                column ``key_group`` gives the key groups of keys whose hash code cannot be
                computed. List and union state: column ``value``. Broadcast state: columns ``key``
                and ``value``.
            ttl_times: ``now`` makes the time of writing the last access of values with TTL. By
                default the column has the times, as read with ``with_times=True``.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            StateNotFoundError: It has no such state; the message lists its states.
            SchemaChangeError: The transformation makes a state that this writer has already given
                anew or renamed, or local state.
            KeyTypeError: Its keys are of another type.
            ColumnNotFoundError: A column is missing.
            ColumnTypeError: A column has another type than the state.
            ValueError: The column lacks the times of a state with TTL.

        Example:
            >>> totals = savepoint.read_keyed_state("summarize", columns=["key", "total"])
            >>> corrected = totals.withColumn("total", abs("total"))
            >>> savepoint.with_state("summarize", "total", corrected).write("s3://jobs/corrected")
        """
        from savepoint_spark.changing import StageRule  # noqa: PLC0415  # Spark is slow

        if isinstance(name, str):
            if data is None:
                raise TypeError(f"with_state({uid!r}, {name!r}) needs rows, or a transformation")
            rows, state = data, name
            return (
                self.writer()
                .ready_for(StageRule.VALUES, uid)
                .changed(uid, lambda operator: operator.with_rows(state, rows, ttl_times))
            )
        made = combined((name,))
        if data is not None or ttl_times is not None or not isinstance(made, PlannedTransformation):
            raise TypeError(
                "with_state takes the name of a state and its rows, or one transformation that makes"
                f" states, not {type(name).__name__}"
            )
        plan = made.plan()
        writer = self.writer().ready_for(StageRule.VALUES, uid)
        return writer.changed(uid, lambda operator: operator.with_plan(plan))

    def remove_state(self, uid: str, name: str) -> SavepointWriter:
        """Leaves one state of an operator out; its other states are copied.

        Args:
            uid: The operator's uid, or the hash of one.
            name: The state; timers of a service are a state of each time domain.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            StateNotFoundError: It has no such state; the message lists its states.

        Example:
            >>> savepoint.remove_state("summarize", "count").write("s3://jobs/new")
        """
        return self.writer().changed(uid, lambda operator: operator.without(name))

    def rescale(
        self,
        *,
        max_parallelism: int | None = None,
        parallelism: int | None = None,
        hash_codes: Mapping[str, HashKeys | str] | None = None,
    ) -> SavepointWriter:
        """Spreads the state of all operators over other key groups and subtasks.

        Keys are hashed anew if max parallelism changes; values are copied as bytes. Lists are
        spread over the new subtasks; union and broadcast state stays the same. Local key groups are
        assigned in order and evenly; a subtask that gets several instances of a key has them in one
        list.

        ``write`` raises ``UnstableHashError`` if hash codes of keys can be neither computed nor
        inferred, or do not explain the key group of every key. It raises ``RescaleError`` if an
        operator has state that only Flink can spread anew.

        Args:
            max_parallelism: The new number of key groups; unchanged by default.
            parallelism: The new number of subtasks; unchanged by default.
            hash_codes: Operator -> the hash of its keys, for classes with their own ``hashCode``:
                the text of a shape, such as ``Objects.hash(id, name)``, or a function that returns
                Java hash codes, as i32, for an Arrow array of keys. By default the shape is
                inferred from the key groups of the keys.

        Raises:
            OperatorNotFoundError: ``hash_codes`` names no operator of the savepoint.
            ValueError: Not 1 <= parallelism <= max parallelism <= 32768; or a text of
                ``hash_codes`` is not a shape.

        Example:
            >>> savepoint.rescale(max_parallelism=1024).write("s3://jobs/wider")
        """
        writer = self.writer()
        given = {
            writer.operator(uid).operator_id: codes for uid, codes in (hash_codes or {}).items()
        }
        for shape in given.values():
            if isinstance(shape, str):
                from savepoint_formats.hashing import HashShape  # noqa: PLC0415  # kernels

                HashShape.parse(shape)
        operators = tuple(
            planned.rescaled(max_parallelism, parallelism, given.get(planned.operator_id))
            for planned in writer.operators
        )
        most = max_parallelism or MAX_PARALLELISM
        return replace(
            writer,
            operators=operators,
            parallelism=parallelism or min(writer.parallelism, most),
            max_parallelism=max_parallelism or writer.max_parallelism,
        )

    def convert(
        self, to: SnapshotFormat = "canonical", *, drop_in_flight: bool = False
    ) -> SavepointWriter:
        """Brings all keyed state into another format, and changes nothing else.

        Flink restores the canonical format with the heap and RocksDB backends, whichever of them,
        or ForSt, wrote the snapshot. So the state backend of a job can change. The new savepoint
        needs no files of the old one, of its changelog or of other checkpoints.

        Values, timers and windows pass through as bytes, into the same key groups and subtasks.
        Operators that are canonical already, and all other state, are copied. ``write`` raises
        ``ConversionError`` if an operator has raw keyed state that only it can read.

        Args:
            to: The format; there is only ``canonical``.
            drop_in_flight: Leaves out the records in flight of an unaligned checkpoint, which the new
                job then never sees. Without them it can have another parallelism.

        Warns:
            LostStateWarning: Records in flight are dropped: how many, and how many bytes.

        Raises:
            ValueError: There is no such format.
            SchemaChangeError: An operator with records in flight to drop was changed before.
            SavepointError: The raw keyed state of an operator can't be read.

        Example:
            >>> savepoint.convert(to="canonical").write("s3://jobs/canonical")
        """
        if to != "canonical":
            raise ValueError(f"there is no format {to!r} to convert to, only 'canonical'")
        writer = self.writer()
        operators = writer.operators
        if drop_in_flight:
            from savepoint_extensions.lifecycle.in_flight import lost_in_flight, without_in_flight  # noqa: PLC0415  # loads no extension before it is used

            lost = lost_in_flight(it.source for it in operators if it.source is not None)
            operators = tuple(map(without_in_flight, operators))
            if lost:
                warnings.warn(lost, LostStateWarning, stacklevel=2)
        operators = tuple(planned.converted() for planned in operators)
        return replace(writer, operators=operators, is_canonical=True)
