"""Old sources and sinks of Kafka without uids go on in Flink 2, from checkpoints of all forms.

The job has two sources, of which one reads two topics, and begins the other at the latest record. The new
sources have the hashes of the old ones (``setUidHash``); the sink gets a uid by ``rename_operator``.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.kafka_broker import Answering, Broker, broker, expect_jars, kafka_jobs
from support.nightly import nightly

from savepoint_formats.errors import MigrationError
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

LEGACY, CURRENT = "3.4.0-1.20", "5.0.0-2.2"
MODES = ("unaligned", "changelog", "incremental")
OLD, LATER = range(50), range(50, 60)


def place(folder: Path, broker: Broker, mode: str, start: str, parallelism: int) -> list[object]:
    checkpoints = (folder / "checkpoints" / mode).as_uri()
    return ["start", start, parallelism, checkpoints, broker.address, "in", f"out-{mode}"]


def retained(old: Answering, broker: Broker, folder: Path, mode: str) -> str:
    """The second checkpoint of a cancelled job, whose records after the first one are in it."""
    broker.process.lines("topic", f"out-{mode}", 1)
    old.line(*place(folder, broker, mode, "-", 2), mode)
    old.line("await", len(OLD))
    old.line("checkpoint")
    taken = old.line("checkpoint")
    old.line("cancel")
    return taken.removeprefix("file:")


@nightly
def test_jobs_without_uids_go_on(tmp_path: Path) -> None:
    expect_jars(LEGACY, CURRENT)
    with broker(tmp_path) as own:
        ask = own.process.lines
        for topic in ("in1", "in2", "in3"):
            ask("topic", topic, 2)
        ask("send", "in1", 0, 0, 30)
        ask("send", "in2", 1, 30, 50)
        ask("send", "in3", 0, 1000, 1007)  # before the latest record
        with kafka_jobs(LEGACY, tmp_path, program="Variants") as old:
            taken = {mode: retained(old, own, tmp_path, mode) for mode in MODES}
        ask("send", "in1", 1, 50, 55)
        ask("send", "in3", 1, 55, 60)
        with kafka_jobs(CURRENT, tmp_path, program="Variants") as new:
            for mode, path in taken.items():
                hashes, moved = migrated(path, tmp_path / mode)
                new.line(*place(tmp_path, own, mode, moved, 3), *hashes)
                new.line("await", len(LATER))
                time.sleep(1)
                new.line("stop", (tmp_path / "last").as_uri())
                numbers = Counter(int(row.split()[2]) for row in ask("read", f"out-{mode}"))
                assert numbers == Counter([*OLD, *LATER]), mode


def migrated(path: str, folder: Path) -> tuple[list[str], str]:
    """The hashes of the sources, and the savepoint for Flink 2."""
    savepoint = Savepoint.open(path, uids=["counts"], key_types={"counts": "long"})
    state = savepoint.kafka()
    sources = {row.topic: row.operator for row in state.offsets}
    assert sources["in1"] == sources["in2"] != sources["in3"]
    (sink,) = {row.operator for row in state.transactions}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(MigrationError, match=f"rename-operator PATH {sink} UID OUT"):
            savepoint.migrate()
        savepoint.rename_operator(sink, "results").migrate().write(str(folder))
    return [sources["in1"], sources["in3"]], folder.as_uri()
