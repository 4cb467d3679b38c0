"""A savepoint for users: read without Spark, or with it, and written anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from savepoint_database.audit.audit_verbs import AuditVerbs
from savepoint_database.connectors.changed_sources import (
    SourceChanges,
    with_changed_sources,
    with_offsets,
)
from savepoint_database.connectors.sink_state import (
    SinkState,
    with_checkpoint,
    with_transactional_prefix,
    without_entries,
)
from savepoint_database.connectors.source_state import SourceState
from savepoint_database.privacy.found_values import FoundValues, find_in
from savepoint_database.privacy.suggestions import MaskSuggestions
from savepoint_database.snapshot.snapshot import opening_of
from savepoint_database.types.class_library import ClassLibrary
from savepoint_spark.session.session import expect_session, tasks_at_once
from state_processor.savepoint.changes import SavepointChanges
from state_processor.savepoint.writer import SavepointWriter

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from savepoint_database.snapshot.key_types import GivenType, StateTypes
    from savepoint_database.types.class_library import ClassToDescribe, DescribedClasses
    from savepoint_formats.layout import KryoClass
    from savepoint_formats.locations.location import PathText
    from savepoint_formats.metadata import OperatorState
    from state_processor.savepoint.spark_savepoint import SparkSavepoint


@dataclass(frozen=True, repr=False)
class Savepoint(AuditVerbs, SavepointChanges):
    """A savepoint or checkpoint; holds no data, and needs no Spark.

    ``open`` and ``load`` open one. ``describe``, ``tables``, ``schema``, ``files`` and ``scan``
    read it; the methods of ``AuditVerbs`` judge it. All methods of ``SavepointChanges`` return a
    writer of another savepoint.
    """

    @classmethod
    def load(  # noqa: PLR0913  # as ``open``
        cls,
        spark: SparkSession,
        path: PathText | None = None,
        *,
        uids: Iterable[str] = (),
        kryo_classes: DescribedClasses = (),
        allow_paths: Iterable[PathText] = (),
        strict_paths: bool = False,
        key_types: Mapping[str, GivenType] | None = None,
        plan: PathText | None = None,
        types: StateTypes | None = None,
    ) -> SparkSavepoint:
        """Opens a savepoint whose tables are read as DataFrames.

        Args:
            spark: The session.
            path: Its directory or ``_metadata`` file, as text or ``Path``, or a URI such as
                ``s3://jobs/savepoint-1a2b``. For a directory of checkpoints or savepoints, its
                newest complete one.
            uids: Uids of operators. Flink 1.x stores only their hashes; an operator is called by a
                uid given here. The savepoint needn't have all of them.
            kryo_classes: Classes of the job that Kryo wrote, because no savepoint knows their
                fields; see ``kryo_class``. Or a file of YAML or JSON that describes them.
            allow_paths: Local directories and URIs. Files of the savepoint on another store (scheme
                and host, or bucket) are only read below these.
            strict_paths: Reads nothing outside the directories of the savepoint and its checkpoint,
                not even on its own store.
            key_types: Uid or hash of an operator -> the type of its keys, as ``Types.STRING()`` or
                as the text ``"STRING"``. Used if no file of the operator has it.
            plan: File with the compiled plan of a SQL job, as ``COMPILE PLAN`` writes it. Operators get
                their uids, and rows the names of the query's columns.
            types: Types of states of a PyFlink job, see ``open``.

        Raises:
            SavepointError: As ``open`` does.
            TypeError: The session or the path is missing.

        Example:
            >>> savepoint = Savepoint.load(spark, "sample_savepoints/currency-2.2.1-rocksdb-native")
            >>> savepoint.read_keyed_state("summarize").show()
        """
        opening = opening_of(locals())
        from state_processor.savepoint.spark_savepoint import SparkSavepoint  # noqa: PLC0415  # Spark is slow

        expect_session(spark, "load(spark, path)")
        if path is None:
            raise TypeError("Savepoint.load(spark, path) has no path: name the savepoint")
        return SparkSavepoint.of(spark, Savepoint.open(path, **opening))

    @staticmethod
    def create(
        spark: SparkSession, *, max_parallelism: int = 128, parallelism: int | None = None
    ) -> SavepointWriter:
        """Begins a savepoint that is based on no other.

        Args:
            spark: The session that makes its state.
            max_parallelism: The number of key groups of the job. A job that sets none takes the
                savepoint's.
            parallelism: The number of files of keyed state, which may differ from the job's
                parallelism; by default as many as the session runs tasks at once.

        Raises:
            TypeError: The session is missing.
            ValueError: Not 1 <= parallelism <= max parallelism <= 32768.

        Example:
            >>> writer = Savepoint.create(spark).with_operator("summarize", transformation)
            >>> writer.write("s3://jobs/bootstrapped")
        """
        expect_session(spark, "create(spark)")
        if parallelism is None:
            parallelism = min(tasks_at_once(spark), max_parallelism)
        return SavepointWriter(spark, None, (), parallelism, max_parallelism)

    def set_kafka_offsets(
        self, offsets: Iterable[Mapping[str, Any]], *, operator: str | None = None
    ) -> SavepointWriter:
        """Returns a writer of a savepoint whose Kafka sources continue at other offsets.

        Args:
            offsets: For each partition to move a dict of ``topic``, ``partition`` and ``offset``:
                that of the next record, or ``earliest``, ``latest`` or ``committed``; and
                ``stopping_offset``, if the source has an end. Other partitions stay.
            operator: The uid or hash of the source; by default all that read the partition.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            StateNotFoundError: There is no Kafka source with partitions.
            RefusedError: No source reads a partition.
            ValueError: An offset is incomplete or invalid.

        Example:
            >>> moved = savepoint.set_kafka_offsets([{"topic": "t", "partition": 0, "offset": 42}])
            >>> moved.write("s3://jobs/earlier")
        """
        return self._with_records(with_offsets(self, offsets, operator)).writer()

    def find(self, values: Sequence[str], *, contains: bool = False) -> FoundValues:
        """Looks for texts in all state: keys, values, inner fields, operator state and files.

        All state is read and decoded. Bytes that can't be decoded, and whole files, are searched
        for the bytes of a text in UTF-8, UTF-16 and the forms of Flink and Kryo.

        Args:
            values: Texts; a number, a time or bytes as they are shown.
            contains: Whether a text that only contains a value counts.

        Returns:
            The places, with the keys of entries, and a digest of each file. State that could not be
            read is among the problems.

        Raises:
            ValueError: A value is empty, or there is none.

        Example:
            >>> savepoint.find(["ada@example.com"]).keys()
            {'summarize': ['42']}
        """
        return find_in(self, values, contains=contains)

    def mask_suggestions(self, limit: int = 100_000) -> MaskSuggestions:
        """Drafts rules for ``masked``, by names of fields and by what their texts look like.

        Args:
            limit: The number of entries to look at in each state.

        Raises:
            SavepointError: A file can't be read.

        Example:
            >>> Path("rules.yaml").write_text(savepoint.mask_suggestions().to_yaml())
        """
        return MaskSuggestions.of(self, limit)

    def sinks(self) -> SinkState:
        """Pending commits of sinks, and the states of their writers.

        A restored job repeats these commits before it does anything else.

        Raises:
            SavepointError: A file of a sink is gone or damaged.

        Example:
            >>> for entry in savepoint.sinks().entries:
            ...     print(entry.operator, entry.connector, entry.checkpoint, entry.facts)
        """
        return SinkState.of(self)

    def change_sinks(
        self,
        *,
        drop: str | None = None,
        keep: str | None = None,
        checkpoint: int | None = None,
        transactional_prefix: str | None = None,
    ) -> SavepointWriter:
        """A savepoint whose sinks have other pending commits or other writers' states.

        The changes are made in the order of the arguments. The data of a dropped commit is lost,
        unless you commit it by hand: ``sinks().chosen(condition)`` shows it.

        Args:
            drop: Drops the entries of ``sinks()`` that fulfil this condition in SQL about its
                columns, such as ``"checkpoint < 17 AND connector = 'kafka'"``; ``"all"`` for all.
            keep: Drops all entries that do not fulfil this condition.
            checkpoint: New checkpoint id of the newest pending commit; ids of older ones keep
                their distance. A committer commits at once whatever is not newer than the savepoint.
            transactional_prefix: New prefix of the transactional ids of Kafka writers.

        Raises:
            ConditionError: A condition can't be understood.
            ValueError: ``drop`` and ``keep`` are both given.
            StateNotFoundError: The savepoint has no state of a Kafka writer.
            RefusedError: A checkpoint id would be negative, or a Kafka writer remembers
                transactions with its old prefix.
            SavepointError: A file of a sink is gone or damaged.

        Example:
            >>> savepoint.change_sinks(drop="checkpoint < 17").write("s3://jobs/mended")
        """
        changed = self
        if drop is not None or keep is not None:
            numbers = {entry.number for entry in self.sinks().dropped(drop, keep)}
            changed = self._with_records(without_entries(self, numbers))
        if checkpoint is not None:
            changed = changed._with_records(with_checkpoint(changed, checkpoint))
        if transactional_prefix is not None:
            records = with_transactional_prefix(changed, transactional_prefix)
            changed = changed._with_records(records)
        return changed.writer()

    def sources(self) -> SourceState:
        """Positions of sources: splits of readers, and the state of their coordinators.

        Raises:
            SavepointError: A file of a source is gone or damaged.

        Example:
            >>> for entry in savepoint.sources().entries:
            ...     print(entry.operator, entry.split, entry.position)
        """
        return SourceState.of(self)

    def change_sources(
        self,
        positions: Mapping[str, str] | None = None,
        *,
        drop_tables: Sequence[str] = (),
        add_tables: Sequence[str] = (),
        release_finished: bool = False,
        stream_from: str | None = None,
        operator: str | None = None,
    ) -> SavepointWriter:
        """A savepoint whose sources continue elsewhere, or with other tables.

        The changes are made in the order of the arguments. All but the first are for sources with
        change data capture.

        Args:
            positions: Id of a split -> its position in JSON, as ``sources()`` shows it.
            drop_tables: Tables that the source forgets.
            add_tables: Tables whose changes the source reads from now on, without a snapshot.
            release_finished: The source remembers one finished split per table instead of all.
            stream_from: The source reads changes from this position on, instead of snapshots.
            operator: The source, by uid or hash; by default the source that has the split or table.

        Raises:
            OperatorNotFoundError: There is no such operator.
            StateNotFoundError: No source has such a split, such a table, or change data capture.
            RefusedError: The connector could not continue from the changed state, or the changes
                fit several sources.
            ValueError: A position is not a number.
            SavepointError: A file of a source is gone or damaged.

        Example:
            >>> position = '{"file": "mysql-bin.000012", "pos": "4"}'
            >>> savepoint.change_sources({"binlog-split": position}).write("s3://jobs/moved")
        """
        changes = SourceChanges(
            positions or {}, tuple(drop_tables), tuple(add_tables), release_finished, stream_from
        )
        return self._with_records(with_changed_sources(self, changes, operator)).writer()

    def _with_records(self, records: Iterable[OperatorState]) -> Self:
        """The savepoint with other records of its operators, in the order of these."""
        changed = tuple(records)
        operators = tuple(
            replace(operator, record=record)
            for operator, record in zip(self.operators(), changed, strict=True)
        )
        metadata = replace(self.metadata, operators=changed)
        return replace(self, metadata=metadata, _operators=operators)

    def with_classes_of(
        self,
        places: Iterable[str | os.PathLike[str]] = (),
        *,
        sources: Iterable[str | os.PathLike[str]] = (),
        on_progress: Callable[[int], None] | None = None,
    ) -> Self:
        """The savepoint, opened with descriptions of classes from class files or sources.

        All objects of Kryo are read, again and again while described classes reveal others behind
        them. Class files are read as bytes, sources are parsed; nothing is loaded or run.

        Args:
            places: Archives (``app.jar``), and directories of class files.
            sources: Directories with ``.java`` files somewhere below them, for classes that are in
                none of the places; they need the extra ``java``.
            on_progress: Gets the number of newly read values.

        Returns:
            The savepoint; ``kryo.classes`` has old and new descriptions, and
            ``classes_to_describe()`` the classes that no class file described.

        Raises:
            DescriptionError: One of the places is neither, or is damaged; or the extra is missing.
            FormatError: A class file is damaged.

        Example:
            >>> savepoint = Savepoint.open("s3://jobs/flink-1.20").with_classes_of(["app.jar"])
        """
        library, savepoint = ClassLibrary.of(places, sources), self
        while True:
            known = {described.class_name for described in savepoint.kryo.classes}
            unknown = {
                named.class_name: named for named in savepoint.classes_to_describe(on_progress)
            }
            described = library.described(unknown)
            more = [
                _taken_as(description, unknown.get(description.class_name))
                for description in described
                if description.class_name not in known
            ]
            if not more:
                return savepoint
            kryo = replace(savepoint.kryo, classes=(*savepoint.kryo.classes, *more))
            operators = tuple(replace(operator, kryo=kryo) for operator in savepoint.operators())
            savepoint = replace(savepoint, kryo=kryo, _operators=operators)

    def writer(self) -> SavepointWriter:
        """A writer of a copy of this savepoint."""
        return SavepointWriter.of(self, None)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Names methods that need a session; raises ``AttributeError``."""
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            if not name.startswith("_"):
                from state_processor.savepoint.spark_savepoint import SparkSavepoint  # noqa: PLC0415  # Spark is slow

                if hasattr(SparkSavepoint, name):
                    message += (
                        f": {name} needs Spark, so open with Savepoint.load(local_session(), path);"
                        " without Spark, scan(table) and sql(query) read"
                    )
            raise AttributeError(message, name=name, obj=self)


def _taken_as(described: KryoClass, named: ClassToDescribe | None) -> KryoClass:
    """A description, completed by the savepoint's facts about a POJO."""
    if named is None or not named.is_pojo:
        return described
    return replace(described, is_pojo=True, superclass=named.superclass or described.superclass)
