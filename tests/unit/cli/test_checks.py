"""The commands that judge savepoints, as a user calls them."""

from __future__ import annotations

import json
import shutil
import struct
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import run
from support.longs_by_text import savepoint_of_longs

if TYPE_CHECKING:
    from pathlib import Path

FAULT = {
    "severity", "check", "problem", "operator", "subtask", "state", "key_group", "file", "offset",
    "lost_entries", "lost_bytes", "cost",
}  # fmt: skip


def answer(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    """Exit code and the one JSON object that was printed."""
    code, output = run(*arguments, "--output", "json")
    return code, json.loads(output)


@pytest.fixture
def currency(samples: Path, tmp_path: Path) -> Path:
    copy = shutil.copytree(samples / "currency-1.20.5-hashmap-canonical", tmp_path / "currency")
    return tmp_path / copy


def test_verify_ends_with_0_if_all_is_whole(currency: Path) -> None:
    code, found = answer("verify", currency)
    assert code == 0
    assert found.pop("path") == str(currency)
    assert found == {
        "depth": "deep", "result": "whole", "is_whole": True, "operators": 9, "files": 6, "file_size": 3546,
        "entries": 58, "faults": [],
    }  # fmt: skip
    assert "Faults: none" in run("verify", currency, "--quick")[1]


def test_verify_ends_with_1_and_names_what_is_missing(currency: Path) -> None:
    missing = next(path for path in currency.iterdir() if len(path.name) == 36)
    missing.unlink()
    code, found = answer("verify", currency, "--quick")
    assert code == 1
    assert (found["is_whole"], found["depth"]) == (False, "quick")
    (fault,) = found["faults"]
    assert set(fault) == FAULT
    assert (fault["severity"], fault["check"]) == ("damage", "files")
    assert fault["file"].endswith(missing.name)
    code, text = run("verify", currency)
    assert (code, missing.name in text.replace("\n", "")) == (1, True)


@pytest.mark.parametrize("size", [3, 500])
def test_verify_tells_of_metadata_that_cannot_be_read(currency: Path, size: int) -> None:
    path = currency / "_metadata"
    path.write_bytes(path.read_bytes()[:size])
    code, found = answer("verify", currency)
    assert code == 1
    assert [fault["check"] for fault in found["faults"]] == ["metadata"]


def test_verify_of_nothing_is_an_error(tmp_path: Path) -> None:
    code, output = run("verify", tmp_path / "nothing")
    assert (code, "does not exist" in output) == (1, True)


def test_diff_of_the_same_state_ends_with_0(samples: Path) -> None:
    before = samples / "currency-2.2.1-rocksdb-native"
    after = samples / "currency-1.20.5-hashmap-canonical"
    code, found = answer("diff", before, after)
    assert (code, found["result"], found["is_equal"]) == (0, "equal", True)
    assert {one["kind"] for one in found["differences"]} == {"setting"}
    assert {
        "kind": "setting",
        "name": "summarize",
        "what": "max parallelism",
        "before": "300",
        "after": "128",
    } in found["differences"]
    tables = {one.pop("table"): one for one in found["tables"]}
    assert tables["summarize.keyed_state"] == {
        "inserted": 0, "deleted": 0, "updated": 0, "unchanged": 24, "not_compared": [],
    }  # fmt: skip
    assert run("diff", before, after, "--changes") == (0, "")


def test_diff_of_one_table_ends_with_3_and_gives_its_changes(samples: Path, tmp_path: Path) -> None:
    before = savepoint_of_longs(tmp_path / "before", {"a": 1, "b": 2, "c": 3})
    after = savepoint_of_longs(tmp_path / "after", {"a": 1, "b": 20, "d": 4}, 7)
    code, found = answer("diff", before, after, "a.keyed_state", "--uid", "a")
    assert (code, found["result"]) == (3, "different")
    (table,) = found["tables"]
    assert [table[name] for name in ("inserted", "deleted", "updated", "unchanged")] == [1, 1, 1, 1]
    code, text = run("diff", before, after)
    assert (code, "update_postimage" in text) == (3, True)
    code, feed = run("diff", before, after, "--uid", "a", "--changes", "--output", "json")
    assert code == 3
    assert [json.loads(line) for line in feed.splitlines()] == [
        {"table": "a.keyed_state", "change_type": kind, "key": key, "total": total}
        for kind, key, total in (
            ("delete", "c", 3),
            ("insert", "d", 4),
            ("update_preimage", "b", 2),
            ("update_postimage", "b", 20),
        )
    ]


def test_diff_shows_of_an_updated_row_the_columns_that_differ(
    samples: Path, currency: Path
) -> None:
    before, after = struct.pack(">d", 908584.3125), struct.pack(">d", 9.5)
    for file in currency.iterdir():
        file.write_bytes(file.read_bytes().replace(before, after))
    paths = samples / "currency-1.20.5-hashmap-canonical", currency
    code, text = run("diff", *paths, "summarize.keyed_state", "--uid", "summarize")
    assert code == 3
    assert "change_type\tkey\ttotal\nupdate_preimage\t1000\t908584.3125" in text
    assert "1 of 1 shown, updated (--all-columns shows" in text
    _, whole = run("diff", *paths, "summarize.keyed_state", "--uid", "summarize", "--all-columns")
    assert "change_type\tkey\ttotal\tcount\nupdate_preimage\t1000\t908584.3125\t11" in whole
    assert "--all-columns" not in whole
    _, feed = run("diff", *paths, "summarize.keyed_state", "--changes")
    assert feed.splitlines()[1].split("\t")[1:] == ["update_preimage", "1000", "908584.3125", "11"]


def test_diff_of_a_table_that_there_is_not(samples: Path) -> None:
    path = samples / "currency-2.2.1-rocksdb-native"
    code, output = run("diff", path, path, "summarize.nothing")
    assert (code, "nothing" in output) == (2, True)
