"""Copies of samples that are damaged, and the faults that are told."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from savepoint_formats.checks.faults import Severity

if TYPE_CHECKING:
    from savepoint_database.checks.verification import Verification
    from savepoint_formats.checks.faults import Fault

ROCKSDB = "currency-2.2.1-rocksdb-native"
INCREMENTAL = "states-2.2.1-rocksdb-incremental/chk-2"
MERGED = "states-2.2.1-rocksdb-filemerging/chk-2"

Change = Callable[[bytearray], None]


def copied(samples: Path, name: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(samples / name, tmp_path / "savepoint"))


def changed(path: Path, change: Change) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def flipped(offset: int, mask: int = 0xFF) -> Change:
    def change(data: bytearray) -> None:
        data[offset] ^= mask

    return change


def damage(found: Verification) -> list[Fault]:
    assert (found.result == "damaged") == any(fault.is_damage for fault in found.faults)
    return [fault for fault in found.faults if fault.severity is Severity.DAMAGE]


def only_damage(found: Verification) -> Fault:
    (fault,) = damage(found)
    return fault
