"""States of Avro get another schema, whatever kind of state they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import run

from savepoint_extensions.upgrade.avro_change import with_avro_schema
from savepoint_formats.errors import SchemaChangeError, StateNotFoundError
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

UID = "operator"
OLD = json.dumps(
    {
        "type": "record",
        "name": "shop.Visit",
        "fields": [
            {"name": "page", "type": "string"},
            {"name": "seconds", "type": ["null", "int"]},
        ],
    }
)
NEW = json.dumps(
    {
        "type": "record",
        "name": "shop.Visit",
        "fields": [
            {"name": "kind", "type": "string", "default": "web"},
            {"name": "seconds", "type": ["null", "long"]},
            {"name": "site", "type": "string", "aliases": ["page"]},
        ],
    }
)
STATES = ("value", "several", "by", "timed", "timed_by")


@pytest.fixture(scope="module")
def visits(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    """Values, elements and map values of Avro, with times to live and without, and a list of the operator."""
    kind = Types.AVRO(OLD)
    visit = (
        "named_struct('page', concat('p', key), 'seconds', IF(key % 2 = 0, NULL, CAST(key AS INT)))"
    )
    timed = f"named_struct('timestamp', timestamp_millis(key * 1000), 'value', {visit})"
    data = spark.sql(
        f"SELECT key, {visit} value, array({visit}, {visit}) several, map('a', {visit}, 'b', NULL) by,"
        f" {timed} timed, map('a', {timed}) timed_by, key AS other FROM (SELECT id AS key FROM range(9))"
    )
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.LONG())
    keyed = keyed.with_state(ValueStateDescriptor("value", kind))
    keyed = keyed.with_state(ListStateDescriptor("several", kind))
    keyed = keyed.with_state(MapStateDescriptor("by", Types.STRING(), kind))
    keyed = keyed.with_state(ValueStateDescriptor("timed", kind).with_ttl())
    keyed = keyed.with_state(MapStateDescriptor("timed_by", Types.STRING(), kind).with_ttl())
    keyed = keyed.with_state(ValueStateDescriptor("other", Types.LONG()))
    lists = OperatorTransformation.bootstrap_with(data).list_state(
        ListStateDescriptor("seen", kind), "value"
    )
    path = str(tmp_path_factory.mktemp("visits") / "savepoint")
    Savepoint.create(spark, parallelism=2).with_operator(UID, keyed, lists).write(path)
    return Savepoint.load(spark, path, uids=[UID])


def resolved(value: Any) -> Any:
    """A value of the table, as the new schema has it."""
    match value:
        case {"page": page, "seconds": seconds}:
            return {"kind": "web", "seconds": seconds, "site": page}
        case dict():
            return {name: resolved(part) for name, part in value.items()}
        case list() | tuple():
            return [resolved(part) for part in value]
    return value


def table(savepoint: Savepoint, name: str) -> list[Any]:
    rows = (
        savepoint.scan(f"{UID}.{name}", with_times=True)
        if name == "keyed_state"
        else savepoint.scan(f"{UID}.{name}")
    )
    return sorted((resolved(row) for row in rows.to_arrow().to_pylist()), key=repr)


def test_all_kinds_of_state_have_the_values_of_the_new_schema(
    visits: SparkSavepoint, tmp_path: Path
) -> None:
    writer = visits.writer()
    for state in (*STATES, "seen"):
        writer = writer.change_avro(UID, state, NEW)
    writer.rename_state(UID, "value", "now").write(str(tmp_path / "out"))
    new = Savepoint.open(tmp_path / "out", uids=[UID])
    assert new.verify().is_whole
    before = table(visits, "keyed_state")
    for row in before:
        row["now"] = row.pop("value")
    assert sorted(before, key=lambda row: row["key"]) == sorted(
        table(new, "keyed_state"), key=lambda row: row["key"]
    )
    assert table(new, "seen") == table(visits, "seen")


def test_what_can_not_be_is_refused(visits: SparkSavepoint, tmp_path: Path) -> None:
    with pytest.raises(SchemaChangeError, match="only states whose values"):
        visits.change_avro(UID, "other", NEW)
    with pytest.raises(StateNotFoundError):
        visits.change_avro(UID, "values", NEW)
    with pytest.raises(SchemaChangeError, match="has this schema already"):
        visits.change_avro(UID, "value", OLD)
    with pytest.raises(SchemaChangeError, match="the schema can't be used"):
        visits.change_avro(UID, "value", "{}")
    text = NEW.replace(', "default": "web"', "")
    change = visits.writer().operator(UID).change
    assert change is not None
    with pytest.raises(SchemaChangeError, match="kind: it is new, and has no default"):
        with_avro_schema(change, "value", text)
    with pytest.raises(SchemaChangeError, match="its default 3 is no value of its type"):
        visits.change_avro(UID, "timed", NEW.replace('"web"', "3"))
    strict = NEW.replace('["null", "long"]', '"long"')
    with pytest.raises(
        SchemaChangeError, match=r"does not read the values: \.seconds: null → long"
    ):
        visits.change_avro(UID, "value", strict)
    (tmp_path / "new.avsc").write_text(NEW)
    words = ("change-avro", visits.path, UID, "value", tmp_path / "new.avsc", tmp_path / "dry")
    code, output = run(*words, "--dry-run", "--uid", UID)
    assert code == 0, output
    with pytest.raises(ValueError, match="can't be read"):
        Types.AVRO("{}")
