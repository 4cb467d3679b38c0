"""Checkpoints and savepoints of releases from 1.8 to 1.17 are read, those of all backends.

RocksDB's tables were of format 0 up to Flink 1.13.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from support.nightly import nightly
from support.old_jobs import FIRST_TIMER, ODD_ROWS, ROWS, Taken, expected_rows, taken

from savepoint_formats.checks.faults import Severity
from state_processor import Savepoint

RELEASES = ("1.8.3", "1.10.2", "1.11.6", "1.13.6", "1.15.4", "1.17.2")
LAST_OF_FORMAT_0 = 13
OLD_MAGIC = bytes.fromhex("57fb808b247547db")
"""The end of RocksDB's tables of format 0."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(release, marks=[] if release in ("1.8.3", "1.13.6") else nightly)
        for release in RELEASES
    ],
)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def snapshots(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Taken]:
    """By backend and kind."""
    heap = "filesystem" if _minor(release) < 14 else "hashmap"
    backends = ("rocksdb:incremental", "rocksdb", heap)
    found = list(taken(release, backends, tmp_path_factory.mktemp(release)))
    named = {f"{one.backend.replace(heap, 'heap')} {one.kind}": one for one in found}
    assert len(named) == len(found)
    return named


def _minor(release: str) -> int:
    return int(release.split(".")[1])


def _rows(savepoint: Savepoint, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = savepoint.sql(query).to_pylist()
    return found


def test_all_kinds_of_snapshots_are_taken(release: str, snapshots: dict[str, Taken]) -> None:
    """Savepoints in the native format are there from 1.15 on."""
    kinds = ("checkpoint", "canonical", *(("native",) if _minor(release) >= 15 else ()))
    backends = ("rocksdb-incremental", "rocksdb", "heap")
    assert snapshots.keys() == {f"{backend} {kind}" for backend in backends for kind in kinds}
    shared = snapshots["rocksdb-incremental checkpoint"].path.parent / "shared"
    magics = {path.read_bytes()[-len(OLD_MAGIC) :] for path in shared.iterdir()}
    assert (OLD_MAGIC in magics) == (_minor(release) <= LAST_OF_FORMAT_0)


def test_all_of_them_are_read(snapshots: dict[str, Taken]) -> None:
    for name, one in snapshots.items():
        savepoint = Savepoint.open(str(one.path), uids=["numbers", "counting"])
        rows = _rows(savepoint, "SELECT * FROM counting.keyed_state ORDER BY key")
        assert [row | {"rates": dict(row["rates"])} for row in rows] == expected_rows(), name
        timers = _rows(savepoint, "SELECT timestamp, key FROM counting.timers ORDER BY timestamp")
        assert [timer["timestamp"] - FIRST_TIMER for timer in timers] == list(range(ROWS)), name
        positions = _rows(savepoint, "SELECT value FROM numbers.position ORDER BY value")
        assert [row["value"] for row in positions] == [ROWS, ROWS + 1], name


def test_state_of_unknown_keys_and_namespaces_is_read(
    release: str, snapshots: dict[str, Taken]
) -> None:
    """Flink stores the sizes of keys and namespaces, except for the heap in its own format."""
    for name, one in snapshots.items():
        if name.startswith("heap") and (_minor(release) < 13 or "canonical" not in name):
            continue
        savepoint = Savepoint.open(str(one.path), uids=["odd", "text"])
        by_name = {"by_text": str, "by_odd": dict}
        for operator, (state, kind) in product(("odd", "text"), by_name.items()):
            (table,) = [
                table.sql
                for table in savepoint.tables()
                if table.table.startswith(operator) and state in table.states
            ]
            rows = _rows(savepoint, f"SELECT * FROM {table} ORDER BY {state}")
            assert [row[state] for row in rows] == list(range(ODD_ROWS))
            for number, row in enumerate(rows):
                assert row[f"{state}_map"] == [(f"n{number}", number)]
                key, namespace = _odd(row["key"]), _odd(row["namespace"])
                assert isinstance(row["namespace"], kind)
                assert isinstance(row["key"], dict) == (operator == "odd")
                assert (key, namespace) == (f"key-{number % 50}", f"{state[3:]}-{number}")


def _odd(value: Any) -> str:
    """A text, or the text in bytes of an unknown class."""
    if isinstance(value, str):
        return value
    assert value["reason"] == "old.Odd$Snapshot: its class is not known"
    size, *text = value["bytes"]
    assert size == len(text)
    return bytes(text).decode()


def test_all_of_them_are_whole_but_for_unknown_classes(snapshots: dict[str, Taken]) -> None:
    for name, one in snapshots.items():
        found = Savepoint.open(str(one.path), uids=["odd", "text"]).verify()
        assert found.result == "not read", name
        for fault in found.faults:
            assert fault.severity is Severity.NOT_READ, name
            assert fault.operator in ("odd", "text"), name
            assert "old.Odd$Snapshot: its class is not known" in fault.problem, name
