"""The schema of a table as text, held against what others make of it."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from support.hand_made import STRING, canonical_base, header, kryo_of, meta_info, savepoint_of
from support.sample_rows import Sample

from savepoint_cli.terminal.cells import to_json
from savepoint_database.files.exported_table import export_table
from savepoint_database.rows.rows import first_rows
from savepoint_formats.errors import StateTypeError
from state_processor import Savepoint, schema_text

if TYPE_CHECKING:
    from pathlib import Path

TABLES = ["keyed_state", "timers"]


@pytest.fixture
def savepoint() -> Savepoint:
    return Sample("states-2.2.1-rocksdb-native").open()


@pytest.mark.parametrize("table", TABLES)
def test_json_schema_takes_all_rows_that_show_prints(savepoint: Savepoint, table: str) -> None:
    name = f"stateful.{table}"
    schema = json.loads(schema_text(savepoint, name, "json-schema"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    shown = [json.loads(to_json(row)) for row in first_rows(savepoint.scan(name), 1000)]
    assert shown
    for row in shown:
        validator.validate(row)
    assert not validator.is_valid({**shown[0], "key": 7})
    assert not validator.is_valid({**shown[0], "more": 7})


@pytest.mark.parametrize("table", TABLES)
def test_avro_is_the_schema_of_an_exported_file(
    savepoint: Savepoint, table: str, tmp_path: Path
) -> None:
    schema = json.loads(schema_text(savepoint, f"stateful.{table}", "avro"))
    fastavro.parse_schema(schema)
    export_table(savepoint.scan(f"stateful.{table}"), str(tmp_path / "rows.avro"), "avro")
    with (tmp_path / "rows.avro").open("rb") as file:
        written: Any = fastavro.reader(file).writer_schema
    names = [(field["name"], field["type"]) for field in schema["fields"]]
    assert names == [(field["name"], field["type"]) for field in written["fields"]]


def test_spark_has_the_columns_with_their_types(savepoint: Savepoint) -> None:
    text = schema_text(savepoint, "stateful.keyed_state", "spark")
    columns = savepoint.schema("stateful.keyed_state")
    assert text == ", ".join(f"{one.column}: {one.type}" for one in columns)


def test_pyflink_gets_a_descriptor_for_each_state_that_it_has_types_for(
    savepoint: Savepoint,
) -> None:
    text = schema_text(savepoint, "stateful.keyed_state", "pyflink")
    tree = ast.parse(text)
    assigned = {
        statement.targets[0].id: ast.unparse(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    assert assigned["key_type"] == "Types.STRING()"
    assert assigned["last_id"] == "ValueStateDescriptor('last_id', Types.LONG())"
    assert assigned["memos"] == "ListStateDescriptor('memos', Types.STRING())"
    by_currency = "MapStateDescriptor('by_currency', Types.STRING(), Types.LONG())"
    assert assigned["by_currency"] == by_currency
    pair = "Types.TUPLE([Types.LONG(), Types.LONG()])"
    average = f"AggregatingStateDescriptor('average', aggregate_function, {pair})"
    assert assigned["average"] == average
    assert "# customer: PyFlink has no type for shop.Customer" in text
    assert "# recent_memo has a time to live" in text
    states = savepoint.operator("stateful").table("keyed_state").states
    assert all(state.name in text for state in states)


def test_ddl_names_every_state_or_says_why_not() -> None:
    savepoint = Sample("currency-2.2.1-hashmap-canonical").open()
    text = schema_text(savepoint, "summarize.keyed_state", "ddl")
    assert (
        text
        == f"""CREATE TABLE state_table (
  `k` INTEGER,
  `total` DOUBLE,
  `count` INTEGER,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'savepoint',
  'state.backend.type' = 'hashmap',
  'state.path' = '{savepoint.directory.absolute_uri}',
  'operator.uid' = 'summarize',
  'fields.total.state-type' = 'value',
  'fields.count.state-type' = 'value'
);"""
    )


def test_ddl_shows_pojos_as_rows_and_leaves_out_what_the_connector_cannot_read() -> None:
    savepoint = Sample("states-2.2.1-hashmap-canonical").open()
    text = schema_text(savepoint, "stateful.keyed_state", "ddl")
    assert "`by_currency` MAP<STRING, BIGINT>" in text
    assert "`last_seen` STRING" in text
    assert "`customer` ROW<`address` ROW<`city` STRING, `zip` INTEGER>, `adult` BOOLEAN" in text
    assert "-- cents_sum is left out: the connector has no reducing state" in text
    assert "-- recent_memo is left out: its values have a time to live" in text


def test_ddl_of_files_that_the_connector_does_not_read_is_refused(savepoint: Savepoint) -> None:
    with pytest.raises(StateTypeError, match="no files of RocksDB's own: `savepoint convert`"):
        schema_text(savepoint, "stateful.keyed_state", "ddl")


@pytest.mark.parametrize("form", ["ddl", "pyflink"])
def test_tables_that_a_form_has_no_words_for_are_refused(savepoint: Savepoint, form: Any) -> None:
    with pytest.raises(StateTypeError, match="table timers is no keyed"):
        schema_text(savepoint, "stateful.timers", form)


def test_a_form_that_there_is_not_is_told(savepoint: Savepoint) -> None:
    form: Any = "xml"
    with pytest.raises(ValueError, match="no form 'xml'; there are: ddl, avro"):
        schema_text(savepoint, "stateful.timers", form)


def test_names_of_a_stranger_are_no_code(tmp_path: Path) -> None:
    # A line break in a comment made the rest of a name a statement.
    names = (
        "x\nimport os\nos.system('id')\n#",
        "Types",
        "import",
        "",
        "1²",
        "ValueStateDescriptor",
    )
    classes = (kryo_of("shop.Y\nimport os\n#"), *([STRING] * (len(names) - 1)))
    states = [meta_info(name, "VALUE", one) for name, one in zip(names, classes, strict=True)]
    (tmp_path / "savepoint").mkdir()
    savepoint_of(canonical_base(header(*states), []), tmp_path / "savepoint")
    savepoint = Savepoint.open(tmp_path / "savepoint")
    (table,) = (it.table for it in savepoint.tables() if it.table.endswith("keyed_state"))
    statements = ast.parse(schema_text(savepoint, table, "pyflink")).body
    assert [type(one) for one in statements] == [ast.ImportFrom] * 2 + [ast.Assign] * len(names)
    assigned = [ast.unparse(one.targets[0]) for one in statements if isinstance(one, ast.Assign)]
    assert not {"Types", "ValueStateDescriptor"} & set(assigned)
    assert len(set(assigned)) == len(names)
