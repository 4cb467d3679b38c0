"""A value of a known class of the JDK behind an object of an unknown one is read, in all ways."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import run
from support.hand_made import LONG, kryo_of
from support.hidden_values import KEYS, broadcast, heap, opened_canonical, rows, unknown
from support.serializer_snapshots import pojo

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.layout import Long
from savepoint_formats.snapshots.nested import snapshot_bytes
from savepoint_formats.values.value_writer import write_value
from state_processor import Types

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from state_processor import Savepoint

    Made = Callable[[Path, list[bytes], bytes], Savepoint]

NAME = str(OperatorId.from_uid("a"))
VALUES = {
    "java.util.UUID": [str(uuid.uuid5(uuid.NAMESPACE_URL, str(number))) for number in range(1, 4)],
    "java.net.URI": [f"https://example.org/{number}" for number in range(1, 4)],
}


def canonical(folder: Path, values: list[bytes], value: bytes) -> Savepoint:
    by_key = dict(zip(KEYS, values, strict=False))
    return opened_canonical(folder, {"order": value}, 0, by_key)


def written(type_information: Any, value: Any) -> bytes:
    view = DataOutputView()
    write_value(type_information.layout, value, view)
    return view.to_bytes()


@pytest.mark.parametrize("class_name", ["java.util.UUID", "java.net.URI"])
def test_it_is_read_counted_and_verified(class_name: str, tmp_path: Path) -> None:
    known = Types.KRYO(class_name, flink="1.20")
    value = pojo(
        "com.acme.P",
        {"a": kryo_of("com.acme.Unknown"), "u": snapshot_bytes(known.snapshot), "v": LONG},
    )
    long = DataOutputView()
    write_value(Long(), 7, long)
    values = [
        b"\2\0"
        + unknown(f"extra {number}".encode())
        + b"\0"
        + written(known, given)
        + b"\0"
        + long.to_bytes()
        for number, given in enumerate(VALUES[class_name])
    ]
    made: dict[str, tuple[Made, str, str]] = {
        "canonical": (canonical, "keyed_state", "order"),
        "heap": (heap, "keyed_state", "order"),
        "broadcast": (broadcast, "rules", "value"),
    }
    for form, (make, table, column) in made.items():
        folder = tmp_path / form
        folder.mkdir()
        savepoint = make(folder, values, value)
        read = {row["key"]: row[column] for row in rows(savepoint, table)}
        assert len(read) == len(values), form
        assert sorted(row["u"] for row in read.values()) == sorted(VALUES[class_name])
        assert {row["v"] for row in read.values()} == {7}
        assert {row["a"]["bytes"] for row in read.values()} == {
            unknown(f"extra {number}".encode()) for number in range(len(values))
        }
        assert not [it for it in savepoint.verify().faults if it.is_damage]
        for command in (
            ("query", folder, f'SELECT "{column}" FROM "{NAME}".{table}'),
            ("export", folder, f"{NAME}.{table}", folder / "rows.parquet", "--to", "parquet"),
            ("verify", folder),
        ):
            code, output = run(*command)
            assert code == (3 if command[0] == "verify" else 0), output
