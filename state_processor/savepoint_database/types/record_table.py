"""Records of one class as a table of Arrow."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

_TYPES = {"int": pa.int64(), "str": pa.string(), "bool": pa.bool_()}


def record_table(kind: type, records: Sequence[Any]) -> pa.Table:
    """A row per record, a column per field of the dataclass ``kind``: numbers, texts, booleans or None."""
    names = {field.name: str(field.type).removesuffix(" | None") for field in fields(kind)}
    schema = pa.schema([(name, _TYPES[type_]) for name, type_ in names.items()])
    rows = [{name: getattr(record, name) for name in names} for record in records]
    return pa.Table.from_pylist(rows, schema)
