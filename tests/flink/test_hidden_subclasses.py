"""Subclasses that no snapshot describes, in all places of heap state that a real Flink wrote.

The snapshots of RocksDB describe them, so the same job's savepoint of RocksDB tells what is right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support import hidden_jobs
from support.nightly import nightly

from savepoint_formats.errors import UndecodableError, UndescribedSubclassError

if TYPE_CHECKING:
    from pathlib import Path

STATES = ("item", "items", "by_name", "holder", "holders", "holder_by_name", "list", "map")
GIFT = b"\x04\x00\x0bhidden.Gift"


@pytest.mark.parametrize("release", [pytest.param("1.20.5", marks=nightly), "2.2.1"])
def test_a_value_of_a_heap_file_is_that_of_rocksdb_or_bytes_with_the_reason(
    tmp_path: Path, release: str
) -> None:
    paths = hidden_jobs.savepoints(release, tmp_path, "hashmap-native", "rocksdb-native")
    right, heap = (paths[f"{backend}-native"] for backend in ("rocksdb", "hashmap"))
    for state in STATES:
        expected = _by_key(right, state)
        assert len(expected) == hidden_jobs.KEYS
        assert _sorted(_by_key(heap, state, is_described=True)) == _sorted(expected)
        found = _told_apart(heap, state)
        # In a key group, bytes may fit in two ways, and then none is believed.
        assert len(found) > hidden_jobs.KEYS * 3 // 4
        seen: list[str] = []
        for key, value in found.items():
            _check(value, expected[key], seen)
        assert seen.count("value")
        assert seen.count("bytes")
    check_map_keys(right, heap)


def check_map_keys(right: str, heap: str) -> None:
    """Keys of a map are needed to tell its entries apart, so none of them is bytes."""
    expected = _by_key(right, "by_item", "by_items")
    found = _by_key(heap, "by_item", "by_items", is_described=True)
    assert _sorted(found) == _sorted(expected)
    with pytest.raises(UndescribedSubclassError, match="describe the class") as error:
        _by_key(heap, "by_item", "by_items", undescribed_subclasses="rest")
    assert "read it as bytes" not in str(error.value)


def _told_apart(path: str, state: str) -> dict[int, Any]:
    """The rows of all key groups whose states can be told apart; other key groups are an error that says so."""
    try:
        return _by_key(path, state, undescribed_subclasses="rest")
    except UndecodableError:
        savepoint = hidden_jobs.opened(path).with_forms(undescribed_subclasses="rest")
    found = {}
    for group in range(savepoint.operator("items").record.max_parallelism):
        scan = savepoint.scan("items.keyed_state", columns=("key", state), key_groups=group)
        try:
            found.update({row["key"]: row[state] for row in scan.to_arrow().to_pylist()})
        except UndecodableError as error:
            assert f"key group {group}" in str(error)  # noqa: PT017 - it is one of many key groups
            assert "does not describe" in str(error)  # noqa: PT017 - as above
    return found


def _by_key(
    path: str, state: str, uid: str = "items", *, is_described: bool = False, **forms: Any
) -> dict[int, Any]:
    savepoint = hidden_jobs.opened(path, is_described=is_described).with_forms(**forms)
    scan = savepoint.scan(f"{uid}.keyed_state", columns=("key", state))
    return {row["key"]: row[state] for row in scan.to_arrow().to_pylist()}


def _sorted(values: dict[int, Any]) -> dict[int, Any]:
    """Entries of maps have no order."""
    return {
        key: sorted(value, key=str) if isinstance(value, list) else value
        for key, value in values.items()
    }


def _check(found: Any, right: Any, seen: list[str]) -> None:
    """A value is the right one, or bytes; bytes of several elements say how many these are."""
    if isinstance(right, list):
        _check_elements(found, right, seen)
    elif isinstance(right, tuple):
        assert found[0] == right[0]
        _check(found[1], right[1], seen)
    elif isinstance(found, dict) and found.get("$undecoded"):
        undecoded = found["$undecoded"]
        assert GIFT in undecoded["bytes"]
        assert "hidden.Gift, a subclass of hidden.Item" in undecoded["reason"]
        assert {value for name, value in found.items() if name != "$undecoded"} == {None}
        seen.append("bytes")
    else:
        assert _fields(right) == _fields(found)
        seen.append("value")


def _check_elements(found: list[Any], right: list[Any], seen: list[str]) -> None:
    if len(found) < len(right):
        last = found[-1][1] if isinstance(found[-1], tuple) else found[-1]
        hidden = len(right) - len(found)
        assert f"also those of {hidden} more elements" in last["$undecoded"]["reason"]
    if right and isinstance(right[0], tuple):
        found, right = sorted(found, key=lambda one: one[0]), sorted(right, key=lambda one: one[0])
    for one, other in zip(found, right, strict=False):
        _check(one, other, seen)


def _fields(value: Any) -> Any:
    """The fields of a value of a class without subclasses."""
    if not isinstance(value, dict):
        return value
    return {
        name: _fields(field)
        for name, field in value.items()
        if not name.startswith("$") and field is not None
    }
