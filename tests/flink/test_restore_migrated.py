"""Savepoints of Flink 1.x that were migrated, restored by Flink 2.x with the same classes.

``SAVEPOINT_MIGRATIONS=all`` has both releases of 1.x write with both backends in both formats, and
three of 2.x restore on both, at another parallelism: 48 restores, in some minutes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from support import depot
from support.flink_restore import BACKENDS, FlinkRestore
from support.object_classes import CARD, CLASSES
from support.object_samples import UIDS
from support.rewritten import OBJECTS
from support.sample_rows import SAMPLES

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from pyspark.sql import SparkSession
    from support.flink_restore import Restored

IS_ALL = os.environ.get("SAVEPOINT_MIGRATIONS") == "all"
VARIANTS = ("hashmap-native", "rocksdb-canonical", "hashmap-canonical", "rocksdb-native")
WRITERS = {"1.20.5": VARIANTS, "1.18.1": VARIANTS} if IS_ALL else {"1.20.5": VARIANTS[:1]}
READERS = ("2.0.2", "2.2.1", "2.3.0") if IS_ALL else ("2.2.1",)


@pytest.mark.parametrize("written_by", ["rocksdb-native", "hashmap-canonical"])
def test_flink_2_sees_what_a_job_of_its_own_has_written(
    spark: SparkSession, flink_restore: FlinkRestore, tmp_path: Path, written_by: str
) -> None:
    path = str(SAMPLES / f"objects-1.20.5-{written_by}")
    old = Savepoint.load(spark, path, uids=UIDS, kryo_classes=(*CLASSES, CARD))
    old.migrate("2.2").write(str(tmp_path / "migrated"))
    own = flink_restore(SAMPLES / "objects-2.2.1-hashmap-canonical", *OBJECTS)
    for backend in BACKENDS:
        migrated = flink_restore(tmp_path / "migrated", *OBJECTS, backend=backend, parallelism=2)
        for one in OBJECTS:
            assert len(own.keyed_state(one.uid)) == 40
            assert migrated.keyed_state(one.uid) == own.keyed_state(one.uid)


@pytest.mark.parametrize("release", WRITERS)
def test_flink_2_sees_what_flink_1_has_seen(
    spark: SparkSession, flink_restore: FlinkRestore, tmp_path: Path, release: str
) -> None:
    """POJOs and objects of Kryo in every place that state has, with every kind of collection."""
    for variant, path in depot.filled(release, WRITERS[release], tmp_path).items():
        out = tmp_path / f"migrated-{variant}"
        old = Savepoint.load(spark, str(path), uids=depot.UIDS, kryo_classes=depot.CLASSES)
        old.migrate("2.2").write(str(out))
        backend = variant.partition("-")[0]
        seen = facts(flink_restore(path, *depot.OPERATORS, flink="1.20.5", backend=backend))
        assert {name: len(rows) for name, rows in seen.items()} == COUNTS
        for flink in READERS:
            for backend in BACKENDS:
                restored = flink_restore(
                    out,
                    *depot.OPERATORS,
                    flink=flink,
                    backend=backend,
                    parallelism=2,
                    config=depot.WITH_REGISTRATION,
                )
                assert facts(restored) == seen

        if variant == VARIANTS[0]:
            check_renamed(old, seen, flink_restore, tmp_path / "renamed")


def check_renamed(
    old: Savepoint, seen: dict[str, list[Any]], flink_restore: FlinkRestore, out: Path
) -> None:
    """A job whose classes have other names sees the same, of either Flink."""
    renamed = old.writer()
    for name, new_name in depot.RENAMED.items():
        renamed = renamed.rename_class(name, new_name)
    renamed.write(str(out / "1"))
    old.migrate("2.2", rename_classes=depot.RENAMED).write(str(out / "2"))
    for folder, flink, config in (("1", "1.20.5", {}), ("2", "2.2.1", depot.WITH_RENAMED)):
        files = b"".join(path.read_bytes() for path in (out / folder).rglob("*") if path.is_file())
        assert b"moved.BigIte" in files
        assert not any(name[:-1].encode() in files for name in depot.RENAMED)
        operators = depot.RENAMED_OPERATORS
        restored = flink_restore(out / folder, *operators, flink=flink, config=config)
        assert facts(restored) == seen


COUNTS = {
    "stocks": 24,
    "stocks timers": 24,
    "places": 24,
    "places timers": 24,
    "codes": 24,
    "codes timers": 24,
    "windows": 24,
    "windows timers": 24,
    "list": 24,
    "union": 24,
    "rules": 24,
}


def facts(restored: Restored) -> dict[str, list[Any]]:
    """State that Flink shows, of all subtasks together."""
    found: dict[str, list[Any]] = {}
    for one in depot.KEYED:
        found[one.uid] = restored.keyed_state(one.uid)
        found[f"{one.uid} timers"] = restored.timers(one.uid)
    found["windows"] = restored.window_state("windows")
    found["windows timers"] = restored.timers("windows")
    for uid, names in (("lists", ("list", "union")), ("rules", ("rules",))):
        for name in names:
            # Union and broadcast state are whole in each subtask.
            elements = {repr(one) for one in restored.elements(uid, name)}
            found[name] = sorted(elements)
    return found
