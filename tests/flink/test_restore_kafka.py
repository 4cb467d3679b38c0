"""A real Flink, with the real connector, goes on at the offsets that were set."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from flink_home import FlinkHome
from support.commands import run
from support.kafka_connector import connector_folder
from support.sample_rows import SAMPLES

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

SOURCES = Path(__file__).parent / "kafka_job"
# The release of Flink's jars; the connectors are those of its major version.
FLINK = {"3.4.0-1.20": "1.20.5", "4.0.1-2.0": "2.2.1"}


@contextmanager
def kafka_job(release: str, folder: Path) -> Iterator[Callable[[str], list[str]]]:
    """Gives what asks ``KafkaJob``, and has its facts."""
    home, connector = FlinkHome.cached(FLINK[release]), connector_folder(release)
    home.install()
    wanted = ("flink-connector-kafka-*.jar", "kafka-clients-*.jar")
    jars = [*home.jars, *(jar for name in wanted for jar in connector.glob(name))]
    class_path = os.pathsep.join(map(str, [folder, *jars]))
    sources = [str(path) for path in sorted(SOURCES.rglob("*.java"))]
    options = ["-nowarn", "-XDsuppressNotes", "-implicit:class"]
    where = ["-sourcepath", str(SAMPLES / "job"), "-cp", class_path, "-d", str(folder)]
    subprocess.run(["javac", *options, *where, *sources], check=True)
    java = home.java(folder, ["-Xmx1g"])
    java[java.index("-cp") + 1] = class_path
    with (
        (folder / "log").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            [*java, "offsets.KafkaJob"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        requests, answers = process.stdin, process.stdout

        def ask(request: str) -> list[str]:
            requests.write(f"{request}\n")
            requests.flush()
            facts = list(iter(lambda: answers.readline().rstrip("\n"), ""))
            assert facts, (folder / "log").read_text(encoding="utf-8")
            return facts

        yield ask
        requests.close()


@pytest.mark.parametrize("release", list(FLINK))
def test_readers_go_on_at_the_offsets_that_were_set(
    spark: SparkSession, release: str, tmp_path: Path
) -> None:
    with kafka_job(release, tmp_path) as ask:
        started = ask(f"start {(tmp_path / 'taken').as_uri()}")
        before = started[-1].removeprefix("savepoint file:")
        assert {
            (one.topic, one.partition, one.offset, one.start, one.stopping_offset)
            for one in Savepoint.open(before, uids=["orders"]).kafka().offsets
        } == {
            ("orders", 0, 42, "", None),
            ("orders", 1, None, "earliest", None),
            ("payments", 0, 7, "", 70),
        }

        offsets, moved = tmp_path / "offsets.csv", tmp_path / "moved"
        offsets.write_text(
            "topic,partition,offset,stopping_offset\norders,0,120000,130000\norders,1,5,\n"
        )
        command = ("kafka", before, "--set-offsets", offsets, "--out", moved)
        assert run(*command)[0] == 0
        restored = ask(f"restore {moved.as_uri()}")
        # From nothing: the positions of a streaming query of Spark.
        made, position = tmp_path / "made", {"orders": {"1": 5, "0": 23}, "payments": {"0": 7}}
        writer = Savepoint.create(spark, max_parallelism=128, parallelism=2)
        writer.with_kafka_source("orders", position).write(made)
        begun = ask(f"restore {made.as_uri()}")
    assert sorted(restored) == [
        "partition orders 0 assigned",
        "partition orders 1 assigned",
        "partition payments 0 assigned",
        "partition payments 9 unassigned_initial",
        "split orders 0 120000 130000",
        "split orders 1 5 none",
        "split payments 0 7 70",
    ]
    assert sorted(begun) == [
        "partition orders 0 assigned",
        "partition orders 1 assigned",
        "partition payments 0 assigned",
        "split orders 0 23 none",
        "split orders 1 5 none",
        "split payments 0 7 none",
    ]
