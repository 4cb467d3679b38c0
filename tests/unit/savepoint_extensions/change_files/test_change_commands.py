"""``savepoint apply`` and ``--print-change``, as a user calls them, without Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.commands import lines, result_of, run

from savepoint_extensions.change_files.change_table import own_kinds
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

CALLS: dict[str, tuple[tuple[str, ...], dict[str, Any] | None]] = {
    "rename-operator": (("a", "b", "OUT"), {"old": "a", "new": "b"}),
    "remove-operator": (
        ("a", "b", "OUT", "--empty", "--all-but", "c"),
        {"operator": ["a", "b"], "empty": True, "all-but": ["c"]},
    ),
    "remove-state": (("a", "s", "OUT"), {"operator": "a", "state": "s"}),
    "rename-state": (("a", "s", "t", "OUT"), {"operator": "a", "old": "s", "new": "t"}),
    "rename-class": (
        ("x.A=y.A", "x.B=y.B", "OUT", "--operator", "a"),
        {"classes": {"x.A": "y.A", "x.B": "y.B"}, "operator": "a"},
    ),
    "rename-constant": (("x.E", "A", "B", "OUT"), {"class": "x.E", "old": "A", "new": "B"}),
    "drop-constant": (("x.E", "yes", "OUT"), {"class": "x.E", "constant": "yes"}),
    "set-ttl": (
        ("a", "s", "on", "OUT", "--at", "2026-01-31T12:00:00Z"),
        {"operator": "a", "state": "s", "ttl": "on", "at": "2026-01-31T12:00:00Z"},
    ),
    "expire": (
        ("a", "OUT", "--state", "s", "--older-than", "7d"),
        {"operator": "a", "state": "s", "older-than": "7d"},
    ),
    "dedupe-list": (("a", "s", "OUT"), {"operator": "a", "state": "s"}),
    "rename-field": (
        ("a", "s", "f.g", "h", "OUT", "--nanoseconds", "struct"),
        {"operator": "a", "state": "s", "old": "f.g", "new": "h", "nanoseconds": "struct"},
    ),
    "add-field": (
        ("a", "s", "f", "LIST<INT>", "OUT", "--value", "x > 'é'", "--before", "g"),
        {
            "operator": "a", "state": "s", "field": "f", "type": "LIST<INT>",
            "value": "x > 'é'", "before": "g",
        },
    ),
    "drop-field": (("a", "s", "f", "OUT"), {"operator": "a", "state": "s", "field": "f"}),
    "widen-field": (
        ("a", "s", "f", "LONG", "OUT", "--undescribed-subclasses", "bytes"),
        {
            "operator": "a", "state": "s", "field": "f", "type": "LONG",
            "undescribed-subclasses": "bytes",
        },
    ),
    "update-state": (
        ("a", "s", "OUT", "--set", "x + 1", "--where", "x > 2", "--last-access", "now()"),
        {
            "operator": "a", "state": "s", "set": "x + 1",
            "where": "x > 2", "last-access": "now()",
        },
    ),
    "delete-keys": (("a", "OUT", "--where", "x = 0"), {"operator": "a", "where": "x = 0"}),
    "rescale": (
        ("OUT", "--max-parallelism", "64", "--hash-codes", "a=Objects.hash(id, name)"),
        {"max-parallelism": 64, "hash-codes": {"a": "Objects.hash(id, name)"}},
    ),
    "convert": (("OUT", "--drop-in-flight"), {"drop-in-flight": True}),
    "merge-local": (
        ("OUT", "--operator", "a", "--merge", "n=sum", "--merge", "m=max"),
        {"operator": "a", "merge": {"n": "sum", "m": "max"}},
    ),
    "import": (
        ("OUT", "--description", "FILE", "--format", "csv", "--state"),
        {"data": "PATH", "description": "FILE", "format": "csv", "state": True},
    ),
    "kafka": (("--set-offsets", "FILE", "--operator", "a"), {"set-offsets": "FILE", "operator": "a"}),
    "sinks": (
        ("OUT", "--drop", "x < 17", "--renumber", "0", "--transactional-prefix", "p"),
        {"drop": "x < 17", "renumber": 0, "transactional-prefix": "p"},
    ),
    "sources": (
        (
            *("--set", 's=[{"a": "b=c"}]', "--drop-table", "t", "--drop-table", "u"),
            *("--release-finished", "--drop-topic", "x", "--drop-partition", "x-1"),
            *("--drop-file", "f", "--reset", "o"),
        ),
        {
            "set": {"s": '[{"a": "b=c"}]'}, "drop-table": ["t", "u"], "release-finished": True,
            "drop-topic": ["x"], "drop-partition": ["x-1"], "drop-file": ["f"], "reset": ["o"],
        },
    ),
    "transplant": (
        ("trial", "OUT", "--operator", "a", "--new-uid", "b"),
        {"other": "trial", "operator": "a", "new-uid": "b"},
    ),
    "mask": (("FILE", "OUT", "--strict"), {"rules": "FILE", "strict": True}),
    "sample": (
        ("OUT", "--fraction", "0.5", "--mask", "FILE"),
        {"fraction": 0.5, "mask": "FILE"},
    ),
    "sql-migrate": (
        ("FILE", "PATH", "OUT", "--matches", "FILE", "--rename", "a=b", "--accept", "n", "--allow-loss"),
        {
            "new": "FILE", "matches": "FILE", "rename": {"a": "b"}, "accept": ["n"],
            "allow-loss": True,
        },
    ),
    "change-avro": (
        ("a", "s", "FILE", "OUT"), {"operator": "a", "state": "s", "schema": "FILE"},
    ),
    "migrate": (
        ("OUT", "--target", "2.1", "--skip-state", "a/s", "--rename-class", "x.A=y.A"),
        {"target": "2.1", "skip-state": ["a/s"], "rename-class": {"x.A": "y.A"}},
    ),
}  # fmt: skip


@pytest.fixture
def currency(samples: Path) -> Path:
    return samples / "currency-2.2.1-hashmap-canonical"


def changes_in(folder: Path, *changes: Any) -> Path:
    file = folder / "changes.yaml"
    file.write_text(yaml.safe_dump(list(changes), sort_keys=False))
    return file


def contents(path: Path) -> set[tuple[str, int]]:
    record = Savepoint.open(str(path)).operators()
    return {(operator.name, operator.record.max_parallelism) for operator in record}


def test_there_is_a_call_for_each_kind() -> None:
    assert set(CALLS) == set(own_kinds())


@pytest.mark.parametrize("name", CALLS)
def test_each_command_prints_the_entry_of_its_options(name: str, tmp_path: Path) -> None:
    """The savepoint isn't opened: there is none."""
    file = tmp_path / "file.yaml"
    file.write_text("")
    places = {"FILE": str(file), "OUT": str(tmp_path / "out"), "PATH": "nowhere"}
    words, expected = CALLS[name]
    path = str(file) if name == "sql-migrate" else "nowhere"
    result = result_of(name, path, *(places.get(word, word) for word in words), "--print-change")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    if expected is not None:
        expected = {
            word: places.get(value, value) if isinstance(value, str) else value
            for word, value in expected.items()
        }
    assert yaml.safe_load(result.stdout) == [{name: expected}]
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("rescale", "x", "out"), "rescale needs 'max-parallelism', 'parallelism' or both"),
        (("remove-operator", "x", "out"), "needs 'operator', 'empty' or 'all-but'"),
        (("sources", "x"), "sources needs 'set'"),
        (("sources", "x", "--to-new", "a", "--operator", "b"), "name their operator themselves"),
        (("kafka", "x"), "kafka needs 'set-offsets'"),
        (("sinks", "x", "--drop", "all", "--save", "y"), "--save is no part of a change"),
        (("mask", "x", "--suggest"), "--suggest is no part of a change: leave it out"),
        (("delete-keys", "x", "a", "out"), "delete-keys needs 'operator' and 'where', or 'found'"),
        (("migrate", "x", "out", "--collections", "--target", "2.1"), "stay within the release"),
        (("migrate", "x", "out", "--collections", "--allow-empty"), "stay within the release"),
        (("copy", "x", "out"), "No such option"),
    ],
)
def test_what_is_no_entry_has_exit_code_2(call: tuple[str, ...], message: str) -> None:
    code, output = run(*call, "--print-change")
    assert (code, message in " ".join(output.split())) == (2, True), output


