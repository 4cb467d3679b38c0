"""A job of Flink 1 with old sources and sinks of Kafka continues in Flink 2, with a real broker.

Each scenario has a savepoint of a job whose records nobody committed yet; then the broker gets more
records, in partitions that were read, were empty, and didn't exist. Each record is counted once, and
readers of committed data see each count once.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter, defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.incidents import walk
from support.kafka_broker import (
    Answering,
    Broker,
    add_connector,
    broker,
    expect_jars,
    kafka_jobs,
)
from support.nightly import VARIABLE, nightly
from support.stream_queries import run

from savepoint_formats.savepoint_warnings import ConnectorWarning
from state_processor import (
    OperatorTransformation,
    Savepoint,
    SparkCheckpoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

LEGACY, CURRENT = "3.4.0-1.20", "5.0.0-2.2"
UIDS = ("orders", "counts", "results", "files")
OLD, FLUSHED, END = 150, 170, 235
"""Numbers that a checkpoint committed, that the savepoint has, and that there are in the end."""


@dataclass(frozen=True)
class Scenario:
    """How a job of Flink 1 leaves its state.

    Attributes:
        name: Part of the names of its topics and folders.
        snapshot: The format of a savepoint, or ``checkpoint`` for a retained one.
        parallelism: That of the job of Flink 2.
        flink: Its Flink; by default that of the connector.
        legacy: The release of the old job's connector.
    """

    name: str
    snapshot: str
    parallelism: int
    flink: str = ""
    legacy: str = LEGACY


AT_NIGHT = (
    Scenario("of-1.17", "CANONICAL", 3, legacy="3.0.2-1.17"),
    Scenario("of-1.18", "checkpoint", 1, legacy="3.2.0-1.18"),
    Scenario("newest", "NATIVE", 1, "2.3.0"),
)
# The process of the last one is killed; the jobs before are cancelled.
WAIT = 60
"""Seconds until transactions are open."""

SCENARIOS = (
    *(AT_NIGHT if os.environ.get(VARIABLE) else ()),
    Scenario("retained", "checkpoint", 1),
    Scenario("native", "NATIVE", 3),
    Scenario("killed", "CANONICAL", 3),
)


@dataclass(frozen=True)
class Migration:
    """A broker, the savepoints of jobs of Flink 1, and jobs of Flink 2."""

    broker: Broker
    folder: Path
    savepoints: dict[str, str]
    stopped: str
    jobs: Answering

    def words(self, name: str, parallelism: int, start: str) -> tuple[object, ...]:
        """What starts a job."""
        return _words(self.broker, self.folder, name, parallelism, start)


def _words(
    broker: Broker, folder: Path, name: str, parallelism: int, start: str
) -> tuple[object, ...]:
    checkpoints, files = folder / "checkpoints" / name, folder / "files" / name
    topics = f"orders-{name}", f"results-{name}"
    places = checkpoints.as_uri(), broker.address, *topics, files.as_uri()
    return ("start", start, parallelism, *places)


def _left(old: Answering, broker: Broker, folder: Path, scenario: Scenario) -> str:
    """The savepoint of a job of Flink 1 with transactions that nobody committed."""
    name, ask = scenario.name, broker.process.lines
    ask("topic", f"orders-{name}", 3)
    ask("topic", f"results-{name}", 1)
    ask("send", f"orders-{name}", 0, 0, 100)
    ask("send", f"orders-{name}", 1, 100, OLD)
    old.line(*_words(broker, folder, name, 2, "-"))
    old.line("await", OLD)
    old.line("checkpoint")
    ask("send", f"orders-{name}", 0, OLD, FLUSHED)
    old.line("await", FLUSHED)
    if scenario.snapshot == "checkpoint":
        taken = old.line("checkpoint")
    else:
        taken = old.line("savepoint", (folder / "savepoints").as_uri(), scenario.snapshot)
    ask("send", f"orders-{name}", 0, FLUSHED, 200)
    old.line("await", 200)
    if scenario is SCENARIOS[-1]:
        # Two of the savepoint, which nobody commits, and two that follow.
        _await_open(broker, f"results-{name}-", 4)
    else:
        old.line("cancel")
    return taken.removeprefix("file:")


def _await_open(broker: Broker, prefix: str, count: int) -> None:
    """Waits until the transactions of both subtasks are open: producers send some time after a record counts."""
    end = time.monotonic() + WAIT
    while sum(it.startswith(prefix) for it in broker.process.lines("transactions")) < count:
        assert time.monotonic() < end, f"fewer than {count} transactions of {prefix} are open"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def migration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Migration]:
    expect_jars(*{scenario.legacy for scenario in SCENARIOS}, CURRENT)
    folder = tmp_path_factory.mktemp("kafka")
    with ExitStack() as running:
        own = running.enter_context(broker(folder))
        savepoints = {}
        for legacy, scenarios in groupby(SCENARIOS, lambda scenario: scenario.legacy):
            with kafka_jobs(legacy, folder) as old:
                if legacy == LEGACY:
                    stopped = _stopped(old, own, folder)
                for scenario in scenarios:
                    savepoints[scenario.name] = _left(old, own, folder, scenario)
        jobs = running.enter_context(kafka_jobs(CURRENT, folder))
        yield Migration(own, folder, savepoints, stopped, jobs)


def _stopped(old: Answering, broker: Broker, folder: Path) -> str:
    """The savepoint of a job that was stopped by it, after a checkpoint at record 50."""
    ask = broker.process.lines
    ask("topic", "orders-stopped", 1)
    ask("topic", "results-stopped", 1)
    ask("send", "orders-stopped", 0, 0, 50)
    old.line(*_words(broker, folder, "stopped", 1, "-"))
    old.line("await", 50)
    old.line("checkpoint")
    ask("send", "orders-stopped", 0, 50, 80)
    old.line("await", 80)
    return old.line("stop", (folder / "savepoints").as_uri()).removeprefix("file:")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_each_record_is_counted_once(migration: Migration, scenario: Scenario) -> None:
    if not scenario.flink:
        _expect_counted_once(migration, migration.jobs, scenario)
        return
    with kafka_jobs(CURRENT, migration.folder, scenario.flink) as jobs:
        _expect_counted_once(migration, jobs, scenario)


def _expect_counted_once(migration: Migration, jobs: Answering, scenario: Scenario) -> None:
    name, ask = scenario.name, migration.broker.process.lines
    ask("send", f"orders-{name}", 2, 200, 210)
    ask("partitions", f"orders-{name}", 4)
    ask("send", f"orders-{name}", 3, 210, 230)
    assert len(ask("read", f"results-{name}")) == _committed(scenario)
    moved = migration.folder / "moved" / name
    with pytest.warns(ConnectorWarning) as given:
        Savepoint.open(migration.savepoints[name], uids=UIDS).migrate().write(str(moved))
    texts = [str(warning.message) for warning in given]
    aborts = [text.partition("--transactionalId ")[2].strip("'") for text in texts[:-1]]
    assert "the new sink commits 2 transactions" in texts[-1]
    jobs.line(*migration.words(name, scenario.parallelism, moved.as_uri()))
    jobs.line("await", 230 - FLUSHED)
    ask("send", f"orders-{name}", 1, 230, END)
    jobs.line("await", END - FLUSHED)
    jobs.line("stop", (migration.folder / "last").as_uri())
    assert int(jobs.line("counted")) == END - FLUSHED
    if scenario is SCENARIOS[-1]:
        # Nothing aborted them when the process died: if they have records, these hide what follows.
        assert set(aborts) == set(ask("transactions"))
        assert len(ask("read", f"results-{name}")) in (FLUSHED, END)
    for transaction in aborts:
        ask("abort", transaction)
    _expect_each_once(ask("read", f"results-{name}"))
    files = (migration.folder / "files" / name).rglob("part-*")
    _expect_each_once([line for file in files for line in file.read_text().splitlines()])


def test_a_source_of_a_job_that_ran_once_goes_on_in_another_savepoint(migration: Migration) -> None:
    """The way out for connectors that no command knows: the count is old, the source is new."""
    name, ask, jobs = "trial", migration.broker.process.lines, migration.jobs
    ask("topic", f"orders-{name}", 1)
    ask("topic", f"results-{name}", 1)
    # The trial begins at the latest record, and stops before there is another.
    ask("send", f"orders-{name}", 0, 0, 40)
    jobs.line(*migration.words(name, 1, "-"))
    jobs.line("await", 0)
    trial = jobs.line("stop", (migration.folder / "trials").as_uri()).removeprefix("file:")
    moved, both = migration.folder / "moved" / "killed", migration.folder / "moved" / "both"
    source = Savepoint.open(trial, uids=UIDS).operator("orders")
    Savepoint.open(str(moved), uids=UIDS).with_operator("orders", source).write(str(both))
    ask("send", f"orders-{name}", 0, 40, 47)
    jobs.line(*migration.words(name, 2, both.as_uri()))
    jobs.line("await", 7)
    jobs.line("stop", (migration.folder / "last").as_uri())
    rows = [row.split() for row in ask("read", f"results-{name}")]
    assert sorted(int(number) for *_, number in rows) == list(range(40, 47))
    # Numbers 0 to 169 were counted before, by seven keys.
    assert {int(count) for _, count, _ in rows} == {25, 26}


def _committed(scenario: Scenario) -> int:
    """A job commits after a checkpoint, but not after a savepoint."""
    return FLUSHED if scenario.snapshot == "checkpoint" else OLD


def _expect_each_once(lines: list[str]) -> None:
    numbers, counts = Counter[int](), defaultdict[str, list[int]](list)
    for key, count, number in map(str.split, lines):
        numbers[int(number)] += 1
        counts[key].append(int(count))
    assert numbers == Counter(range(END))
    assert all(sorted(known) == list(range(1, len(known) + 1)) for known in counts.values())


def test_a_stopped_job_is_not_trusted(migration: Migration) -> None:
    savepoint = Savepoint.open(migration.stopped, uids=UIDS)
    with pytest.warns(ConnectorWarning, match="taken by stopping the job"):
        (offset,) = savepoint.kafka().offsets
    assert offset.offset == 50  # the job had read 80
    compatibility = savepoint.compatibility("2.2")
    assert "stopped-source" in {finding.rule for finding in compatibility.findings}
    assert not compatibility.is_restorable
    with pytest.warns(ConnectorWarning) as given:
        savepoint.migrate()
    assert any("records in between are read twice" in str(warning.message) for warning in given)


def test_the_doctor_sends_to_migrate(migration: Migration) -> None:
    compatibility = Savepoint.open(migration.savepoints["killed"], uids=UIDS).compatibility("2.2")
    assert compatibility.verdict == "restorable after migration"
    advice = {finding.advice for _, finding in compatibility.placed()}
    assert not any("stop the job with a savepoint" in text for text in advice)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        moved = migration.folder / "moved" / "killed"
        assert Savepoint.open(str(moved)).compatibility("2.2").verdict in ("unknown", "restorable")


def test_a_source_from_nothing_reads_each_record_behind_its_positions_once(
    spark: SparkSession, migration: Migration
) -> None:
    name, ask, jobs = "begun", migration.broker.process.lines, migration.jobs
    ask("topic", f"orders-{name}", 2)
    ask("topic", f"results-{name}", 1)
    ask("send", f"orders-{name}", 0, 0, 30)
    ask("send", f"orders-{name}", 1, 30, 50)
    begun = migration.folder / "begun"
    # A query of Spark has read 20 and 5 of them.
    writer = Savepoint.create(spark, parallelism=2)
    writer.with_kafka_source("orders", {f"orders-{name}": {"0": 20, "1": 5}}).write(begun)
    jobs.line(*migration.words(name, 3, begun.as_uri()))
    jobs.line("await", 25)
    # A partition that the state does not know is still discovered, and read from its beginning.
    ask("partitions", f"orders-{name}", 3)
    ask("send", f"orders-{name}", 2, 50, 60)
    ask("send", f"orders-{name}", 0, 60, 70)
    jobs.line("await", 45)
    jobs.line("stop", (migration.folder / "last").as_uri())
    assert int(jobs.line("counted")) == 45
    numbers = sorted(int(line.split()[-1]) for line in ask("read", f"results-{name}"))
    assert numbers == [*range(20, 30), *range(35, 70)]


@nightly
def test_spark_and_flink_share_the_records_of_a_broker(
    spark: SparkSession, migration: Migration, tmp_path: Path
) -> None:
    """A query reads the first ones, a job goes on with its counts, and Spark reads those behind the job."""
    topic, ask, jobs = "orders-shared", migration.broker.process.lines, migration.jobs
    ask("topic", topic, 2)
    ask("topic", "results-shared", 1)
    ask("send", topic, 0, 0, 30)
    ask("send", topic, 1, 30, 50)
    add_connector(spark)
    place = {"kafka.bootstrap.servers": migration.broker.address, "subscribe": topic}
    number = "CAST(CAST(value AS STRING) AS BIGINT)"
    records = spark.readStream.format("kafka").options(**place, startingOffsets="earliest").load()
    run(records.selectExpr(f"{number} % 7 AS k").groupBy("k").count(), tmp_path / "counts")

    checkpoint = SparkCheckpoint.load(spark, tmp_path / "counts")
    counts = checkpoint.aggregation(0, key=["k"], count="count")
    state = OperatorTransformation.bootstrap_with(counts).key_by("k")
    writer = Savepoint.create(spark, parallelism=2)
    writer = writer.with_operator(
        "counts", state.with_state(ValueStateDescriptor("count", Types.LONG()))
    )
    writer.with_kafka_source("orders", checkpoint.offsets["0"]).write(tmp_path / "begun")
    ask("send", topic, 0, 50, 60)
    jobs.line(*migration.words("shared", 3, (tmp_path / "begun").as_uri()))
    jobs.line("await", 10)
    ask("partitions", topic, 3)
    ask("send", topic, 2, 60, 80)
    jobs.line("await", 30)
    last = jobs.line("stop", (migration.folder / "last").as_uri()).removeprefix("file:")

    lines = [tuple(map(int, line.split())) for line in ask("read", "results-shared")]
    assert sorted(number for *_, number in lines) == [*range(50, 80)]
    for key in range(7):
        before, after = (len(range(key, end, 7)) for end in (50, 80))
        assert [count for k, count, _ in lines if k == key] == [*range(before + 1, after + 1)]

    positions = Savepoint.load(spark, last, uids=UIDS).kafka().starting_offsets_json("orders")
    ask("send", topic, 1, 80, 90)
    rest = spark.read.format("kafka").options(**place, startingOffsets=positions).load()
    rows = rest.selectExpr(f"{number} AS number").collect()
    assert sorted(row["number"] for row in rows) == [*range(80, 90)]


def test_the_page_of_a_moved_cluster_holds(
    spark: SparkSession, migration: Migration, tmp_path: Path
) -> None:
    """The job has read 60 records of one broker; on the other, ten of each partition are old."""
    jobs, begun, out = migration.jobs, tmp_path / "begun", tmp_path / "out"
    writer = Savepoint.create(spark, parallelism=2)
    writer.with_kafka_source("orders", {"orders": {"0": 0, "1": 0}}).write(begun)
    _fill(migration.broker, {0: (0, 40), 1: (40, 60)})
    jobs.line(*_job_of_orders(migration.broker, tmp_path, begun.as_uri()))
    jobs.line("await", 60)
    stopped = jobs.line("stop", (tmp_path / "stopped").as_uri()).removeprefix("file:")
    with broker(tmp_path) as moved:
        _fill(moved, {0: (30, 40), 1: (50, 60)})
        places = {"PATH": Path(stopped), "OUT": out}
        files = {name: tmp_path / name for name in ("offsets.csv", "dropped.jsonl")}
        printed = walk("moved-kafka", tmp_path, places | files)
        for line in ("savepoint kafka PATH", "savepoint sinks /tmp/positions"):
            assert "orders" in printed[line] or "transaction" in printed[line], printed
        jobs.line(*_job_of_orders(moved, tmp_path, out.as_uri()))
        _send(moved, {0: (60, 75), 1: (75, 80)})
        jobs.line("await", 20)
        jobs.line("stop", (tmp_path / "last").as_uri())
        rows = [row.split() for row in moved.process.lines("read", "results")]
    assert sorted(int(number) for *_, number in rows) == list(range(60, 80))
    # Numbers 0 to 59 were counted before, by seven keys.
    assert {count for key, count, _ in rows if key == "0"} == {"10", "11", "12"}


def _job_of_orders(at: Broker, folder: Path, start: str) -> tuple[object, ...]:
    places = (folder / "checkpoints").as_uri(), at.address, "orders", "results"
    return ("start", start, 2, *places, (folder / "files").as_uri())


def _fill(at: Broker, numbers: dict[int, tuple[int, int]]) -> None:
    at.process.lines("topic", "orders", len(numbers))
    at.process.lines("topic", "results", 1)
    _send(at, numbers)


def _send(at: Broker, numbers: dict[int, tuple[int, int]]) -> None:
    for partition, (first, end) in numbers.items():
        at.process.lines("send", "orders", partition, first, end)
