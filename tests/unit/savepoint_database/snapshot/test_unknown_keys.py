"""Keys of an unknown serializer are bytes; what stands behind them is read by its stored size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

WINDOW_STATE = "SELECT * FROM op.window_state"


def rows(path: Path, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        Savepoint.open(str(path), uids=["op", "win"]).sql(query).to_pylist()
    )
    return found


@pytest.fixture
def folder(cases: Path) -> Path:
    return cases / "02-unknown-key-text-namespace"


def test_namespaces_and_values_of_unknown_keys_are_read(folder: Path) -> None:
    """Two jobs have the same state, and keys of their own class or texts."""
    by_text = {
        (row["key"], row["namespace"]): row for row in rows(folder / "text-key", WINDOW_STATE)
    }
    found = rows(folder / "odd-key", WINDOW_STATE)
    assert len(found) == len(by_text) == 36
    for row in found:
        key = row["key"]
        assert key["reason"] == "lab.OddKey$KSnap: its class is not known"
        size, text = key["bytes"][0], key["bytes"][1:]
        assert size == len(text)
        expected = by_text[text.decode(), row["namespace"]]
        assert {**row, "key": text.decode()} == expected


def test_unknown_keys_are_no_damage(folder: Path) -> None:
    found = Savepoint.open(str(folder / "odd-key")).verify()
    assert [fault for fault in found.faults if fault.is_damage] == []
