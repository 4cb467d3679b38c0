"""Masks, samples and erasure, as a user calls them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.commands import lines, result_of, run
from support.erasures import erased
from support.masks import SECRET

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def states(samples: Path) -> Path:
    return samples / "states-2.2.1-rocksdb-native"


def test_a_draft_of_rules_masks_the_savepoint(
    spark: SparkSession, states: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, draft = run("mask", states, "--suggest")
    assert code == 0
    rules = tmp_path / "rules.yaml"
    rules.write_text(draft, encoding="utf-8")
    code, output = run("mask", states, rules, tmp_path / "out")
    assert code == 1
    assert "SAVEPOINT_MASK_SECRET" in output
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)
    code, output = run("mask", states, rules, tmp_path / "out", "--strict")
    assert code == 1
    assert "no rule names 1 fields" in output
    (planned,) = lines("mask", states, rules, tmp_path / "out", "--dry-run")
    assert not (tmp_path / "out").exists()
    (written,) = lines("mask", states, rules, tmp_path / "out")
    assert written["masked"] == planned["masked"]
    by_field = {(field["state"], field["field"]): field for field in written["masked"]}
    assert by_field["", "key"]["changed"] == by_field["", "key"]["values"] > 0
    assert by_field["coordinator_state", "value"]["method"] == "no rule"


def test_a_sample_is_masked_in_one_line(
    spark: SparkSession, states: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{type: text, method: hash}]", encoding="utf-8")
    code, output = run("sample", states, tmp_path / "out", "--fraction", "0.5", "--mask", rules)
    assert code == 0, output
    assert "hash" in output
    rows = lines("show", tmp_path / "out", "stateful.keyed_state", "-n", "100")
    assert 0 < len(rows) < 23
    assert all(len(row["key"]) == 20 for row in rows)


def test_found_keys_are_deleted_and_the_certificate_says_so(
    spark: SparkSession, states: Path, tmp_path: Path
) -> None:
    found, out = tmp_path / "found.json", tmp_path / "out"
    code, output = run("find", states, "customer-005", "--save", found)
    assert code == 0
    assert "value.name" in output
    certificates = tmp_path / "erased.json", tmp_path / "erased.html"
    arguments = (
        "--found",
        found,
        "--certificate",
        certificates[0],
        "--certificate",
        certificates[1],
    )
    code, output = run("delete-keys", states, out, *arguments)
    # An element of operator state, which no key has, and files have it inside of longer texts.
    assert code == 1
    assert "still has found values" in output
    certificate = json.loads(certificates[0].read_text(encoding="utf-8"))
    assert not certificate["is_erased"]
    assert all(place["file"] for place in certificate["after"])
    assert "customer-005" not in certificates[1].read_text(encoding="utf-8")
    erased = Savepoint.open(out, uids=["stateful"])
    assert not erased.key("customer-005").is_found
    assert erased.key("customer-006").is_found


def test_erased_texts_are_nowhere(spark: SparkSession, samples: Path, tmp_path: Path) -> None:
    windows = samples / "windows-2.2.1-rocksdb-native"
    found, out, certificate = tmp_path / "found.json", tmp_path / "out", tmp_path / "erased.json"
    assert run("find", windows, "customer-005", "--save", found)[0] == 0
    arguments = ("--found", found, "--certificate", certificate)
    code, output = run("delete-keys", windows, out, *arguments)
    told = json.loads(certificate.read_text(encoding="utf-8"))
    assert (code, told["is_erased"], told["after"]) == (0, True, []), output
    assert len({place["operator"] for place in told["before"] if not place["file"]}) > 1
    assert told["files_before"] != told["files_after"]
    assert result_of("find", out, "customer-005").exit_code == 3


def test_old_versions_of_an_operator_without_the_key_are_erased(
    spark: SparkSession, samples: Path, tmp_path: Path
) -> None:
    # No current value has it, so no key is deleted; a table of RocksDB still had an old version.
    code, told, output = erased(
        samples / "objects-1.20.5-rocksdb-native", tmp_path / "out", "memo 155"
    )
    assert (code, told["is_erased"]) == (0, True), output
    assert told["before"]
    assert not Savepoint.open(tmp_path / "out").find(["memo 155"]).is_found


def test_a_number_is_erased_for_sure_only_from_operators_that_are_written_anew(
    spark: SparkSession, samples: Path, tmp_path: Path
) -> None:
    windows = samples / "windows-2.2.1-rocksdb-native"
    code, told, output = erased(windows, tmp_path / "copied", "77777777")
    assert (code, told["is_erased"]) == (3, None)
    assert "--rewrite" in output
    _, told, _ = erased(windows, tmp_path / "rewritten", "77777777", "--rewrite")
    assert not any("old versions" in problem for problem in told["problems_after"])


def test_wrong_calls_are_told(states: Path, tmp_path: Path) -> None:
    for arguments in (
        ("mask", states),
        ("mask", states, "--suggest", __file__, tmp_path),
        ("sample", states, tmp_path / "out"),
        ("delete-keys", states, tmp_path / "out"),
        ("delete-keys", states, "stateful", tmp_path / "out", "--found", __file__),
        ("delete-keys", states, "stateful", tmp_path / "out", "--where", "1", "--certificate", "x"),
        ("find", states),
    ):
        assert run(*arguments)[0] == 2, arguments
