"""Savepoints of jobs in Scala, whose ``expected.json`` says what the jobs put in.

An ``Expected`` value of that file and a value of a column become the same words. ``Some(None)`` and
``None`` are both null in a column.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_formats.values.kinds import times
from savepoint_formats.values.kinds.precise_times import is_precise
from state_processor import Savepoint
from support.sample_rows import in_order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor import KryoClass
    from state_processor.savepoint.writer import SavepointWriter

    Rows = list[dict[str, Any]]

CASES = (
    "flinkx-2.2.1-hashmap-canonical",
    "flinkx-2.2.1-rocksdb-native",
    "flinkscala-1.20.5-hashmap-canonical",
)
UNORDERED = {"colls": ("_4", "_5", "_6"), "mutables": ("_6", "_8")}
"""State -> fields that are sets or maps, whose elements have no order."""
UNORDERED_STATES = ("map-value", "map-cc-keys")
KRYO = {"shape-kryo", "big-decimal", "big-int", "uuid-kryo"}
"""States that Flink's own API for Scala gives to Kryo, which knows nothing of Scala's classes."""

_WRAPPED = {"Some", "None", "Left", "Right"}
_TIME = re.compile(r"(.{10}T)?(\d\d:\d\d)(:\d\d)?(?:\.(\d+))?(.*)")


def expected_states(corpus: Path, case: str) -> dict[str, dict[str, Any]]:
    """Operator -> state -> its kind, type and entries."""
    content = json.loads((corpus / "scala" / case / "expected.json").read_text())
    operators: dict[str, dict[str, Any]] = content["operators"]
    return operators


def without_order(state: str, value: Any) -> Any:
    """The words with the elements of sets and maps in some order."""
    if value is None:
        return None
    if state in UNORDERED_STATES:
        return in_order(value)
    if state == "map-tuple-set":
        return [[key, sorted(elements)] for key, elements in value]
    for field in UNORDERED.get(state, ()):
        value = value | {field: value[field] and in_order(value[field])}
    return value


def in_words(value: Any, data_type: pa.DataType) -> Any:
    """A value of a column."""
    if value is None:
        return None
    if is_precise(data_type):
        return times.from_timestamp(value, "ns")
    if pa.types.is_struct(data_type):
        fields = {field.name: field.type for field in data_type}
        return {field: in_words(value[field], fields[field]) for field in fields}
    if pa.types.is_map(data_type):
        key, item = data_type.key_type, data_type.item_type
        return in_order([[in_words(k, key), in_words(v, item)] for k, v in value])  # type: ignore[misc]
    if pa.types.is_list(data_type):
        return [in_words(element, data_type.value_type) for element in value]
    if pa.types.is_date(data_type):
        return value.isoformat()
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if pa.types.is_binary(data_type):
        return [byte - 256 if byte > 127 else byte for byte in value]
    return value


def expected_words(value: Any, data_type: pa.DataType) -> Any:
    """A value of ``expected.json`` as a column of this type has it."""
    if isinstance(value, dict) and set(value) <= _WRAPPED and len(value) == 1:
        ((side, inside),) = value.items()
        if side == "Some":
            return expected_words(inside, data_type)
        if side == "None":
            return None
        sides = dict.fromkeys(field.name for field in data_type)
        index = 0 if side == "Left" else 1
        words = expected_words(inside, data_type.field(index).type)
        return sides | {data_type.field(index).name: words}
    if value is None:
        return None
    if is_precise(data_type):
        return _nanos(value)
    if pa.types.is_struct(data_type):
        return _structure(value, data_type)
    if pa.types.is_map(data_type):
        pairs = value.items() if isinstance(value, dict) else value
        key, item = data_type.key_type, data_type.item_type
        return in_order([[expected_words(k, key), expected_words(v, item)] for k, v in pairs])  # type: ignore[misc]
    if pa.types.is_list(data_type):
        return _elements(value, data_type.value_type)
    if isinstance(value, dict):
        return value.get("cents", value["$type"])
    return _single(value, data_type)


def _structure(value: Any, data_type: pa.DataType) -> Any:
    types = {field.name: field.type for field in data_type}
    if isinstance(value, str):  # Success(7)
        inside = re.fullmatch(r"Success\((.*)\)", value)
        assert inside is not None
        return dict.fromkeys(types) | {"success": int(inside[1])}
    class_name = value.pop("$type", None) if isinstance(value, dict) else None
    if isinstance(value, dict) and str(value.get("zdt")).endswith("Z"):
        value["zdt"] += "[Z]"  # Java leaves the zone out that is its own offset
    fields = list(value.values()) if isinstance(value, dict) else value
    words = dict.fromkeys(types)
    if "$class" in types:
        words["$class"] = class_name
    for index, field in enumerate(fields):
        own = f"_{index + 1}@{str(class_name).removeprefix('sc.')}"
        column = own if own in types else f"_{index + 1}"
        words[column] = expected_words(field, types[column])
    return words


def _elements(value: Any, element: pa.DataType) -> Any:
    pairs = value.items() if isinstance(value, dict) else value
    return [
        expected_words(list(item) if isinstance(item, tuple) else item, element) for item in pairs
    ]


def _single(value: Any, data_type: pa.DataType) -> Any:
    if pa.types.is_time(data_type):
        return _nanos(f"1970-01-01T{value}")
    if pa.types.is_floating(data_type):
        return value if value == "NaN" else float(value)
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None or not pa.types.is_string(data_type) or match[1] is None:
        return value
    # A zoned time, whose offset a column does not have, and which always has seconds.
    date, clock, seconds, fraction, rest = match.groups()
    place = re.sub(r"^.*\[", "[", rest)
    return f"{date}{clock}{seconds or ':00'}{f'.{fraction:0<9}' if fraction else ''}{place}"


def _nanos(text: str) -> int:
    match = _TIME.fullmatch(text)
    assert match is not None
    date, clock, seconds, fraction, _ = match.groups()
    moment = datetime.fromisoformat(f"{date}{clock}{seconds or ':00'}").replace(tzinfo=UTC)
    whole = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (whole.days * 86_400 + whole.seconds) * 10**9 + int(f"{fraction or '':0<9}")


def _with_counts(data_type: pa.DataType) -> pa.DataType:
    """The type with times of day in nanoseconds, of which ``datetime.time`` has only thousands."""
    if pa.types.is_time(data_type):
        return pa.int64()
    if pa.types.is_struct(data_type):
        return pa.struct([field.with_type(_with_counts(field.type)) for field in data_type])
    return data_type


def stored_states(
    savepoint: Savepoint, uid: str
) -> dict[str, tuple[pa.DataType, pa.DataType, Rows]]:
    """State -> the types of its values and keys, and the rows of key and value."""
    scan = savepoint.scan(f"{uid}.keyed_state")
    batches = [batch for split in scan.splits() for batch in scan.read(split)]
    table = pa.Table.from_batches(batches)
    keys = [in_words(key, table.column("key").type) for key in table.column("key").to_pylist()]
    states = {}
    for field in table.schema:
        if field.name != "key":
            column, counted = table.column(field.name), _with_counts(field.type)
            values = (column if counted == field.type else column.cast(counted)).to_pylist()
            words = [in_words(value, field.type) for value in values]
            rows = zip(keys, words, strict=True)
            key_type = table.column("key").type
            states[field.name] = field.type, key_type, [{"key": k, "value": v} for k, v in rows]
    return states


UIDS = ("by-string", "by-int", "by-case-class")


def old_savepoint(
    spark: SparkSession, corpus: Path, without: Sequence[str], classes: Sequence[KryoClass] = ()
) -> SavepointWriter:
    """The savepoint of Flink's API for Scala, without some states of the operator ``by-string``."""
    path = str(corpus / "scala/flinkscala-1.20.5-hashmap-canonical/savepoint")
    writer = Savepoint.load(spark, path, uids=UIDS, kryo_classes=classes).writer()
    for state in without:
        writer = writer.remove_state("by-string", state)
    return writer
