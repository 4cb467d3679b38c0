"""Changes of a savepoint for another major release of Flink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from state_processor.savepoint.privacy_changes import PrivacyChanges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from savepoint_database.types import ClassToDescribe
    from savepoint_extensions.upgrade.flink_releases import FlinkRelease
    from savepoint_extensions.upgrade.from_scala import ScalaTarget
    from state_processor.savepoint.writer import SavepointWriter


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
            >>> for unknown in savepoint.classes_to_describe():
            ...     print(unknown.class_name, unknown.values)
            shop.Parcel {'crates/crate': 30}
        """
        from savepoint_extensions.upgrade.migrated_writer import classes_to_describe  # noqa: PLC0415  # loads no extension before it is used

        return classes_to_describe(self.writer(), on_progress)

    def migrate(
        self,
        target: FlinkRelease = "2.2",
        *,
        rename_classes: Mapping[str, str] | None = None,
        scala: ScalaTarget | None = None,
        sources: Literal["new", "keep"] = "new",
        without_topics: Iterable[str] = (),
        allow_empty: bool = False,
        to_pojo: Iterable[str] = (),
        collections: bool = False,
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
            sources: ``new`` first makes state of old connectors that of new ones, as ``renew_connectors``
                does; ``keep`` leaves it, so that it is refused unless it is removed.
            without_topics: As for ``renew_connectors``.
            allow_empty: As for ``renew_connectors``.
            to_pojo: Described classes that Kryo wrote, and that the job makes POJOs. The release then stays,
                whichever it is; ``target`` and the other arguments don't matter.
            collections: Likewise for lists, maps and sets of Kryo, which get Flink's serializers; those
                that Kryo can't read back (``List.of``) become ``ArrayList`` and the like.

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
        from savepoint_extensions.upgrade.migrated_writer import migrated  # noqa: PLC0415  # loads no extension before it is used

        writer = self.writer()
        if (pojos := frozenset(to_pojo)) or collections:
            from savepoint_extensions.upgrade.own_serializers import with_own_serializers  # noqa: PLC0415  # loads no extension before it is used

            renamed = with_own_serializers(writer, pojos, collections=collections)
            for old, new in (rename_classes or {}).items():
                renamed = renamed.rename_class(old, new)
            return renamed
        if sources == "new" and writer.source is not None:
            writer = writer.renew_connectors(without_topics=without_topics, allow_empty=allow_empty)
        return migrated(writer, target, rename_classes or {}, scala)

    def change_avro(self, uid: str, state: str, schema: str) -> SavepointWriter:
        """Gives values of Avro another schema, by Avro's schema resolution.

        Args:
            uid: The operator's uid, or the hash of one.
            state: A state whose values, elements or map values are ``GenericRecord`` or a generated class;
                also a list of the operator.
            schema: The schema of the new job, as JSON.

        Raises:
            OperatorNotFoundError, StateNotFoundError: As ``rename_state``.
            SchemaChangeError: The values are not Avro's, or the schema does not read them. ``write`` raises
                it for a value that the schema can't have: bytes that are no text.

        Example:
            >>> savepoint.change_avro("visits", "visit", new_schema).write("s3://jobs/visits-2")
        """
        from savepoint_extensions.upgrade.avro_change import with_avro_schema  # noqa: PLC0415  # Spark is slow
        from savepoint_spark.changing import StageRule  # noqa: PLC0415  # Spark is slow

        writer = self.writer().ready_for(StageRule.SEALED, uid)
        return writer.changed(uid, lambda operator: with_avro_schema(operator, state, schema))

    def renew_connectors(
        self,
        operator: str | None = None,
        *,
        without_topics: Iterable[str] = (),
        allow_empty: bool = False,
        stream_arns: Iterable[str] = (),
        directory: str = "",
        positions: Mapping[str, str] | None = None,
    ) -> SavepointWriter:
        """Writes state of sources and sinks that Flink 2 lacks for those that replace them.

        A ``KafkaSource`` with the uid of a ``FlinkKafkaConsumer`` continues at its positions. The committer
        of a ``KafkaSink`` with the uid of a ``FlinkKafkaProducer`` commits what that had flushed.
        A ``KinesisStreamsSource`` with the uid of a ``FlinkKinesisConsumer`` continues, too; that is not proven.
        A ``ConnectorWarning`` names what you must do yourself: abort transactions, or take another
        savepoint, if the job was stopped when it took this one.

        Args:
            operator: The only operator to change, by uid or hash.
            without_topics: Topics, or streams of Kinesis, that the new source no longer reads.
            allow_empty: Whether a source may have no position: it begins where its configuration says, Kafka's at the beginning.
            stream_arns: ARNs of streams of Kinesis, which the new source needs.
            directory: The directory that an old source of files watches, as its job names it.
            positions: Split -> its position as JSON, instead of that of the old source.

        Raises:
            OperatorNotFoundError: There is no such operator.
            StateNotFoundError: The operator has no state of an old connector.
            MigrationError: A source has no position, or one that the new source can't have; or the uid of
                a sink is not known.

        Example:
            >>> savepoint.renew_connectors("orders").write("s3://jobs/with-kafka-source")
        """
        from savepoint_extensions.connectors.renewal.renewals import with_new_connectors  # noqa: PLC0415  # as above
        from savepoint_extensions.connectors.renewal.renewed_operator import RenewalOptions  # noqa: PLC0415  # as above

        writer = self.writer()
        options = RenewalOptions(
            frozenset(without_topics),
            allow_empty,
            tuple(stream_arns),
            directory,
            positions=positions or {},
        )
        return writer if writer.source is None else with_new_connectors(writer, options, operator)
