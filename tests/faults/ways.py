"""Ways to write a savepoint; what each makes of the rows of a source, and how it is read again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from savepoint_extensions.mixed_mode.backlog_result import BacklogFiles
from savepoint_formats.errors import SavepointError
from savepoint_formats.locations.file_io import METADATA_FILE
from state_processor import (
    Backlog,
    KeyedProcessFunction,
    OperatorTransformation,
    Savepoint,
    Types,
)
from state_processor import ValueStateDescriptor as Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from savepoint_functions.transformations.keyed_transformation import KeyedStateTransformation
    from state_processor.savepoint.spark_savepoint import SparkSavepoint

KEYS = 3_000
UID = "operator"
SOURCE_FACTOR = 3
_TEXT = "x" * 40
_PARTITIONS = 2

# Few key groups, because each of them is a call of its own where ranges of files are copied.
_KEY_GROUPS = 8


@dataclass(frozen=True)
class Place:
    """Place of a round.

    Attributes:
        source: The savepoint that is read.
        target: The directory that is written to.
        factor: What tells the rows of this round from those of others.
    """

    source: str
    target: str
    factor: int


@dataclass(frozen=True)
class Way:
    """A way to write a savepoint.

    Attributes:
        write: Writes it, in the mode ``error`` or ``overwrite``.
        factor: What the number of a key is its multiple by afterwards.
        is_replacing: Whether a savepoint lies in the target already, and is replaced.
        is_of_runs: Whether each try has a directory of its own below the target.
        marker: Name of the file that is there when the write is complete.
        needs_spark: Whether a session writes.
    """

    write: Callable[[Any, Place, str], object]
    factor: Callable[[Place], int]
    is_replacing: bool = False
    is_of_runs: bool = False
    marker: str = METADATA_FILE
    needs_spark: bool = True

    def fault(self, place: Place) -> str:
        """Faults of the savepoint that the write left; empty if there are none."""
        directory = self._directory(place)
        try:
            rows, verification = rows_of(directory), Savepoint.open(directory).verify("quick")
        except SavepointError as error:
            return f"the savepoint can't be read: {type(error).__name__}: {error}"
        if not verification.is_whole:
            return f"verify finds {verification.faults[0]}"
        if not rows.equals(expected_rows(self.factor(place))):
            return f"other rows: {rows.num_rows} of {KEYS}, such as {rows.slice(1, 1).to_pylist()}"
        return ""

    def left_over(self, place: Place) -> str:
        """Files in the target beside a complete savepoint; empty if there are none."""
        directory = self._directory(place)
        needed = {METADATA_FILE} | {
            Path(file.path).name for file in Savepoint.open(directory).files() if file.references
        }
        others = {path.name for path in Path(directory).iterdir()} - needed
        if self.is_of_runs:
            runs = {path.name for path in Path(place.target).iterdir()}
            others |= runs - {Path(directory).parent.name}
        return f"left over: {sorted(others)}" if others else ""

    def source(self, folder: Path) -> Path:
        """The savepoint that is read, of those that lie in a folder."""
        return folder / "source"

    def old(self, folder: Path) -> Path:
        """The directory that is replaced, of those that lie in a folder."""
        return folder / "source"

    def _directory(self, place: Place) -> str:
        finished = BacklogFiles.finished(place.target) if self.is_of_runs else None
        return place.target if finished is None else finished.savepoint


def digests(folder: str) -> dict[str, str]:
    """Path below a folder -> digest, of all files in it."""
    root = Path(folder)
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file()
    }


def rows_of(directory: str) -> pa.Table:
    """All rows, in the order of their keys."""
    scan = Savepoint.open(directory, uids=[UID]).scan(f"{UID}.keyed_state")
    batches = [batch for split in scan.splits() for batch in scan.read(split)]
    table = pa.Table.from_batches(batches).select(["key", "n", "text"]).combine_chunks()
    return table.sort_by("key").cast(expected_rows(1).schema)


def expected_rows(factor: int) -> pa.Table:
    """Result of ``rows_of`` for a savepoint without faults."""
    keys = range(KEYS)
    numbers = [key * factor for key in keys]
    schema = pa.schema({"key": pa.int64(), "n": pa.int64(), "text": pa.string()})
    return pa.table({"key": list(keys), "n": numbers, "text": [_TEXT] * KEYS}, schema=schema)


def _bootstrap(spark: SparkSession, place: Place, mode: str) -> None:
    keyed = _keyed(spark, place.factor)
    keyed = keyed.with_state(Value("n", Types.LONG())).with_state(Value("text", Types.STRING()))
    created = Savepoint.create(spark, parallelism=2, max_parallelism=_KEY_GROUPS)
    created.with_operator(UID, keyed).write(place.target, mode)


def _keyed(spark: SparkSession, factor: int) -> KeyedStateTransformation:
    numbers = spark.range(0, KEYS, 1, _PARTITIONS)
    data = numbers.select("id", (F.col("id") * factor).alias("n"), F.lit(_TEXT).alias("text"))
    return OperatorTransformation.bootstrap_with(data).key_by("id")


def _loaded(spark: SparkSession, path: str) -> SparkSavepoint:
    return Savepoint.load(spark, path, uids=[UID])


def _rescale(spark: SparkSession, place: Place, mode: str) -> None:
    savepoint = _loaded(spark, place.source)
    savepoint.rescale(max_parallelism=2 * _KEY_GROUPS, parallelism=3).write(place.target, mode)


def _double(spark: SparkSession, place: Place, mode: str) -> None:
    # Of four subtasks two make a family, so that tasks write the files of subtasks as they read.
    savepoint = _loaded(spark, place.source)
    savepoint.rescale(max_parallelism=2 * _KEY_GROUPS, parallelism=4).write(place.target, mode)


def _change(spark: SparkSession, place: Place, mode: str) -> None:
    savepoint = _loaded(spark, place.source)
    savepoint.update_state(UID, "n", f"key * {place.factor}").write(place.target, mode)


def _copy(spark: SparkSession, place: Place, mode: str) -> None:
    _loaded(spark, place.source).writer().write(place.target, mode)


def _overwrite(spark: SparkSession, place: Place, mode: str) -> None:
    savepoint = _loaded(spark, place.target)
    savepoint.update_state(UID, "n", f"key * {place.factor}").write(place.target, "overwrite")


class Multiplied(KeyedProcessFunction):
    """Keeps the number and the text of each key."""

    def open(self, runtime_context: Any) -> None:
        self.n = runtime_context.get_state(Value("n", Types.LONG()))
        self.text = runtime_context.get_state(Value("text", Types.STRING()))

    def process_element(self, value: Any, context: Any) -> Iterator[tuple[int]]:
        self.n.update(value.n)
        self.text.update(value.text)
        yield (value.id,)


def _mixed(spark: SparkSession, place: Place, mode: str) -> None:
    # It goes on from what is finished, and begins anew otherwise.
    if mode == "error" or BacklogFiles.finished(place.target) is None:
        backlog = Backlog.of(_keyed(spark, place.factor), Multiplied(), "id BIGINT")
        backlog.run(place.target, UID)


def _of_round(place: Place) -> int:
    return place.factor


def _of_source(place: Place) -> int:
    return SOURCE_FACTOR


WAYS = {
    "bootstrap": Way(_bootstrap, _of_round),
    "rescale": Way(_rescale, _of_source),
    "double": Way(_double, _of_source),
    "change": Way(_change, _of_round),
    "copy": Way(_copy, _of_source),
    "overwrite": Way(_overwrite, _of_round, is_replacing=True),
    "mixed": Way(_mixed, _of_round, is_of_runs=True),
}