def test_options_of_reading_and_writing_are_no_part_of_an_entry() -> None:
    options = ("--uid", "a", "--overwrite", "--dry-run", "--output", "json", "--strict-paths")
    code, output = run("remove-operator", "x", "a", "out", *options, "--print-change")
    assert (code, output) == (0, "- remove-operator:\n    operator: a\n")


def test_classes_are_two_words_or_pairs() -> None:
    call = ("rename-class", "x", "a.A", "b.B", "out", "--print-change")
    assert run(*call) == (0, "- rename-class:\n    old: a.A\n    new: b.B\n")
    for words in (("a.A",), ("a.A", "b.B", "c.C"), ("a.A=b", "c"), ("a=b", "a=c"), ("=b",)):
        code, output = run("rename-class", "x", *words, "out")
        assert (code, "expected OLD and NEW, or pairs OLD=NEW" in output) == (2, True)


def test_printed_entries_of_several_commands_are_one_file(currency: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    calls = (
        ("rename-operator", currency, "summarize", "totals", out),
        ("remove-operator", currency, "rates_source", out),
        ("rename-operator", currency, "totals", "sums", out),
    )
    file = tmp_path / "changes.yaml"
    file.write_text("".join(run(*call, "--print-change")[1] for call in calls))
    assert not out.exists()
    code, output = run("apply", currency, file, out)
    assert (code, "copied" in output) == (0, True), output
    names = {name for name, _ in contents(currency)} - {"summarize", "rates_source"} | {"sums"}
    assert {name for name, _ in contents(out)} == names


def test_changes_come_from_stdin(currency: Path, tmp_path: Path) -> None:
    code, _ = run("apply", currency, "-", tmp_path / "out")
    assert code == 1


@pytest.mark.usefixtures("slow")
def test_a_dry_run_shows_what_each_change_touches(samples: Path, tmp_path: Path) -> None:
    states = samples / "states-2.2.1-hashmap-native"
    file = changes_in(
        tmp_path,
        {"rename-state": {"operator": "stateful", "old": "last_id", "new": "newest"}},
        {"widen-field": {**CUSTOMER, "field": "purchases", "type": "LONG"}},
        {"rename-class": {"old": "shop.Customer", "new": "shop.Client"}},
        {"rename-operator": {"old": "stateful", "new": "customers"}},
        {"remove-state": {"operator": "customers", "state": "newest"}},
    )
    out = tmp_path / "out"
    (planned,) = lines("apply", states, file, out, "--dry-run", "--count")
    rows = planned["changes"]
    assert [(row["line"], row["change"]) for row in rows][:2] == [
        (1, "rename-state"),
        (5, "widen-field"),
    ]
    assert [row["operators"] for row in rows] == [["stateful"]] * 4 + [["customers"]]
    assert [row["states"] for row in rows][:3] == [["last_id"], ["customer"], ["customer"]]
    assert "newest" in rows[3]["states"]
    assert rows[4]["states"] == ["newest"]
    assert [(row["keys"], row["entries"]) for row in rows][:2] == [(23, 23), (21, 21)]
    assert rows[3]["keys"] is None
    assert rows[3]["entries"] > 100
    assert rows[4]["entries"] == 23
    assert {row["problem"] for row in rows} == {""}
    assert {one["operator"] for one in planned["operators"]} >= {"customers"}
    assert not out.exists()


CUSTOMER = {"operator": "stateful", "state": "customer"}


def test_a_dry_run_shows_all_changes_that_can_not_be_made(samples: Path, tmp_path: Path) -> None:
    states = samples / "states-2.2.1-hashmap-native"
    file = changes_in(
        tmp_path,
        {"remove-operator": {"operator": "nope"}},
        {"drop-field": {**CUSTOMER, "field": "tagss"}},
        {"drop-field": {**CUSTOMER, "field": "tags"}},
        {"widen-field": {**CUSTOMER, "field": "purchases", "type": "LONK"}},
    )
    result = result_of("apply", states, file, tmp_path / "out", "--dry-run", "--output", "json")
    assert result.exit_code == 2
    assert "has no operator 'nope'; it has: " in result.stderr
    assert f"in {file} line 1 column 3, remove-operator" in result.stderr
    first, second, third, fourth = json.loads(result.stdout)["changes"]
    assert "did you mean 'tags'?" in second["problem"]
    assert f"{file} line 3 column 3, drop-field" in second["problem"]
    assert (third["problem"], third["operators"]) == ("", ["stateful"])
    assert "LONK" in fourth["problem"]
    assert f"in {file} line 11 column 3, widen-field" in fourth["problem"]
    assert "nope" in first["problem"]
    code, output = run("apply", states, file, tmp_path / "out", "--dry-run")
    assert (code, "Changes" in output or "widen-field" in output) == (2, True)


def test_an_error_has_the_line_of_its_entry_and_its_own_exit_code(
    currency: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for change, code, message in (
        ({"remove-state": {"operator": "summarize", "state": "totl"}}, 2, "did you mean 'total'?"),
        ({"rename-operator": {"old": "summarize", "new": "currency_converter"}}, 1, "already"),
        ({"migrate": {"target": "2.2"}}, 2, "there is nothing to migrate"),
    ):
        file = changes_in(tmp_path, {"remove-operator": {"operator": "rates_source"}}, change)
        found, output = run("apply", currency, file, out)
        assert (found, message in output) == (code, True), output
        assert f"; in {file} line 3 column 3, " in output or f", {file} line 3" in output
    assert not out.exists()


def test_mistakes_of_a_file_are_lines(currency: Path, tmp_path: Path) -> None:
    file = changes_in(tmp_path, {"convert": {"to": "x"}}, {"rescal": {}})
    result = result_of("apply", currency, file, tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"Error: {file} line 2 column 5: convert has no 'to'; it has: format, drop-in-flight",
        f"{file} line 3 column 3: there is no change 'rescal'; did you mean 'rescale'?",
    ]


def test_count_needs_a_dry_run(currency: Path, tmp_path: Path) -> None:
    file = changes_in(tmp_path, {"convert": None})
    code, output = run("apply", currency, file, tmp_path / "out", "--count")
    assert (code, "--count needs --dry-run" in output) == (2, True)
