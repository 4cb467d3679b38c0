"""Savepoints made from others: copied, renamed, without an operator, with another one."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.sample_rows import SAMPLES, Sample, rows_of, samples
from support.slow_cases import few_by_day

from savepoint_formats.errors import (
    EmptySavepointError,
    OperatorExistsError,
    OperatorNotFoundError,
    SavepointError,
    SavepointExistsError,
    StateFileNotFoundError,
)
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.metadata import (
    DistributionMode,
    OperatorState,
    OperatorStateHandle,
    OperatorStateOffsets,
    SubtaskState,
)
from state_processor import Savepoint, SavepointWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from savepoint_spark.writing.write_context import WriteContext

CURRENCY_2 = "currency-2.2.1-rocksdb-native"
CURRENCY_1 = "currency-1.20.5-hashmap-canonical"


def content(savepoint: Savepoint) -> dict[str, Any]:
    """The rows of all tables; where one can't be read, the reason."""
    rows: dict[str, Any] = {}
    for table in savepoint.tables():
        try:
            rows[table.table] = sorted(map(repr, rows_of(savepoint.scan(table.table))))
        except SavepointError as error:
            rows[table.table] = type(error)
    return rows


def described(savepoint: Savepoint) -> dict[str, Any]:
    """Output of ``describe`` without the path and, for copies of Flink 1.8, the differences of 1.11.

    Paths in ``_metadata`` count as part of the size.
    """
    facts = asdict(savepoint.describe())
    del facts["path"], facts["size"]
    if facts["metadata_version"] <= 3:
        del facts["metadata_version"], facts["flink"]
    return facts


def names(savepoint: Savepoint) -> list[str]:
    return [operator.name for operator in savepoint.operators()]


def copy_and_compare(source: Savepoint, out: Path, uids: tuple[str, ...] = ()) -> None:
    written = source.writer().write(str(out))
    moved = out.rename(f"{out}-moved")
    copy = Savepoint.open(str(moved), uids=uids)
    assert described(copy) == described(source)
    assert content(copy) == content(source)
    assert written.files == len(list(moved.iterdir()))
    assert written.size == sum(file.stat().st_size for file in moved.iterdir())


@pytest.mark.parametrize("sample", few_by_day(samples()), ids=str)
def test_a_moved_copy_tells_the_same_as_its_original(sample: Sample, tmp_path: Path) -> None:
    copy_and_compare(sample.open(), tmp_path / "out", sample.uids)


def test_a_moved_copy_of_any_savepoint_of_flink_tells_the_same(
    corpus: Path, tmp_path: Path
) -> None:
    for metadata in sorted((corpus / "savepoints").glob("*/_metadata")):
        copy_and_compare(Savepoint.open(str(metadata)), tmp_path / metadata.parent.name)


@pytest.mark.parametrize("name", [CURRENCY_1, CURRENCY_2])
def test_a_renamed_operator_has_the_state_of_the_old_one(name: str, tmp_path: Path) -> None:
    source = Savepoint.open(str(SAMPLES / name), uids=["summarize"])
    out = str(tmp_path / "out")
    written = source.rename_operator("summarize", "totals").write(out)
    renamed = Savepoint.open(out, uids=["totals"])
    assert rows_of(renamed.scan("totals.keyed_state")) == rows_of(
        source.scan("summarize.keyed_state")
    )
    actions = {one.operator: one.action for one in written.operators}
    assert actions.pop("totals") == "renamed from summarize"
    assert set(actions.values()) == {"copied"}
    with pytest.raises(OperatorNotFoundError):
        renamed.operator("summarize")


def test_flink_2_is_told_the_new_uid(tmp_path: Path) -> None:
    source = Savepoint.open(str(SAMPLES / CURRENCY_2))
    source.rename_operator("summarize", "totals").write(str(tmp_path / "out"))
    record = Savepoint.open(str(tmp_path / "out")).operator("totals").record
    was = source.operator("summarize").record
    assert (record.uid, record.name) == ("totals", was.name)
    assert (record.operator_id, record.parallelism) == (OperatorId.from_uid("totals"), 2)


def test_operators_may_be_named_by_hashes(tmp_path: Path) -> None:
    old, new = str(OperatorId.from_uid("summarize")), str(OperatorId.from_uid("totals"))
    source = Savepoint.open(str(SAMPLES / CURRENCY_1))
    source.rename_operator(old, new).write(str(tmp_path / "out"))
    assert Savepoint.open(str(tmp_path / "out")).operator("totals").table("keyed_state")


def test_a_removed_operator_is_gone_and_the_others_are_as_they_were(tmp_path: Path) -> None:
    source = Savepoint.open(str(SAMPLES / CURRENCY_2))
    written = source.remove_operator("summarize").write(str(tmp_path / "out"))
    copy = Savepoint.open(str(tmp_path / "out"))
    assert names(copy) == [name for name in names(source) if name != "summarize"]
    assert written.left_out == ("summarize",)
    rest = {table: rows for table, rows in content(source).items() if "summarize" not in table}
    assert content(copy) == rest


