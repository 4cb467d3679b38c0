"""The samples of the case ``objects``, and what their job put into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from state_processor import Savepoint
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from savepoint_database.types.class_library import DescribedClasses

OBJECTS = sorted(path.name for path in SAMPLES.glob("objects-*"))
# Each of 40 keys keeps an object of its last transaction.
IDS = range(200, 240)

_NAMES = ("basket", "crate", "payment", "shape")
UIDS = (
    *("transactions", "transactions_source", "watermarks"),
    *(f"{name}s" for name in _NAMES),
    *(f"{name}_sink" for name in _NAMES),
)


def opened(path: str | Path, classes: DescribedClasses = ()) -> Savepoint:
    """A sample, or a savepoint that was made of one."""
    return Savepoint.open(str(SAMPLES / path), uids=UIDS, kryo_classes=classes)


def by_id(savepoint: Savepoint, table: str, **options: Any) -> dict[int, dict[str, Any]]:
    """The rows of a table, by the number of the last transaction."""
    scan = savepoint.scan(table, **options)
    rows = [
        row for split in scan.splits() for batch in scan.read(split) for row in batch.to_pylist()
    ]
    rows_by_id = {row["id"]: row for row in rows}
    assert len(rows_by_id) == len(rows)
    return rows_by_id


def timers(savepoint: Savepoint, uid: str) -> list[int]:
    """The keys of the timers of an operator."""
    scan = savepoint.scan(f"{uid}.timers")
    batches = (batch for split in scan.splits() for batch in scan.read(split))
    return sorted(key for batch in batches for key in batch.column("key").to_pylist())


def plain_state(number: int) -> Mapping[str, Any]:
    """States beside the object of each key."""
    return {"key": number % 40, "id": number, "memo": f"memo {number}"}
