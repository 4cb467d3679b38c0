"""A real broker of Kafka, and jobs of two releases of Flink that read from it and write to it."""

from __future__ import annotations

import socket
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING

import pytest
from flink_home import CACHE, FlinkHome

from support.java_jobs import JOBS
from support.maven_jars import fetched
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

SOURCES = JOBS / "kafka_migration"
BROKER = "4.1.1"
CLIENTS = {
    "3.0.2-1.17": "3.4.0",
    "3.2.0-1.18": "3.4.0",
    "3.4.0-1.20": "3.4.0",
    "5.0.0-2.2": "4.1.1",
}
"""Release of the connector -> release of Kafka's clients."""
OF_SPARK = "4.2.0"
"""Release of Spark's connector; that of the newest PySpark may not be out yet."""

POOL = "2.13.1"
"""Release of the pool that Spark's connector keeps its consumers in."""

FLINK = {
    "3.0.2-1.17": "1.17.2",
    "3.2.0-1.18": "1.18.1",
    "3.4.0-1.20": "1.20.5",
    "5.0.0-2.2": "2.2.1",
}


@dataclass(frozen=True)
class Answering:
    """A process that answers each line of its input."""

    requests: IO[str]
    answers: IO[str]
    log: Path

    def line(self, *words: object) -> str:
        """The answer of one line; raises ``RuntimeError`` for an error."""
        print(*words, file=self.requests, flush=True)
        answer = self.answers.readline().rstrip("\n")
        if not answer or answer.startswith("error "):
            log = self.log.read_text(encoding="utf-8")[-4000:]
            raise RuntimeError(f"{' '.join(map(str, words))}: {answer or log}")
        return answer

    def lines(self, *words: object) -> list[str]:
        """The answer up to an empty line, without its first one."""
        self.line(*words)
        return list(iter(lambda: self.answers.readline().rstrip("\n"), ""))


@contextmanager
def answering(command: list[str], log: Path) -> Iterator[Answering]:
    """Runs a command; it ends with its input."""
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            encoding="utf-8",
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Answering(process.stdin, process.stdout, log)
        finally:
            process.kill()


def expect_jars(*releases: str) -> None:
    """Skips the test where Maven can't get the jars of Kafka, or pip those of Flink."""
    try:
        _broker_jars()
        for release in releases:
            connector_jars(release, CLIENTS[release])
            FlinkHome.cached(FLINK[release]).install()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"the jars of Kafka can't be had: {error}")


def _broker_jars() -> tuple[Path, ...]:
    folder = fetched(f"kafka-{BROKER}", {"kafka_2.13": BROKER}, group="org.apache.kafka")
    return tuple(sorted(folder.glob("*.jar")))


def connector_jars(release: str, version: str) -> tuple[Path, ...]:
    """The jars of a release of the connector, and of a release of Kafka's clients."""
    wanted = {"flink-connector-kafka": release}
    connector = fetched(f"kafka-alone-{release}", wanted, is_alone=True)
    own = {"kafka-clients": version}
    clients = fetched(f"kafka-clients-{version}", own, is_alone=True, group="org.apache.kafka")
    return tuple(sorted([*connector.glob("*.jar"), *clients.glob("*.jar")]))


def add_connector(spark: SparkSession) -> None:
    """Lets a session read from a broker; skips the test where Maven can't get what it needs."""
    names = ("spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13")
    wanted = {
        "org.apache.spark": dict.fromkeys(names, OF_SPARK),
        "org.apache.commons": {"commons-pool2": POOL},
        "org.apache.kafka": {"kafka-clients": BROKER},
    }
    try:
        for group, artifacts in wanted.items():
            folder = f"spark-kafka-{OF_SPARK}-{group}"
            for jar in fetched(folder, artifacts, is_alone=True, group=group).glob("*.jar"):
                spark.sql(f"ADD JAR '{jar}'")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"the jars of Spark's connector can't be had: {error}")


@dataclass(frozen=True)
class Broker:
    """A broker with its address."""

    process: Answering
    address: str


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """A broker in a process of its own."""
    home = FlinkHome(f"kafka-{BROKER}", CACHE / "none", _broker_jars())
    port, controller = _free_port(), _free_port()
    classes = home.compiled([SOURCES / "broker"])
    command = [*home.java(classes, ["-Xmx512m"]), "broker.Broker", str(folder / "kafka")]
    with answering([*command, str(port), str(controller)], folder / "broker.log") as process:
        yield Broker(process, f"127.0.0.1:{port}")


@contextmanager
def kafka_jobs(
    release: str, folder: Path, flink: str = "", program: str = "Job"
) -> Iterator[Answering]:
    """Jobs with a release of the connector, in one cluster; in its own Flink by default."""
    version = flink or FLINK[release]
    home = replace(FlinkHome.cached(version), more=connector_jars(release, CLIENTS[release]))
    home.install()
    package = "legacy" if version < "2" else "current"
    own = [SAMPLES / "job" / "shop" / "LocalCluster.java", SOURCES / "jobs", SOURCES / package]
    command = [*home.java(home.compiled(own), ["-Xmx1g"]), f"{package}.{package.title()}{program}"]
    with answering(command, folder / f"{package}.log") as process:
        yield process


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
