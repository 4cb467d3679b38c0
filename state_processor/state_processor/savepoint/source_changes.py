"""Sources that a savepoint gets from nothing: their positions come from another program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from state_processor.savepoint.migration_changes import MigrationChanges

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_formats.locations import PathText
    from state_processor.savepoint.writer import SavepointWriter


class SourceChanges(MigrationChanges):
    """Sources of a new job; see ``SavepointChanges``."""

    __slots__ = ()

    def with_kafka_source(
        self,
        uid: str,
        offsets: str | Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        version: int = 2,
        parallelism: int | None = None,
    ) -> SavepointWriter:
        """Adds a ``KafkaSource`` that goes on at offsets, and still discovers new partitions.

        Readers get the partitions, and the coordinator's state says that they have them: no record
        is read twice. An offset is that of the next record, as in Spark and in consumer groups.

        Args:
            uid: The source's uid, or the hash of one.
            offsets: Of each partition: ``{"orders": {"0": 23}}`` or its JSON, as Spark writes it; the
                text that ``kafka-consumer-groups --describe`` prints; or rows of ``topic``,
                ``partition`` and ``offset`` (a number, ``earliest``, ``latest`` or ``committed``),
                as ``csv.DictReader`` gives them.
            version: The version of the coordinator's state: 2 for connectors from 3.1.0 on, 1 for
                older ones, 3 for 5.0.0 and later.
            parallelism: The number of subtasks among which partitions are spread.

        Raises:
            OperatorExistsError: The operator was added or changed before.
            ValueError: An offset is missing, comes twice, or is no offset.

        Example:
            >>> checkpoint = SparkCheckpoint.load(spark, "s3://queries/orders")
            >>> writer.with_kafka_source("orders", checkpoint.offsets["0"])
        """
        from savepoint_extensions.connectors.kafka_positions import KafkaSourceState  # noqa: PLC0415  # loads no extension before it is used

        state = KafkaSourceState.of(offsets, version)
        return self.writer().with_operator(uid, state, parallelism=parallelism)

    def with_file_source(
        self, uid: str, files: Iterable[PathText], *, parallelism: int | None = None
    ) -> SavepointWriter:
        """Adds a ``FileSource`` that watches a directory and reads none of these files again.

        The source must be built with ``monitorContinuously``: one that reads a directory once lists its
        files only in a new job, and would read nothing.

        Args:
            uid: The source's uid, or the hash of one.
            files: Paths of files that were read to their end: URIs, with escapes, or paths of this
                machine; ``checkpoint.files("0")`` has those of a query of Spark. Their scheme and
                host must be those that the job names.
            parallelism: The number of subtasks.

        Raises:
            OperatorExistsError: The operator was added or changed before.
            ValueError: A path is empty.

        Example:
            >>> checkpoint = SparkCheckpoint.load(spark, "s3://queries/orders")
            >>> writer.with_file_source("orders", checkpoint.files("0"))
        """
        from savepoint_extensions.connectors.file_positions import FileSourceState  # noqa: PLC0415  # loads no extension before it is used

        return self.writer().with_operator(uid, FileSourceState.of(files), parallelism=parallelism)
