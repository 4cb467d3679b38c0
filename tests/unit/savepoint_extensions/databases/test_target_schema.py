"""Types that a database lacks become others, and comments say so."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.databases import Database
from support.every_layout import EXAMPLES
from support.sample_rows import Sample

from savepoint_database.files import TableTarget
from savepoint_database.types.spark_values import EXPORTED
from savepoint_extensions.databases.table_targets import TARGETS, NewTable
from savepoint_extensions.databases.target_schema import COMMENT, DELTA, target_schema, target_table
from savepoint_formats.errors import TableFileError
from savepoint_formats.values.arrow_types import arrow_type
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_formats.scan.scan import TableScan

NANOS = 86_399_999_999_999
ROWS = pa.table(
    {
        "small": pa.array([-128], pa.int8()),
        "smaller": pa.array([[2**15 - 1, None]], pa.list_(pa.int16())),
        "at": pa.array([1], pa.timestamp("ms")),
        "at zone": pa.array([-1], pa.timestamp("ms", "UTC")),
        "of day": pa.array([86_399_999], pa.time32("ms")),
        "nanos": pa.array([NANOS], pa.int64()).view(pa.time64("ns")),
        "took": pa.array([{"took": 5}], pa.struct({"took": pa.duration("ms")})),
        "none": pa.nulls(1),
    }
)
COMMENTS = {
    "nanos": "text, because times end at microseconds",
    "took": "a duration, counted in ms",
    "none": "always null",
}


@pytest.fixture(scope="module")
def scan() -> TableScan:
    return Savepoint.open(Sample("states-2.2.1-rocksdb-native").path).scan("stateful.keyed_state")


@pytest.mark.parametrize("target", TableTarget)
class TestEachTarget:
    def test_lacking_types_become_others(self, target: TableTarget, scan: TableScan) -> None:
        schema = target_schema(TARGETS[target].types, ROWS.schema, scan, target)
        (row,) = target_table(ROWS, schema).to_pylist()
        rows = dict(zip(ROWS.schema.names, row.values(), strict=True))
        assert {name: rows[name] for name in ("small", "smaller", "took", "none", "nanos")} == {
            "small": -128,
            "smaller": [2**15 - 1, None],
            "took": {"took": 5},
            "none": None,
            "nanos": "23:59:59.999999999",
        }
        assert str(rows["of day"]).startswith("23:59:59.999")
        assert rows["at"].microsecond == 1000
        assert rows["at zone"].utcoffset() == timedelta(0)

    def test_comments_say_why(self, target: TableTarget, scan: TableScan) -> None:
        schema = target_schema(TARGETS[target].types, ROWS.schema, scan, target)
        of_day = {"of day": "text, because Delta has no times of day"}
        said = {
            name: field.metadata[COMMENT].decode()
            for name, field in zip(ROWS.schema.names, schema, strict=True)
            if field.metadata
        }
        assert {name: text for name, text in said.items() if text} == COMMENTS | (
            of_day if target is TableTarget.DELTA else {}
        )

    def test_every_layout_is_written(
        self, target: TableTarget, scan: TableScan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        database = Database.in_folder(target, tmp_path, monkeypatch)
        types = dict.fromkeys(arrow_type(layout) for layout in EXAMPLES)
        columns = pa.schema([(f"c{index}", kind) for index, kind in enumerate(types)])
        exported = EXPORTED["refuse"].schema(columns)
        schema = target_schema(TARGETS[target].types, exported, scan, target)
        nulls = pa.table([pa.nulls(3, kind) for kind in exported.types], schema=exported)
        new = NewTable(database.place, "stateful", "keyed_state", "", schema, is_overwritten=False)
        TARGETS[target].write(new, iter([target_table(nulls, schema)]))
        found = database.rows()
        assert (found.num_rows, found.num_columns) == (3, len(types))
        assert set(found.to_pylist()[0].values()) == {None}

    def test_a_struct_without_fields_is_refused(self, target: TableTarget, scan: TableScan) -> None:
        empty = pa.schema({"nothing": pa.list_(pa.struct([]))})
        with pytest.raises(TableFileError, match="'nothing' has a struct without fields, which"):
            target_schema(TARGETS[target].types, empty, scan, target)


def test_delta_gets_names_that_spark_takes(scan: TableScan) -> None:
    columns = pa.schema({"a b": pa.int64(), "a,b": pa.struct({"(x)": pa.int64()}), "c": pa.int64()})
    schema = target_schema(DELTA, columns, scan, "delta")
    assert schema.names[2] == "c"
    assert len({name.casefold() for name in schema.names}) == 3
    assert all(name.startswith("a_b_") for name in schema.names[:2])
    assert schema.field(1).type == pa.struct({"_x_": pa.int64()})


def test_a_time_beyond_microseconds_is_refused(scan: TableScan) -> None:
    far = pa.table({"at": pa.array([2**62], pa.timestamp("ms"))})
    schema = target_schema(DELTA, far.schema, scan, "delta")
    with pytest.raises(pa.ArrowInvalid, match="out of bounds"):
        target_table(far, schema)
