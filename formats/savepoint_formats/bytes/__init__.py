"""Checked views of bytes, chunks of files, compression."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.bytes.codecs import (
        BOOL,
        BYTES,
        INT,
        LONG,
        SHORT,
        TEXT,
        UTF,
        Codec,
        FormRecord,
        Record,
        constant,
        enum_codec,
        list_codec,
        optional_codec,
        record_of,
        tuple_codec,
    )
    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
    from savepoint_formats.bytes.snappy import IDENTIFIER, decompress
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "BOOL",
    "BYTES",
    "IDENTIFIER",
    "INT",
    "LONG",
    "SHORT",
    "TEXT",
    "UTF",
    "Chunk",
    "Codec",
    "DataInputView",
    "DataOutputView",
    "FormRecord",
    "Record",
    "constant",
    "decompress",
    "enum_codec",
    "list_codec",
    "optional_codec",
    "record_of",
    "tuple_codec",
]
