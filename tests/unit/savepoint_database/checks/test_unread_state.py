"""``verify`` has three answers: state is whole, damaged, or not read; the last names each state once."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from support.commands import run

from savepoint_formats.checks.faults import Severity
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from savepoint_database.checks.verification import Verification

OBJECTS = "objects-2.2.1-hashmap-canonical"
WINDOWS = "windows-2.2.1-rocksdb-canonical"
STATES = "states-2.2.1-hashmap-canonical"
CURRENCY = "currency-1.20.5-hashmap-canonical"
LONG = b"org.apache.flink.api.common.typeutils.base.LongSerializer$LongSerializerSnapshot"


@pytest.fixture
def changed(samples: Path, tmp_path: Path) -> Callable[[str, bytes, bytes], Path]:
    """A copy of a sample in which some bytes are others."""

    def copy(name: str, before: bytes, after: bytes) -> Path:
        path = tmp_path / "changed"
        shutil.copytree(samples / name, path)
        count = 0
        for file in filter(lambda file: file.is_file(), path.iterdir()):
            data = file.read_bytes()
            count += data.count(before)
            file.write_bytes(data.replace(before, after))
        assert count
        return path

    return copy


def exit_code(path: Path) -> int:
    return run("verify", path)[0]


def severities(found: Verification) -> set[Severity]:
    return {fault.severity for fault in found.faults}


def test_values_of_unknown_classes_are_not_read(samples: Path) -> None:
    found = Savepoint.open(str(samples / OBJECTS)).verify()
    assert (found.result, found.is_whole) == ("not read", False)
    assert severities(found) == {Severity.NOT_READ}
    named = [(fault.operator, fault.state) for fault in found.faults]
    assert named == [("payments", "payment"), ("shapes", "shape"), ("crates", "crate")]
    parts = ("a subclass of shop.Payment", "shop.Shape$Square", "an object of shop.Parcel")
    for fault, part in zip(found.faults, parts, strict=True):
        assert part in fault.problem
    assert exit_code(samples / OBJECTS) == 3


def test_keys_of_unknown_serializers_are_not_read(cases: Path) -> None:
    path = cases / "02-unknown-key-text-namespace" / "odd-key"
    found = Savepoint.open(str(path)).verify()
    assert (found.result, found.entries) == ("not read", 72)
    states = [(fault.operator, fault.state) for fault in found.faults]
    assert len(set(states)) == len(states) == 7
    assert {fault.problem for fault in found.faults} == {"lab.OddKey$KSnap: its class is not known"}
    assert exit_code(path) == 3


def test_a_class_name_with_another_letter_is_not_read(
    changed: Callable[[str, bytes, bytes], Path],
) -> None:
    path = changed(WINDOWS, LONG, LONG[:-1] + b"u")
    found = Savepoint.open(str(path)).verify()
    assert found.result == "not read"
    assert all(
        "LongSerializerSnapshou: its class is not known" in fault.problem for fault in found.faults
    )
    assert exit_code(path) == 3


def test_a_snapshot_that_is_no_text_is_damaged(
    changed: Callable[[str, bytes, bytes], Path],
) -> None:
    """Snapshots inside of that of a POJO have a size, so that the others are read."""
    path = changed(STATES, b"BooleanSerializer$Boolean", b"\xffooleanSerializer$Boolean")
    for depth in ("quick", "deep"):
        found = Savepoint.open(str(path)).verify(depth)
        assert found.result == "damaged"
        (fault,) = found.faults
        assert (fault.severity, fault.state) == (Severity.DAMAGE, "customer")
        assert "can't be parsed: adult: not modified UTF-8" in fault.problem
    assert exit_code(path) == 1


@pytest.mark.parametrize(
    ("name", "result"), [("evens_window-timers", "damaged"), ("event_wandow-timers", "whole")]
)
def test_timers_under_a_name_that_no_job_looks_for_are_named(
    changed: Callable[[str, bytes, bytes], Path], name: str, result: str
) -> None:
    """A service has a name that only its job knows, and timers of both domains."""
    path = changed(WINDOWS, b"event_window-timers", name.encode())
    found = Savepoint.open(str(path)).verify("quick")
    assert found.result == result
    assert any(f"_timer_state/{name}" in fault.problem for fault in found.faults)


def test_a_file_of_another_store_is_not_read(
    changed: Callable[[str, bytes, bytes], Path],
) -> None:
    """Checkpoints name files by absolute paths; this one lay in a store of another machine."""
    path = changed("states-2.2.1-rocksdb-incremental/chk-2", b"file:/tmp/", b"nope:/tmp/")
    found = Savepoint.open(str(path)).verify()
    assert found.result == "not read"
    assert severities(found) == {Severity.NOT_READ}
    assert all("is not read: " in fault.problem for fault in found.faults)


def test_damage_outweighs_what_is_not_read(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy"
    shutil.copytree(samples / OBJECTS, path)
    file = max(
        (file for file in path.iterdir() if len(file.name) == 36), key=lambda it: it.stat().st_size
    )
    file.write_bytes(file.read_bytes()[:-1])
    found = Savepoint.open(str(path)).verify()
    assert found.result == "damaged"
    assert Severity.NOT_READ in severities(found)
    assert exit_code(path) == 1


def test_metadata_of_a_newer_flink_is_not_read(samples: Path, tmp_path: Path) -> None:
    data = bytearray((samples / CURRENCY / "_metadata").read_bytes())
    data[4:8] = (9).to_bytes(4, "big")
    (tmp_path / "_metadata").write_bytes(data)
    code, output = run("verify", tmp_path)
    assert (code, "not read" in output) == (3, True)
