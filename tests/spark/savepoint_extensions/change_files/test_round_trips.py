"""A command writes the same savepoint as ``apply`` with what its ``--print-change`` printed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.local_counts import MERGE, write_local
from support.masks import SECRET
from support.nightly import nightly
from support.sample_rows import SAMPLES

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    Words = tuple[str | Path, ...]

pytestmark = pytest.mark.usefixtures("spark")

CURRENCY = SAMPLES / "currency-2.2.1-hashmap-canonical"
STATES = SAMPLES / "states-2.2.1-hashmap-native"
CUSTOMER = ("stateful", "customer")
METRIC = "shop.Metric"

SMALL: dict[str, tuple[Path, Words]] = {
    "rename-operator": (CURRENCY, ("summarize", "totals", "OUT")),
    "remove-operator": (CURRENCY, ("summarize", "OUT")),
    "remove-state": (CURRENCY, ("summarize", "count", "OUT")),
    "rename-state": (CURRENCY, ("summarize", "total", "sum", "OUT")),
    "update-state": (
        CURRENCY,
        ("summarize", "total", "OUT", "--set", "abs(total) + 1", "--where", "count > 1"),
    ),
    "delete-keys": (CURRENCY, ("summarize", "OUT", "--where", "key > 4")),
    "rescale": (CURRENCY, ("OUT", "--max-parallelism", "64", "--parallelism", "3")),
    "sample": (CURRENCY, ("OUT", "--fraction", "0.5")),
    "convert": (SAMPLES / "currency-2.2.1-rocksdb-native", ("OUT",)),
}
LARGE: dict[str, tuple[Path, Words]] = {
    "rename-class": (STATES, ("shop.Customer=shop.Client", "shop.Address=shop.Place", "OUT")),
    "rename-field": (STATES, (*CUSTOMER, "address.zip", "code", "OUT")),
    "add-field": (STATES, (*CUSTOMER, "vip", "BOOLEAN", "OUT", "--value", "last_id > 200")),
    "drop-field": (STATES, (*CUSTOMER, "tags", "OUT")),
    "widen-field": (STATES, (*CUSTOMER, "purchases", "LONG", "OUT")),
}


def expect_same(name: str, path: Path, words: Words, folder: Path, *options: str | Path) -> None:
    """Runs a command, and ``apply`` with its entry; both savepoints are the same."""
    of_command, of_apply = folder / "of-command", folder / "of-apply"
    call = [name, path, *(of_command if word == "OUT" else word for word in words), *options]
    code, entry = run(*call, "--print-change")
    assert code == 0, entry
    assert not of_command.exists()
    code, output = run(*call)
    assert code == 0, output
    file = folder / "changes.yaml"
    file.write_text(entry)
    code, output = run("apply", path, file, of_apply, *options)
    assert code == 0, output
    expect_equal(of_command, of_apply)


def expect_equal(first: Path, second: Path) -> None:
    one, other = Savepoint.open(str(first)), Savepoint.open(str(second))
    assert one.job_schema().as_json() == other.job_schema().as_json()
    found = one.diff(other, with_times=False)
    assert found.differences == ()
    assert [table.table for table in found.tables if not table.is_equal] == []
    assert one.metadata.version == other.metadata.version
    sizes = [
        [(it.record.operator_id, it.record.parallelism, it.record.max_parallelism) for it in each]
        for each in (one.operators(), other.operators())
    ]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("name", SMALL)
def test_a_command_and_its_entry_write_the_same(name: str, tmp_path: Path) -> None:
    path, words = SMALL[name]
    expect_same(name, path, words, tmp_path)


@nightly
@pytest.mark.parametrize("name", LARGE)
def test_a_command_about_values_and_its_entry_write_the_same(name: str, tmp_path: Path) -> None:
    path, words = LARGE[name]
    expect_same(name, path, words, tmp_path)


def test_masks_from_a_file_and_in_the_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "rules: [{field: key, method: digits}, {state: total, method: fixed, value: '7'}]"
    )
    expect_same("mask", CURRENCY, (rules, "OUT"), tmp_path)
    inline = [{"mask": {"rules": [
        {"field": "key", "method": "digits"}, {"state": "total", "method": "fixed", "value": "7"}
    ]}}]  # fmt: skip
    assert SECRET not in (tmp_path / "changes.yaml").read_text()
    (tmp_path / "inline.json").write_text(json.dumps(inline))
    code, output = run("apply", CURRENCY, tmp_path / "inline.json", tmp_path / "of-inline")
    assert code == 0, output
    expect_equal(tmp_path / "of-command", tmp_path / "of-inline")


def test_found_keys_are_erased(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    code, output = run("find", CURRENCY, "7", "--save", found)
    assert code == 0, output
    expect_same("delete-keys", CURRENCY, ("OUT", "--found", found, "--rewrite"), tmp_path)


def test_local_state_is_merged(spark: SparkSession, tmp_path: Path) -> None:
    local = tmp_path / "local"
    write_local(spark, local)
    rules = [part for state, rule in MERGE.items() for part in ("--merge", f"{state}={rule}")]
    words = ("OUT", "--operator", "counts", *rules)
    expect_same("merge-local", local, words, tmp_path, "--uid", "counts")


def test_constants_are_renamed_and_dropped(cases: Path, tmp_path: Path) -> None:
    path = cases / "10-enum-constants"
    for name, words in (
        ("rename-constant", (METRIC, "RATE_AT_MOST", "RATE_BELOW", "OUT")),
        ("drop-constant", (METRIC, "OLD_ONE", "OUT")),
    ):
        folder = tmp_path / name
        folder.mkdir()
        expect_same(name, path, words, folder)


@pytest.mark.parametrize("options", [(), ("--state",)], ids=["operator", "state"])
def test_rows_of_a_file_are_imported(options: tuple[str, ...], tmp_path: Path) -> None:
    data, description = tmp_path / "totals.parquet", tmp_path / "totals.yaml"
    code, output = run("export", CURRENCY, "summarize.keyed_state", data)
    assert code == 0, output
    state = {"name": "total", "kind": "value", "type": "DOUBLE"}
    described = {"uid": "summarize", "keyed_state": {"key": "key", "states": [state]}}
    description.write_text(json.dumps({**described, "base": str(CURRENCY)}))
    call: Words = ("import", data, tmp_path / "of-command", "--description", description, *options)
    code, entry = run(*call, "--print-change")
    assert code == 0, entry
    code, output = run(*call)
    assert code == 0, output
    file = tmp_path / "changes.yaml"
    file.write_text(entry)
    code, output = run("apply", CURRENCY, file, tmp_path / "of-apply")
    assert code == 0, output
    expect_equal(tmp_path / "of-command", tmp_path / "of-apply")
    other = SAMPLES / "currency-2.2.1-hashmap-native"
    code, output = run("apply", other, file, tmp_path / "elsewhere")
    assert (code, "remove base from the description" in output) == (1, True)


def test_all_changes_in_one_file_equal_the_commands_one_after_the_other(tmp_path: Path) -> None:
    calls: list[Callable[[Path, Path], Words]] = [
        lambda path, out: ("rename-state", path, "summarize", "total", "sum", out),
        lambda path, out: ("remove-state", path, "summarize", "count", out),
        lambda path, out: ("rename-operator", path, "summarize", "totals", out),
        lambda path, out: ("update-state", path, "totals", "sum", out, "--set", "abs(sum)"),
        lambda path, out: ("rescale", path, out, "--max-parallelism", "64"),
    ]
    path, entries = CURRENCY, []
    for number, call in enumerate(calls):
        out = tmp_path / f"step-{number}"
        code, entry = run(*call(path, out), "--print-change")
        assert code == 0, entry
        entries.append(entry)
        code, output = run(*call(path, out))
        assert code == 0, output
        path = out
    file = tmp_path / "changes.yaml"
    file.write_text("".join(entries))
    code, output = run("apply", CURRENCY, file, tmp_path / "at-once")
    assert code == 0, output
    expect_equal(path, tmp_path / "at-once")
    code, output = run("apply", CURRENCY, file, tmp_path / "unused", "--dry-run")
    assert (code, output.count("summarize")) >= (0, 3)


def test_an_expression_that_spark_refuses_has_its_line(tmp_path: Path) -> None:
    change = {"update-state": {"operator": "summarize", "state": "total", "set": "totl + 1"}}
    file = tmp_path / "changes.yaml"
    file.write_text(json.dumps([change]))
    code, output = run("apply", CURRENCY, file, tmp_path / "out")
    assert code == 2
    assert f"in {file} line 1 column 3, update-state" in output
