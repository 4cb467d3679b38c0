"""Keys as the texts that ``savepoint key``, ``--key`` and ``keys=`` accept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from savepoint_database.types.spark_values import to_printable
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.spans import spans_in
from savepoint_formats.tables.visible import visible_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kryo.dialect import KryoDialect


def stored_key_texts(
    keys: Sequence[bytes], layout: Layout, kryo: KryoDialect | None
) -> tuple[str, ...]:
    """Texts of stored keys. Raises ``FormatError`` if a key is damaged."""
    data, spans = spans_in(pa.array(keys, pa.large_binary()))
    chunk = Chunk(np.ascontiguousarray(data))
    return key_texts(visible_key(decode(program(layout, kryo), chunk, spans.starts, spans.ends)))


def key_texts(keys: pa.Array) -> tuple[str, ...]:
    """Text of each key: bytes in hexadecimal, structs and lists as JSON, texts as they are."""
    batch = to_printable(pa.RecordBatch.from_arrays([keys], names=["key"]))
    return tuple(_text(row["key"]) for row in batch.to_pylist())


def _text(key: Any) -> str:
    match key:
        case str():
            return key
        case bytes():
            return key.hex()
        case _:
            return json.dumps(key, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
