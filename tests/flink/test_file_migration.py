"""A job of Flink 1 that watches a directory goes on in Flink 2: each line is counted once."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.file_jobs import file_jobs
from support.nightly import nightly

from savepoint_extensions.connectors.monitored_files import waiting_splits
from savepoint_formats.errors import MigrationError
from savepoint_formats.savepoint_warnings import ConnectorWarning
from savepoint_formats.scan import ReadOptions
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from support.kafka_broker import Answering

UIDS = ("lines", "counts", "files")
SIZE = 20


def write(folder: Path, name: str, first: int) -> None:
    """A file that appears at once, as the sources want it."""
    folder.mkdir(exist_ok=True)
    hidden = folder.parent / name
    hidden.write_text("".join(f"{number}\n" for number in range(first, first + SIZE)))
    hidden.rename(folder / name)


def words(folder: Path, start: str, parallelism: int, pause: int = 0) -> tuple[object, ...]:
    places = (folder / "in").as_uri(), (folder / "out").as_uri()
    return ("start", start, parallelism, (folder / "checkpoints").as_uri(), *places, pause)


def left(old: Answering, folder: Path, pause: int, count: int) -> str:
    """The savepoint of a job that has read so many lines at least, and was cancelled then."""
    old.line(*words(folder, "-", 1, pause))
    old.line("await", count)
    if not pause:
        time.sleep(0.5)  # the reader drops a split after its last line
    taken = old.line("savepoint", (folder / "savepoints").as_uri(), "CANONICAL")
    old.line("cancel")
    return taken.removeprefix("file:")


def stopped_of(old: Answering, folder: Path) -> Savepoint:
    """The savepoint of a job that it has stopped, and that has other outputs."""
    old.line(*words(folder, "-", 1)[:-2], (folder / "out-of-stopped").as_uri(), 0)
    old.line("await", 2 * SIZE)
    taken = old.line("stop", (folder / "stopped").as_uri())
    return Savepoint.open(taken.removeprefix("file:"), uids=UIDS)


def expect_each_once(folder: Path, count: int) -> None:
    lines = [
        line
        for file in (folder / "out").rglob("part-*")
        for line in file.read_text().split("\n")
        if line
    ]
    numbers = Counter(int(line.split()[2]) for line in lines)
    assert numbers == Counter(range(count))


@nightly
def test_each_line_is_counted_once(tmp_path: Path) -> None:
    read, waiting = tmp_path / "read", tmp_path / "waiting"
    for folder in (read, waiting):
        folder.mkdir()
        write(folder / "in", "a b.txt", 0)
        write(folder / "in", "c.txt", SIZE)
    with file_jobs("1.20.5", tmp_path) as old:
        taken = {read: left(old, read, 0, 2 * SIZE), waiting: left(old, waiting, 30, SIZE // 2)}
        stopped = stopped_of(old, read)
    assert stopped.compatibility("2.2").verdict == "silent corruption"
    with pytest.raises(MigrationError, match="no time of the newest file"):
        stopped.renew_connectors("lines", directory=(read / "in").as_uri())
    with file_jobs("2.2.1", tmp_path) as new:
        for folder, savepoint in taken.items():
            source = Savepoint.open(savepoint, uids=UIDS)
            with pytest.raises(MigrationError, match="--directory URI"):
                source.migrate()
            moved = folder / "moved"
            where = (folder / "in").as_uri()
            with pytest.warns(ConnectorWarning, match="won't read 2 files that were listed"):
                renewed = source.renew_connectors(
                    "lines", directory=where, positions=positions(source)
                )
            renewed.write(str(moved))
            ready = folder / "ready"
            Savepoint.open(str(moved), uids=UIDS).migrate().write(str(ready))
            write(folder / "in", "d.txt", 2 * SIZE)
            new.line(*words(folder, ready.as_uri(), 2))
            new.line("await", SIZE if folder is read else SIZE + 1)
            time.sleep(1.5)
            new.line("stop", (folder / "last").as_uri())
            expect_each_once(folder, 3 * SIZE)


def positions(source: Savepoint) -> dict[str, str]:
    """Records that were read of the file that a reader was in: those in the state of the count."""
    begun = [split for split in waiting_splits(source.operator("lines")) if split.has_begun]
    operator = source.operator("counts")
    (table,) = operator.readable_tables
    batches = operator.scan(table, ReadOptions()).batches()
    counted = sum(sum(batch.column("count").to_pylist()) for batch in batches)
    return {
        split.uri.removeprefix("").replace(
            "%20", " "
        ): f'{{"offset": -1, "records": {counted % SIZE}}}'
        for split in begun
    }
