"""Changes of a savepoint that will be written: of its operators, states and key groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

from savepoint_database.types.class_library import ClassToDescribe
from savepoint_formats.errors import MigrationError, OperatorExistsError
from savepoint_formats.hashing.hash_shapes import HashShape
from savepoint_formats.key_groups.ranges import MAX_PARALLELISM
from savepoint_formats.metadata.flink_versions import is_of_flink_2
from savepoint_formats.snapshots.from_scala import ScalaTarget
from savepoint_spark import changing
from savepoint_spark.savepoint.planned_operator import PlannedOperator, combined, id_and_uid
from savepoint_spark.savepoint.privacy_changes import PrivacyChanges
from savepoint_spark.sql_history.sql_history import SqlHistory
from savepoint_spark.writing.stored_types import expect_key_types

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_spark.savepoint.writer import SavepointWriter
    from savepoint_spark.writing.write_context import StateTransformation

SnapshotFormat = Literal["canonical"]
"""The formats to which ``convert`` can bring a snapshot."""

FlinkRelease = Literal["2.0", "2.1", "2.2", "2.3"]
"""The releases for which ``migrate`` writes."""


class SavepointChanges(PrivacyChanges):
    """The changes of a savepoint; each returns a writer, and nothing happens before ``write``.

    Savepoints and writers have these methods. A later change sees the results of earlier ones.
    """

    __slots__ = ()

    def with_operator(
        self,
        uid: str,
        *transformations: StateTransformation,
        parallelism: int | None = None,
        max_parallelism: int | None = None,
    ) -> SavepointWriter:
        """Adds an operator, or overwrites all state of an existing one.

        Args:
            uid: Its uid, or the hash of one.
            transformations: Make its state: at most one of keyed state, and any number of operator
                state.
            parallelism: The number of subtasks; by default that of the existing operator, if any.
            max_parallelism: The number of key groups; likewise. An operator of SQL that has no key
                has one.

        Raises:
            ValueError: There is no transformation, or there are two of keyed state or of one name;
                or not 1 <= parallelism <= max parallelism <= 32768.
            OperatorExistsError: It was added or overwritten before, or its states were changed.

        Example:
            >>> writer.with_operator("totals", transformation).write("s3://jobs/new")
        """
        writer = self.writer()
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
        transformation = combined(transformations)
        alike = before or writer
        if isinstance(transformation, SqlHistory) and max_parallelism is None:
            max_parallelism = transformation.max_parallelism
        key_groups = alike.max_parallelism if max_parallelism is None else max_parallelism
        subtasks = min(alike.parallelism, key_groups) if parallelism is None else parallelism
        if before is None:
            made = PlannedOperator(
                operator_id, known, subtasks, key_groups, transformation=transformation
            )
            return replace(writer, operators=(*writer.operators, made))
        made = replace(
            before,
            uid=known or before.uid,
            parallelism=subtasks,
            max_parallelism=key_groups,
            transformation=transformation,
        )
        return writer.replaced(before, made)

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Leaves an operator and its state out.

        Flink restores such a savepoint to a job with the operator, which then begins empty.

        Args:
            uid: Its uid, or the hash of one.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.

        Example:
            >>> savepoint.remove_operator("sink").write("s3://jobs/new")
        """
        writer = self.writer()
        return writer.replaced(writer.operator(uid))

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

    def with_state(
        self, uid: str, name: str, data: DataFrame, *, ttl_times: Literal["now"] | None = None
    ) -> SavepointWriter:
        """Replaces one state of an operator; its other states pass through as bytes.

        Args:
            uid: The operator's uid, or the hash of one.
            name: The state: keyed, list, union or broadcast.
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
            ColumnNotFoundError: A column is missing.
            ColumnTypeError: A column has another type than the state.
            ValueError: The column lacks the times of a state with TTL.

        Example:
            >>> totals = savepoint.read_keyed_state("summarize", columns=["key", "total"])
            >>> corrected = totals.withColumn("total", abs("total"))
            >>> savepoint.with_state("summarize", "total", corrected).write("s3://jobs/corrected")
        """
        return self.writer().changed(
            uid, lambda operator: operator.with_rows(name, data, ttl_times)
        )

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

    def convert(self, to: SnapshotFormat = "canonical") -> SavepointWriter:
        """Brings all keyed state into another format, and changes nothing else.

        Flink restores the canonical format with the heap and RocksDB backends, whichever of them,
        or ForSt, wrote the snapshot. So the state backend of a job can change. The new savepoint
        needs no files of the old one, of its changelog or of other checkpoints.

        Values, timers and windows pass through as bytes, into the same key groups and subtasks.
        Operators that are canonical already, and all other state, are copied. ``write`` raises
        ``ConversionError`` if an operator has raw keyed state that only it can read.

        Args:
            to: The format; there is only ``canonical``.

        Raises:
            ValueError: There is no such format.
            SavepointError: The raw keyed state of an operator can't be read.

        Example:
            >>> savepoint.convert(to="canonical").write("s3://jobs/canonical")
        """
        if to != "canonical":
            raise ValueError(f"there is no format {to!r} to convert to, only 'canonical'")
        writer = self.writer()
        operators = tuple(planned.converted() for planned in writer.operators)
        return replace(writer, operators=operators, is_canonical=True)

    def classes_to_describe(
        self, on_progress: Callable[[int], None] | None = None
    ) -> tuple[ClassToDescribe, ...]:
        """The user's classes in values that are not described.

        These are classes of Kryo's objects, and subclasses of POJOs that no serializer describes.
        In a savepoint of Flink 1.x they are also POJOs with collections whose types ``migrate``
        can't tell. All objects of Kryo and all values of POJOs are read. Nothing after an unknown
        class can be read: once you describe it, there may be others. Operators that are removed or
        made anew are not read.

        Args:
            on_progress: Gets the number of newly read values.

        Returns:
            Each class once, sorted by name, with its places. Describe their fields, and open the
            savepoint with them among ``kryo_classes``.

        Raises:
            SavepointError: A file can't be read.

        Example:
            >>> [(unknown.class_name, unknown.values) for unknown in savepoint.classes_to_describe()]
            [('shop.Parcel', {'crates/crate': 30})]
        """
        changes = (planned.change for planned in self.writer().operators)
        sources = [change.operator for change in changes if change is not None]
        places: dict[str, dict[str, int]] = {}
        superclasses: dict[str, str] = {}
        collections: dict[str, dict[str, None]] = {}
        is_of_flink_1 = not is_of_flink_2(self.writer().metadata_version)
        for operator in sources:
            around = changing.collections_to_describe(operator) if is_of_flink_1 else {}
            for name, fields in around.items():
                collections.setdefault(name, {}).update(fields)
            described = changing.classes_to_describe(operator, on_progress)
            for (subclass, state), count in described.items():
                name, place = subclass.class_name, f"{operator.name}/{state}"
                places.setdefault(name, {})[place] = places.get(name, {}).get(place, 0) + count
                superclasses[name] = superclasses.get(name) or subclass.superclass
        return tuple(
            ClassToDescribe(
                name,
                places.get(name, {}),
                superclasses.get(name, ""),
                tuple(collections.get(name, ())),
            )
            for name in sorted({*places, *collections})
        )

    def migrate(
        self,
        target: FlinkRelease = "2.2",
        *,
        rename_classes: Mapping[str, str] | None = None,
        scala: ScalaTarget | None = None,
    ) -> SavepointWriter:
        """Makes a savepoint of Flink 1.x one that Flink 2.x restores with the same classes.

        Flink 2.x has another Kryo, which reads old objects without an error but with wrong values.
        It also has serializers of its own for the ``List``, ``Map`` and ``Set`` fields of POJOs.
        Both are written anew, in keys, values, timers and operator state. Everything else passes
        through as bytes. Operators without such state are copied.

        The first element of a collection in the savepoint tells the type of all, unless
        ``kryo_classes`` described the class around it when you opened the savepoint. Your classes
        that Kryo wrote must be described there.

        ``write`` raises ``UndecodableError`` for an unreadable object, and ``UnencodableError`` for
        one that Kryo 5 or Flink's serializers can't hold. ``plan(…, check=True)`` raises
        ``MigrationError`` then, which names all states and classes.

        Args:
            target: The release that will restore it: ``2.0`` to ``2.3``. The result is the same for
                all of them.
            rename_classes: Class -> its name in the job of Flink 2.x, as for ``rename_class``, in
                order. Descriptions of classes have the old names.
            scala: The API that gets state of Flink's API for Scala, which Flink 2 doesn't have:
                ``flinkx`` (flink-scala-api), or Java with case classes as POJOs (``pojo``) or rows
                (``row``). Names of fields for POJOs come from ``kryo_classes``. Without it, such
                state is refused.

        Raises:
            ValueError: There is no such release, or Flink 2.x wrote the savepoint.
            ClassNotNamedError, SchemaChangeError: As ``rename_class``.
            MigrationError: Some state can't be written for Flink 2.x, or the elements of its
                collections are unknown. The message names all such operators: describe their
                classes, or leave states out with ``remove_state`` first.

        Example:
            >>> old = Savepoint.load(spark, "s3://jobs/flink-1.20", kryo_classes=[order])
            >>> old.migrate("2.2").write("s3://jobs/flink-2.2")
        """
        if target not in get_args(FlinkRelease):
            releases = ", ".join(get_args(FlinkRelease))
            raise ValueError(f"no release {target!r} to migrate to, only {releases}")
        if scala is not None and scala not in get_args(ScalaTarget):
            targets = ", ".join(get_args(ScalaTarget))
            raise ValueError(f"no API {scala!r} for state of Scala, only {targets}")
        writer = self.writer()
        if is_of_flink_2(writer.metadata_version):
            raise ValueError("Flink 2.x has written this savepoint: there is nothing to migrate")
        expect_key_types(
            planned.source
            for planned in writer.operators
            if planned.source is not None
            and not planned.is_made_anew
            and planned.source.has_keyed_state
        )
        migrated, problems = [], []
        for planned in writer.operators:
            try:
                migrated.append(planned.migrated(scala))
            except MigrationError as error:
                where = ", ".join(error.places)
                problems += [
                    f"{where}: {problem}" if where else problem for problem in error.problems
                ]
        if problems:
            raise MigrationError(*problems)
        writer = replace(writer, operators=tuple(migrated), is_of_flink_2=True)
        for old, new in (rename_classes or {}).items():
            writer = writer.rename_class(old, new)
        return writer
