"""Records of one class as a table of Arrow."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TYPES = {"int": pa.int64(), "str": pa.string(), "bool": pa.bool_(), "float": pa.float64()}


def record_table(
    kind: type, records: Sequence[Any], others: Mapping[str, pa.DataType] | None = None
) -> pa.Table:
    """A row per record, a column per field of the dataclass ``kind``: a number, a text, a boolean or None.

    ``others`` has the types of other fields, by their type in Python.
    """
    schema = pa.schema(list(record_type(kind, others or {})))
    return pa.Table.from_pylist([asdict(record) for record in records], schema)


def record_type(kind: type, others: Mapping[str, pa.DataType]) -> pa.StructType:
    """Records of a dataclass as a struct."""
    types = _TYPES | dict(others)
    names = {field.name: str(field.type).removesuffix(" | None") for field in fields(kind)}
    return pa.struct({name: types[type_] for name, type_ in names.items()})
