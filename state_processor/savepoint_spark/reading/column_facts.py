"""What the columns of a table are in Flink, as metadata of the columns of a DataFrame.

| metadata     | of             | meaning                                                |
|--------------|----------------|--------------------------------------------------------|
| `flink_type` | all            | the type in Flink, such as ``MAP<STRING, LONG>``       |
| `kind`       | key            | ``key``                                                |
|              | keyed state    | its kind: ``value``, ``list``, ``map``…                |
| `ttl`        | keyed state    | whether its values have a time to live                 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from savepoint_database.files.schema_texts import flink_type
from savepoint_formats.python_state.stored_forms import python_key
from savepoint_formats.tables import KEY
from savepoint_formats.values import SCALA_LAYOUTS, is_nullable_key

if TYPE_CHECKING:
    from savepoint_formats.scan import TableScan
    from savepoint_formats.tables import Table


def with_facts(schema: StructType, scan: TableScan) -> StructType:
    """The columns of a scan with metadata, and with keys that are not null."""
    facts = dict(_facts(scan.shown))
    has_keys = are_present(scan)
    return StructType(
        [
            StructField(
                field.name,
                field.dataType,
                field.nullable and not (has_keys and field.name == KEY),
                {**field.metadata, **facts.get(field.name, {})},
            )
            for field in schema
        ]
    )


def are_present(scan: TableScan) -> bool:
    """Whether no key of a scan is shown as null.

    Flink has no null keys, but ``None`` of Scala and Python is one.
    """
    key = scan.table.states[0].key if scan.kind.is_keyed else None
    if key is None or isinstance(key, SCALA_LAYOUTS):
        return False
    return not is_nullable_key(key) and python_key(key) is None


def with_present_keys(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with keys that are not nullable: Spark's data sources compare the schema."""
    place = batch.schema.get_field_index(KEY)
    if place < 0:
        return batch
    schema = batch.schema.set(place, batch.schema.field(place).with_nullable(False))
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _facts(table: Table) -> list[tuple[str, dict[str, Any]]]:
    is_keyed = table.states[0].kind.is_keyed
    states = {column.name: state for column, state in table.state_columns()} if is_keyed else {}
    facts = []
    for column in table.columns:
        known: dict[str, Any] = {"flink_type": flink_type(column.layout)}
        if state := states.get(column.name):
            known |= {"kind": str(state.job_kind.value), "ttl": state.has_ttl}
        elif is_keyed and column.name == KEY:
            known["kind"] = KEY
        facts.append((column.name, known))
    return facts
