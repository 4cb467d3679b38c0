"""The sample savepoints, and rows in the words of their ``expected.json``."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_database.types.records import Record
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_formats.scan.scan import TableScan

SAMPLES = Path(__file__).parents[2] / "sample_savepoints"

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Sample:
    """One folder of ``sample_savepoints``."""

    name: str

    def __str__(self) -> str:
        return self.name

    @cached_property
    def facts(self) -> dict[str, Any]:
        text = (SAMPLES / self.name / "expected.json").read_text(encoding="utf-8")
        return dict(json.loads(text))

    @property
    def path(self) -> str:
        """Path of ``_metadata``."""
        return str(SAMPLES / self.name / self.facts["snapshot"])

    @property
    def uids(self) -> tuple[str, ...]:
        return tuple(self.facts["uids"])

    def open(self) -> Savepoint:
        return Savepoint.open(self.path, uids=self.uids)

    def operators(self) -> dict[str, dict[str, Any]]:
        """State that the job put into each operator, by uid."""
        return dict(self.facts["operators"])

    def keyed_state(self, uid: str) -> Rows:
        return list(self.operators()[uid]["keyed_state"])

    def window_state(self, uid: str) -> Rows:
        """The rows with their namespace; SQL and merged sessions store another one than a window."""
        rows: Rows = []
        for row in self.operators()[uid]["window_state"]:
            named = {name: row[name] for name in row if name not in ("window", "state_window")}
            window = row.get("state_window", row["window"])
            is_global = window == "global"
            rows.append({"namespace": None if is_global else window, **named})
        return rows

    def timers(self, uid: str) -> Rows:
        return [
            {
                **{name: value for name, value in timer.items() if value is not None},
                "domain": timer["domain"].upper(),
            }
            for timer in self.operators()[uid]["timers"]
        ]

    def elements(self, uid: str, state: str) -> list[Any]:
        """The elements of an operator state, in their order."""
        return list(self.operators()[uid]["operator_states"][state]["elements"])


def samples() -> list[Sample]:
    """All of them."""
    return [Sample(path.parent.name) for path in sorted(SAMPLES.glob("*/expected.json"))]


def copy_of(sample: Sample, folder: Path) -> Savepoint:
    """A copy of the sample, which a test may damage."""
    shutil.copytree(SAMPLES / sample.name, folder / sample.name)
    path = folder / sample.name / sample.facts["snapshot"]
    return Savepoint.open(str(path), uids=sample.uids)


def file_of(savepoint: Savepoint, reference: str) -> Path:
    """The file that is referred to like this, e.g. ``summarize 0: keyed state``."""
    (file,) = [file for file in savepoint.files() if reference in file.references]
    return Path(savepoint.path, file.location or file.path)


def rows_of(scan: TableScan, size: int | None = None) -> Rows:
    """All rows of a table, in the words of ``expected.json``, split after split."""
    splits = scan.splits() if size is None else scan.splits(size)
    return [row for split in splits for batch in scan.read(split) for row in told(batch)]


def told(batch: pa.RecordBatch | pa.Table) -> Rows:
    """The rows in the words of ``expected.json``."""
    types = {field.name: field.type for field in batch.schema}
    return [
        {name: _told(value, types[name]) for name, value in row.items()}
        for row in batch.to_pylist()
    ]


def _told(value: Any, data_type: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(data_type):
        fields = {field.name: field.type for field in data_type if field.name != "$row_kind"}
        told = {name: _told(value[name], fields[name]) for name in fields}
        if list(told) == ["seconds", "nanos"]:
            seconds, nanos = told["seconds"], told["nanos"]
            digits = f"{nanos:09d}" if nanos % 1000 else f"{nanos // 1000:06d}"
            return seconds.replace(".000000", f".{digits}")
        return list(told.values()) if list(told) == ["start", "end"] else told
    if pa.types.is_map(data_type):
        key, item = data_type.key_type, data_type.item_type
        return {_told(entry_key, key): _told(other, item) for entry_key, other in value}
    if pa.types.is_list(data_type):
        return [_told(element, data_type.value_type) for element in value]
    return _told_scalar(value, data_type)


def _told_scalar(value: Any, data_type: pa.DataType) -> Any:
    if pa.types.is_timestamp(data_type):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if pa.types.is_date(data_type):
        return value.isoformat()
    return str(value) if pa.types.is_decimal(data_type) else value


def in_order(rows: Iterable[dict[str, Any]]) -> Rows:
    """The rows in an order that does not depend on how they were read; structs are dicts."""
    return sorted(map(_with_dicts, rows), key=lambda row: json.dumps(row, sort_keys=True))


def tables_of(path: str, uids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The rows of all tables of a savepoint, in an order of their own."""
    savepoint = Savepoint.open(path, uids=uids)
    return {table.table: _rows_of(savepoint, table.table) for table in savepoint.tables()}


def _rows_of(savepoint: Savepoint, table: str) -> list[dict[str, Any]]:
    rows = [row for batch in savepoint.scan(table).batches() for row in batch.to_pylist()]
    for row in rows:
        # Flink keeps merged windows in a hash map.
        if pairs := row.get("merging-window-set"):
            pairs.sort(key=repr)
    return sorted(rows, key=repr)


def _with_dicts(value: Any) -> Any:
    match value:
        case Record():
            return {
                name: _with_dicts(field) for name, field in zip(value._names, value, strict=True)
            }
        case dict():
            return {name: _with_dicts(field) for name, field in value.items()}
        case list() | tuple():
            return [_with_dicts(element) for element in value]
        case _:
            return value


def with_columns(rows: Rows, names: Iterable[str]) -> Rows:
    """The rows with all these columns and no others: null where a row does not mention one."""
    names = list(names)
    unknown = {name for row in rows for name in row} - set(names)
    assert not unknown, f"no columns for {unknown}"
    return [{name: row.get(name) for name in names} for row in rows]
