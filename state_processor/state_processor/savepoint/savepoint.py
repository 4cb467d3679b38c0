"""A savepoint for users: read without Spark, or with it, and written anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from savepoint_database import types as described_types
from savepoint_database.snapshot import opening_of
from state_processor.savepoint.backup_verbs import BackupVerbs
from state_processor.savepoint.connector_verbs import ConnectorVerbs
from state_processor.savepoint.feed_verbs import FeedVerbs
from state_processor.savepoint.privacy_verbs import PrivacyVerbs
from state_processor.savepoint.size_verbs import SizeVerbs
from state_processor.savepoint.upgrade_verbs import UpgradeVerbs

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import SparkSession

    from savepoint_database.snapshot import GivenType, StateTypes
    from savepoint_database.types import ClassToDescribe, DescribedClasses
    from savepoint_formats.layout import KryoClass
    from savepoint_formats.locations import PathText
    from state_processor.savepoint.spark_savepoint import SparkSavepoint
    from state_processor.savepoint.writer import SavepointWriter


@dataclass(frozen=True, repr=False)
class Savepoint(BackupVerbs, ConnectorVerbs, FeedVerbs, PrivacyVerbs, SizeVerbs, UpgradeVerbs):
    """A savepoint or checkpoint; holds no data, and needs no Spark.

    ``open`` and ``load`` open one. ``describe``, ``tables``, ``schema``, ``files`` and ``scan``
    read it; the methods of ``AuditVerbs`` judge it. All methods of ``SavepointChanges`` return a
    writer of another savepoint. Other methods import an extension when they are called.
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
        opening = opening_of(
            uids=uids,
            kryo_classes=kryo_classes,
            allow_paths=allow_paths,
            strict_paths=strict_paths,
            key_types=key_types,
            plan=plan,
            types=types,
        )
        from savepoint_spark.session import expect_session  # noqa: PLC0415  # readers need none
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
        from savepoint_spark.session import expect_session, tasks_at_once  # noqa: PLC0415  # readers need none
        from state_processor.savepoint.writer import SavepointWriter  # noqa: PLC0415  # readers need none

        expect_session(spark, "create(spark)")
        if parallelism is None:
            parallelism = min(tasks_at_once(spark), max_parallelism)
        return SavepointWriter(spark, None, (), parallelism, max_parallelism)

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
        library, savepoint = described_types.ClassLibrary.of(places, sources), self
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
        from state_processor.savepoint.writer import SavepointWriter  # noqa: PLC0415  # readers need none

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
