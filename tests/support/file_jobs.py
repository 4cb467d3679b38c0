"""Jobs of two releases of Flink that watch a directory."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from flink_home import FlinkHome

from support.java_jobs import JOBS
from support.kafka_broker import Answering, answering
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def file_jobs(flink: str, folder: Path) -> Iterator[Answering]:
    """Jobs of a release of Flink, in one cluster."""
    home = FlinkHome.cached(flink)
    home.install()
    package, main = ("legacy", "LegacyFiles") if flink < "2" else ("current", "CurrentFiles")
    jobs = JOBS / "kafka_migration" / "jobs"
    own = [SAMPLES / "job" / "shop" / "LocalCluster.java", jobs, JOBS / "file_migration" / package]
    command = [*home.java(home.compiled(own), ["-Xmx1g"]), f"{package}.{main}"]
    with answering(command, folder / f"{package}.log") as process:
        yield process