def test_the_file_of_a_removed_operator_is_not_needed(tmp_path: Path) -> None:
    copy = tmp_path / "damaged"
    shutil.copytree(SAMPLES / CURRENCY_2, copy)
    source = Savepoint.open(str(copy))
    for file in source.files():
        if any(reference.startswith("summarize") for reference in file.references):
            (copy / file.path).unlink()
    with pytest.raises(StateFileNotFoundError, match="can't be copied because it lacks"):
        source.writer().write(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    source.remove_operator("summarize").write(str(tmp_path / "out"))


def test_a_writer_is_never_changed(tmp_path: Path) -> None:
    writer = Savepoint.open(str(SAMPLES / CURRENCY_2)).writer()
    before = writer.operators
    writer.remove_operator("rates").rename_operator("summarize", "totals")
    assert writer.operators == before


def test_a_plan_writes_nothing_and_says_what_will_be(tmp_path: Path) -> None:
    out = tmp_path / "out"
    writer = Savepoint.open(str(SAMPLES / CURRENCY_2)).remove_operator("rates_source")
    plan = writer.plan(str(out))
    assert not out.exists()
    assert (plan.replaces, plan.left_out) == (False, ("rates_source",))
    written = writer.write(str(out))
    assert plan.operators == written.operators
    assert plan.copied_size + (out / "_metadata").stat().st_size == written.size
    assert writer.plan(str(out), "overwrite").replaces


def test_a_savepoint_can_be_changed_where_it_lies(tmp_path: Path) -> None:
    out = str(tmp_path / "savepoint")
    shutil.copytree(SAMPLES / CURRENCY_2, out)
    source = Savepoint.open(out)
    before = rows_of(source.scan("summarize.keyed_state"))
    with pytest.raises(SavepointExistsError):
        source.rename_operator("summarize", "totals").write(out)
    written = source.rename_operator("summarize", "totals").write(out, "overwrite")
    assert rows_of(Savepoint.open(out).scan("totals.keyed_state")) == before
    assert len(list(Path(out).iterdir())) == written.files + len(["expected.json"])


class TestWrongCalls:
    @pytest.fixture
    def writer(self) -> SavepointWriter:
        return Savepoint.open(str(SAMPLES / CURRENCY_2)).writer()

    def test_an_unknown_uid_lists_those_there_are(self, writer: SavepointWriter) -> None:
        for change in (writer.remove_operator, lambda uid: writer.rename_operator(uid, "new")):
            with pytest.raises(
                OperatorNotFoundError, match=r"no operator 'sumarize'; it has: .*su"
            ):
                change("sumarize")

    def test_an_operator_is_gone_once_it_was_removed(self, writer: SavepointWriter) -> None:
        with pytest.raises(OperatorNotFoundError):
            writer.remove_operator("summarize").remove_operator("summarize")

    def test_a_uid_cannot_be_taken_twice(self, writer: SavepointWriter) -> None:
        with pytest.raises(OperatorExistsError, match="there is an operator 'gate' already"):
            writer.rename_operator("summarize", "gate")

    def test_an_operator_may_keep_its_uid(self, writer: SavepointWriter) -> None:
        assert writer.rename_operator("gate", "gate") == writer

    def test_a_savepoint_without_operators_holds_nothing(
        self, writer: SavepointWriter, tmp_path: Path
    ) -> None:
        for name in [operator.name for operator in writer.operators]:
            writer = writer.remove_operator(name)
        with pytest.raises(EmptySavepointError, match="would have no operators"):
            writer.write(str(tmp_path / "out"))
        with pytest.raises(EmptySavepointError):
            writer.plan(str(tmp_path / "out"))

    @pytest.mark.parametrize(("parallelism", "maximum"), [(0, 128), (129, 128), (1, 32769)])
    def test_flink_knows_no_such_parallelism(
        self, writer: SavepointWriter, parallelism: int, maximum: int
    ) -> None:
        with pytest.raises(ValueError, match=f"parallelism {parallelism} of max .* {maximum}"):
            writer.with_operator(
                "new", Elements(), parallelism=parallelism, max_parallelism=maximum
            )

    def test_state_is_not_made_without_a_session(
        self, writer: SavepointWriter, tmp_path: Path
    ) -> None:
        changed = writer.with_operator("gate", Elements())
        with pytest.raises(ValueError, match="gate is made by Spark: open the savepoint with"):
            changed.write(str(tmp_path / "out"))


@dataclass(frozen=True)
class Elements:
    """Makes a list state of a file with the number of the subtask; or fails."""

    fails: bool = False

    def write(self, context: WriteContext) -> OperatorState:
        subtasks = []
        for index in range(context.parallelism):
            with context.target.create("elements") as file:
                file.write(bytes([index]))
            states = (OperatorStateOffsets("elements", DistributionMode.UNION, (0,)),)
            handle = OperatorStateHandle(states, file.handle)
            subtasks.append(SubtaskState(index, managed_operator_state=handle))
        if self.fails:
            raise SavepointError("a job failed")
        return OperatorState(
            context.operator_id, context.parallelism, context.max_parallelism, tuple(subtasks)
        )


class TestWithASession:
    def test_a_new_savepoint_has_version_3(self, spark: SparkSession, tmp_path: Path) -> None:
        writer = Savepoint.create(spark, max_parallelism=300, parallelism=3)
        written = writer.with_operator("buffer", Elements()).write(str(tmp_path / "out"))
        opened = Savepoint.open(str(tmp_path / "out"), uids=["buffer"])
        record = opened.operator("buffer").record
        assert (opened.metadata.version, opened.metadata.checkpoint_id) == (3, 1)
        assert (record.parallelism, record.max_parallelism) == (3, 300)
        assert (written.files, written.operators[0].files) == (4, 3)
        assert written.operators[0].action == "written"

    def test_the_parallelism_is_that_of_the_session(self, spark: SparkSession) -> None:
        assert Savepoint.create(spark).parallelism == 2
        assert Savepoint.create(spark, max_parallelism=1).parallelism == 1

    def test_an_operator_comes_to_those_there_are(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        source = Savepoint.load(spark, str(SAMPLES / CURRENCY_2))
        written = source.with_operator("buffer", Elements()).write(str(tmp_path / "out"))
        copy = Savepoint.open(str(tmp_path / "out"))
        assert names(copy) == [*names(source), "buffer"]
        assert copy.operator("buffer").record.max_parallelism == 300
        assert (copy.metadata.version, written.metadata_version) == (6, 6)

    def test_an_operator_is_changed_in_its_place(self, spark: SparkSession, tmp_path: Path) -> None:
        source = Savepoint.load(spark, str(SAMPLES / CURRENCY_2))
        changed = source.with_operator("summarize", Elements())
        written = changed.rename_operator("summarize", "totals").write(str(tmp_path / "out"))
        record = Savepoint.open(str(tmp_path / "out")).operator("totals").record
        assert record.subtasks[0].managed_keyed_state is None
        assert record.name == source.operator("summarize").record.name
        assert [one.operator for one in written.operators] == [
            "totals" if name == "summarize" else name for name in names(source)
        ]

    def test_an_operator_is_replaced_after_it_was_removed(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        source = Savepoint.load(spark, str(SAMPLES / CURRENCY_2))
        changed = source.remove_operator("gate").with_operator("gate", Elements(), parallelism=1)
        changed.write(str(tmp_path / "out"))
        assert len(Savepoint.open(str(tmp_path / "out")).operator("gate").record.subtasks) == 1

    def test_a_job_that_fails_leaves_nothing(self, spark: SparkSession, tmp_path: Path) -> None:
        writer = Savepoint.create(spark).with_operator("buffer", Elements(fails=True))
        with pytest.raises(SavepointError, match="a job failed"):
            writer.write(str(tmp_path / "out"))
        assert list((tmp_path / "out").iterdir()) == []


KILLED = """
import os, signal, sys, itertools
from state_processor import Savepoint

steps = itertools.count(1)
def on_progress(size):
    if next(steps) == {step}:
        os.kill(os.getpid(), signal.SIGKILL)

while True:
    Savepoint.open({source!r}).writer().write({out!r}, "overwrite", on_progress)
    print("written", flush=True)
"""


def writing(out: Path, step: int) -> subprocess.Popen[str]:
    """A process that copies a savepoint over and over, and kills itself at a step."""
    program = KILLED.format(source=str(SAMPLES / CURRENCY_2), out=str(out), step=step)
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("step", [1, 5, 12])
def test_a_killed_copy_leaves_no_savepoint(step: int, tmp_path: Path) -> None:
    with writing(tmp_path / "out", step) as process:
        assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "out/_metadata").exists()


@pytest.mark.parametrize("delay", [0.0, 0.013, 0.027, 0.041])
def test_whenever_an_overwrite_is_killed_a_whole_savepoint_is_there(
    delay: float, tmp_path: Path
) -> None:
    with writing(tmp_path / "out", step=0) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        process.kill()
    opened = Savepoint.open(str(tmp_path / "out"))
    assert not [file for file in opened.files() if file.is_missing]
    assert content(opened) == content(Savepoint.open(str(SAMPLES / CURRENCY_2)))
    opened.writer().write(str(tmp_path / "out"), "overwrite")
    files = Savepoint.open(str(tmp_path / "out")).files()
    assert not [file for file in files if not file.references]


def test_the_checkpoint_goes_on_where_it_was(tmp_path: Path) -> None:
    source = Savepoint.open(str(SAMPLES / CURRENCY_2))
    source.writer().write(str(tmp_path / "out"))
    written = Savepoint.open(str(tmp_path / "out")).metadata
    assert replace(written, operators=()) == replace(source.metadata, operators=())
