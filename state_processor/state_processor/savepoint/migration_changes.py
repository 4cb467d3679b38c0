"""Changes of a savepoint for another major release of Flink."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

from savepoint_database.types.class_library import ClassToDescribe
from savepoint_formats.errors import MigrationError
from savepoint_formats.metadata.flink_versions import is_of_flink_2
from savepoint_formats.snapshots.from_scala import ScalaTarget
from savepoint_spark import changing
from savepoint_spark.writing.stored_types import expect_key_types
from state_processor.savepoint.privacy_changes import PrivacyChanges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from state_processor.savepoint.writer import SavepointWriter

FlinkRelease = Literal["2.0", "2.1", "2.2", "2.3"]
"""The releases for which ``migrate`` writes."""


class MigrationChanges(PrivacyChanges):
    """The migration to Flink 2.x, and what it needs to know; see ``SavepointChanges``."""

    __slots__ = ()

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
