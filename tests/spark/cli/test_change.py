"""The commands that change states and keys, as a user calls them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import run

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    Row = dict[str, Any]

CUSTOMER = ("stateful", "customer")


def rows(path: Path, table: str = "stateful.keyed_state") -> dict[str, Row]:
    """Key -> the other columns."""
    found = Savepoint.open(str(path)).scan(table).to_arrow().to_pylist()
    return {str(row.pop("key")): row for row in found}


def customer(change: Callable[[Row, Row], Row]) -> Callable[[Row], Row]:
    """A row with another customer, if it has one."""

    def changed(row: Row) -> Row:
        before = row["customer"]
        after = None if before is None else change(dict(before), row)
        return {**row, "customer": after}

    return changed


def moved_zip(before: Row, _row: Row) -> Row:
    address = before["address"]
    if address is not None:
        before["address"] = {"city": address["city"], "code": address["zip"]}
    return before


def without_tags(before: Row, _row: Row) -> Row:
    return {name: value for name, value in before.items() if name != "tags"}


CHANGES: dict[str, tuple[tuple[str, ...], Callable[[Row], Row]]] = {
    "update-state": (
        ("stateful", "last_id", "OUT", "--set", "last_id + 1000", "--where", "last_id > 200"),
        lambda row: {**row, "last_id": row["last_id"] + 1000 * (row["last_id"] > 200)},
    ),
    "rename-state": (
        ("stateful", "last_id", "newest", "OUT"),
        lambda row: {"newest" if name == "last_id" else name: row[name] for name in row},
    ),
    "rename-class": (("shop.Customer", "shop.Client", "OUT"), lambda row: row),
    "rename-field": ((*CUSTOMER, "address.zip", "code", "OUT"), customer(moved_zip)),
    "add-field": (
        (*CUSTOMER, "vip", "BOOLEAN", "OUT", "--value", "last_id > 200"),
        customer(lambda before, row: {**before, "vip": row["last_id"] > 200}),
    ),
    "drop-field": ((*CUSTOMER, "tags", "OUT"), customer(without_tags)),
    "widen-field": ((*CUSTOMER, "purchases", "LONG", "OUT"), lambda row: row),
}


@pytest.fixture
def states(samples: Path) -> Path:
    return samples / "states-2.2.1-rocksdb-native"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def words(command: str, path: Path, given: tuple[str, ...], out: Path) -> tuple[str, ...]:
    """The words of a call, with the path and that of the new savepoint."""
    return (command, str(path), *(str(out) if word == "OUT" else word for word in given))


@pytest.mark.parametrize("command", CHANGES)
def test_what_a_command_writes_can_be_read(
    spark: SparkSession, command: str, states: Path, out: Path
) -> None:
    given, change = CHANGES[command]
    call = words(command, states, given, out)
    code, output = run(*call, "--dry-run")
    assert code == 0, output
    assert not out.exists()
    code, output = run(*call)
    assert code == 0, output
    before = rows(states)
    assert before
    assert rows(out) == {key: change(row) for key, row in before.items()}


def test_a_wider_field_has_its_new_type(spark: SparkSession, states: Path, out: Path) -> None:
    given, _ = CHANGES["widen-field"]
    assert run(*words("widen-field", states, given, out))[0] == 0
    columns = Savepoint.open(str(out)).schema("stateful.keyed_state")
    assert "purchases: BIGINT" in next(one.type for one in columns if one.column == "customer")


def test_delete_keys_takes_all_state_of_a_key_away(
    spark: SparkSession, states: Path, out: Path
) -> None:
    call = words("delete-keys", states, ("stateful", "OUT", "--where", "last_id > 200"), out)
    assert run(*call, "--dry-run")[0] == 0
    assert not out.exists()
    assert run(*call)[0] == 0
    before = rows(states)
    kept = {key: row for key, row in before.items() if not (row["last_id"] or 0) > 200}
    assert 0 < len(kept) < len(before)
    assert rows(out) == kept
    gone, timers = before.keys() - kept.keys(), rows(states, "stateful.timers").keys()
    assert gone & timers
    assert rows(out, "stateful.timers").keys() == timers - gone


def test_a_row_of_sql_takes_the_types_of_sql(spark: SparkSession, samples: Path, out: Path) -> None:
    sample, table = samples / "sql-2.2.1-rocksdb-native", "4_group-aggregate.keyed_state"
    given = ("4_group-aggregate", "accState", "f5", "INT NOT NULL", "OUT")
    call = words("add-field", sample, given, out)
    code, output = run(*call)
    assert (code, "cannot be null: give a value" in output) == (1, True)
    assert run(*call, "--value", "7")[0] == 0
    assert {row["accState"]["f5"] for row in rows(out, table).values()} == {7}


def test_times_keep_all_digits_if_they_are_shown_so(
    spark: SparkSession, states: Path, out: Path
) -> None:
    later = "named_struct('seconds', last_seen.seconds + 60, 'nanos', last_seen.nanos)"
    given = ("stateful", "last_seen", "OUT", "--set", later, "--where", "last_seen IS NOT NULL")
    code, output = run(*words("update-state", states, given, out), "--nanoseconds", "struct")
    assert code == 0, output
    after = {key: row["last_seen"] for key, row in rows(out).items()}
    times = {key: row["last_seen"] for key, row in rows(states).items()}
    assert any(times.values())
    minute = timedelta(minutes=1)
    assert after == {
        key: one and {"seconds": one["seconds"] + minute, "nanos": one["nanos"]}
        for key, one in times.items()
    }


def test_update_state_changes_elements_of_lists(
    spark: SparkSession, states: Path, out: Path
) -> None:
    call = words("update-state", states, ("buffer", "elements", "OUT", "--set", "value"), out)
    assert run(*call, "--dry-run")[0] == 0
    assert not out.exists()
    assert run(*call)[0] == 0
    found = [
        sorted(map(str, Savepoint.open(str(path)).scan("buffer.elements").to_arrow().to_pylist()))
        for path in (states, out)
    ]
    assert found[0]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("command", "given", "code", "message"),
    [
        ("update-state", ("stateful", "last_id", "OUT", "--set", "nobody + 1"), 2, "nobody"),
        ("update-state", ("stateful", "last_id", "OUT", "--set", "1 +"), 2, "PARSE_SYNTAX_ERROR"),
        ("update-state", ("stateful", "last_id", "OUT", "--set", "key"), 1, "takes bigint"),
        ("update-state", ("stateful", "last_id", "OUT", "--set", "1 div 0"), 1, "DIVIDE_BY_ZERO"),
        (
            "delete-keys",
            ("stateful", "OUT", "--where", "nobody = 0"),
            2,
            "columns of the condition",
        ),
        ("delete-keys", ("stateful", "OUT", "--where", "last_id ="), 2, "PARSE_SYNTAX_ERROR"),
        ("add-field", (*CUSTOMER, "vip", "BIGINT", "OUT"), 2, "'BIGINT' is no type"),
        ("drop-field", (*CUSTOMER, "tag", "OUT"), 2, "no field 'tag'"),
        ("rename-field", (*CUSTOMER, "tags", "name", "OUT"), 1, "name"),
        ("widen-field", (*CUSTOMER, "lastAmount", "FLOAT", "OUT"), 1, "does not hold all values"),
    ],
)
@pytest.mark.parametrize("options", [("--dry-run",), ()], ids=["dry", "real"])
def test_what_is_refused_is_so_by_a_dry_run_too(
    spark: SparkSession,
    states: Path,
    out: Path,
    command: str,
    given: tuple[str, ...],
    code: int,
    message: str,
    options: tuple[str, ...],
) -> None:
    found, output = run(*words(command, states, given, out), *options)
    assert found == code, output
    assert message in " ".join(output.split())
    assert "Traceback" not in output
    assert not out.exists() or not any(out.iterdir())
