"""The contents of a savepoint, to compare one write of several changes with writes of one each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.metadata.references import stream_references
from savepoint_formats.snapshots import write_serializer
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_handles
from savepoint_formats.state_files.operator_state import element_arrays
from savepoint_formats.tables.catalog import operator_infos
from savepoint_spark.writing.stored_types import StoredTypes
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files.header import StateMetaInfo


def contents(path: Path, uids: Iterable[str]) -> dict[str, Any]:
    """All headers, entries by key group, elements by subtask, and other bytes, by operator."""
    savepoint = Savepoint.open(path, uids=uids)
    return {operator.name: of_operator(operator) for operator in savepoint.operators()}


def of_operator(operator: Operator) -> dict[str, Any]:
    """The contents of one operator."""
    record, directory = operator.record, operator.directory
    found: dict[str, Any] = {"size": (record.parallelism, record.max_parallelism)}
    if operator.has_keyed_state:
        types = StoredTypes.of(operator)
        found["key"] = _bytes(types.key)
        found["states"] = {info.name: _of_info(info) for info in types.states}
        found["entries"] = _entries(operator, frozenset(info.name for info in types.states))
    for subtask in record.subtasks:
        handle = subtask.managed_operator_state
        infos = list(operator_infos(directory, subtask))
        found[f"elements {subtask.index}"] = {
            info.name: (
                _of_info(info),
                [
                    it
                    for data in element_arrays(directory, handle, info.name)
                    for it in data.to_pylist()
                ],
            )
            for info in infos
            if handle is not None
        }
    found["other"] = sorted(it.role for it in stream_references(operator.record) if not it.is_keyed)
    return found


def _entries(operator: Operator, names: frozenset[str]) -> dict[Any, Any]:
    key = StoredTypes.of(operator).key.layout()
    settings = SourceSettings(operator.record.max_parallelism, operator.kryo)
    found: dict[Any, list[Any]] = {}
    for subtask in operator.record.subtasks:
        for stored in keyed_handles(subtask):
            source = stored.source(operator.directory, key, settings)
            for chunk in source.state_chunks(names, stored.handle.key_groups):
                entries = zip(chunk.entries.keys, chunk.entries.values, strict=True)
                for group, (entry, value) in zip(chunk.key_groups.tolist(), entries, strict=True):
                    place = subtask.index, group, chunk.state.name
                    found.setdefault(place, []).append((entry.as_py(), value.as_py()))
    return {place: sorted(entries) for place, entries in found.items()}


def _of_info(info: StateMetaInfo) -> Any:
    serializers = {role: _bytes(serializer) for role, serializer in info.serializers}
    return info.type, dict(info.options), serializers


def _bytes(serializer: TypeSerializerSnapshot) -> bytes:
    view = DataOutputView()
    write_serializer(view, serializer)
    return view.to_bytes()


def both_ways(
    spark: SparkSession,
    opened: Any,
    steps: Iterable[Callable[[Any], Any]],
    folder: Path,
    opening: dict[str, Any],
    uids_after: Iterable[str] = (),
) -> tuple[Any, Any]:
    """What one write of all steps gives, and what a write of each gives."""
    writer = opened
    for step in steps:
        writer = step(writer)
    writer.write(str(folder / "at once"))
    savepoint = opened
    for number, step in enumerate(steps):
        path = folder / f"after {number}"
        step(savepoint).write(str(path))
        savepoint = Savepoint.load(spark, str(path), **opening)
    uids = (*opening.get("uids", ()), *uids_after)
    return contents(folder / "at once", uids), contents(path, uids)
