"""Flink's own connector reads the tables that ``savepoint schema --format ddl`` declares."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flink_home import FlinkHome
from support.maven_jars import fetched
from support.sample_rows import SAMPLES

from state_processor import Savepoint, StateTypeError, schema_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from state_processor import SavepointWriter

FLINK = "2.3.0"
SOURCES = Path(__file__).parent / "ddl_job"
# Value, list and map state, of numbers, texts, times, enums and POJOs.
TABLES = {
    "states-2.2.1-hashmap-canonical": "stateful",
    "states-1.20.5-hashmap-native": "stateful",
    "currency-1.20.5-rocksdb-canonical": "summarize",
}
MAPS = ("by_currency", "memo_by_currency", "changes")


def by_flink(main: str, *files: Path) -> str:
    """What a class of the job prints."""
    processor = fetched(f"processor-{FLINK}", {"flink-state-processor-api": FLINK}, is_alone=True)
    home = replace(FlinkHome.cached(FLINK), more=tuple(processor.glob("*.jar")))
    home.install()
    classes = home.compiled([SOURCES, SAMPLES / "job"])
    java = home.java(classes, ["-Xmx1g"])
    command = [*java, main, *map(str, files)]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


def rows_of_flink(statements: Sequence[str], folder: Path) -> list[list[dict[str, Any]]]:
    """The rows of the table that each statement makes."""
    files = []
    for number, statement in enumerate(statements):
        files.append(folder / f"{number}.sql")
        files[-1].write_text(statement.removesuffix(";"), encoding="utf-8")
    tables: list[list[dict[str, Any]]] = json.loads(by_flink("ddl.TableRows", *files))
    return tables


def declared(paths: Iterable[Path]) -> dict[str, str]:
    """The statement of each table of keyed state of some savepoints, by path and name."""
    statements = {}
    for path in paths:
        savepoint = Savepoint.open(path)
        for table in savepoint.tables():
            with suppress(StateTypeError):
                text = schema_text(savepoint, table.table, "ddl")
                statements[f"{path} {table.table}"] = text.rstrip().removesuffix(";")
    return statements


def refusals(statements: dict[str, str], folder: Path) -> dict[str, str]:
    """What Flink says against tables, by path and name."""
    file = folder / "tables.sql"
    file.write_text("\n-----\n".join(statements.values()), encoding="utf-8")
    lines = by_flink("ddl.PlannedTables", file).splitlines()
    assert len(lines) == len(statements)
    return {name: line for name, line in zip(statements, lines, strict=True) if line}


def test_flink_plans_a_read_of_every_table_of_all_samples(tmp_path: Path) -> None:
    statements = declared(path.parent for path in SAMPLES.rglob("_metadata"))
    assert len(statements) > 40
    assert refusals(statements, tmp_path) == {}


def as_flink_shows(name: str, value: Any) -> Any:
    """A value as the connector has it: what is not there is empty, a class what ``toString`` says."""
    if name in MAPS:
        return dict(value or ())
    if name == "memos":
        return value or []
    if name in ("balance", "last_day", "last_kind") and value is not None:
        return str(value)
    return value


def test_flink_reads_the_same_rows_by_our_statement(tmp_path: Path) -> None:
    savepoints = {
        name: Savepoint.open(str(SAMPLES / name), uids=[uid]) for name, uid in TABLES.items()
    }
    tables = {name: f"{uid}.keyed_state" for name, uid in TABLES.items()}
    statements = [schema_text(savepoints[name], table, "ddl") for name, table in tables.items()]
    rows_by_table = rows_of_flink(statements, tmp_path)
    columns = {column for rows in rows_by_table for row in rows for column in row}
    assert columns >= {"customer", "memos", "last_kind", "last_day", "balance", "total", *MAPS}
    for (name, table), rows in zip(tables.items(), rows_by_table, strict=True):
        expected = {
            row["key"]: row
            for batch in savepoints[name].scan(table).batches()
            for row in batch.to_pylist()
        }
        assert {row["k"] for row in rows} == set(expected)
        assert len(rows) > 20
        for row in rows:
            own = expected[row.pop("k")]
            if seen := row.pop("last_seen", None):
                nanoseconds = timedelta(microseconds=own["last_seen"]["nanos"] // 1000)
                assert datetime.fromisoformat(seen) == own["last_seen"]["seconds"] + nanoseconds
            assert row == {column: as_flink_shows(column, own[column]) for column in row}


RENAMED = {
    "by_currency": "by-currency",
    "customer": "cus.tomer",
    "memos": "the memos",
    "balance": "Balance-€",
    "last_id": "select",
    "changes": "chan`ges",
    "last_kind": "last:kind's",
    "last_day": "k",
}


def test_flink_reads_states_of_any_name(spark: SparkSession, tmp_path: Path) -> None:
    path = SAMPLES / "states-2.2.1-hashmap-canonical"
    before = Savepoint.load(spark, path, uids=["stateful"])
    writer: SavepointWriter = before.rename_state("stateful", "by_currency", "by-currency")
    for old, new in list(RENAMED.items())[1:]:
        writer = writer.rename_state("stateful", old, new)
    renamed = str(tmp_path / "renamed")
    writer.write(renamed)
    statements = [
        schema_text(Savepoint.open(str(one), uids=["stateful"]), "stateful.keyed_state", "ddl")
        for one in (path, renamed)
    ]
    old_rows, new_rows = rows_of_flink(statements, tmp_path)
    back = {new: old for old, new in RENAMED.items()} | {"k_2": "k"}
    assert set(RENAMED.values()) <= set(new_rows[0])
    by_key = {row["k"]: row for row in old_rows}
    assert len(by_key) > 20
    for row in new_rows:
        assert {back.get(name, name): value for name, value in row.items()} == by_key[row["k_2"]]
